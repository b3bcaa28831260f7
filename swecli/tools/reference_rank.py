"""Rank the definitions of source files by what refers to them: PageRank over files. See docs/adr/0105."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import field
from math import sqrt

from swecli.values import dataclass

# Brin and Page, The anatomy of a large-scale hypertextual web search engine, 1998
_DAMPING = 0.85
_ROUNDS = 50  # at most; at this damping what is left to change is then below 0.85 ** 50 = 0.0003
_TOLERANCE = 1e-6  # of all ranks together, which are 1
# A name that more files define, such as `get`, tells less than 2 % about each of them.
_MAX_DEFINERS = 50


@dataclass(frozen=True, slots=True)
class Definition:
    """A place where a name is defined."""

    path: str
    name: str
    line: int  # from 1
    text: str  # of that line
    owner: str = ""  # the name of the definition around it, such as a class


@dataclass(frozen=True, slots=True)
class SourceFile:
    """What was found in one file."""

    path: str
    name_words: tuple[str, ...]  # by which other files name it: its name, its folder's name
    definitions: Sequence[Definition] = ()
    name_counts: Mapping[str, int] = field(default_factory=dict)  # how often each name occurs
    words: Collection[str] = ()  # all that occur of the words by which files are named

    @property
    def folder(self) -> str:
        return self.path.rpartition("/")[0]

    def refers_to(self, other: SourceFile, definition: Definition) -> bool:
        """Return whether a use of the name may mean this definition in the other file: the other file is beside this
        one or named in it, by another word than that name, and so is what the definition is a part of."""
        if definition.owner and definition.owner not in self.name_counts:
            return False
        if other.folder == self.folder:
            return True
        return any(word in self.words for word in other.name_words if word != definition.name)


_Shares = Mapping[Definition, float]  # of what a file refers to; together 1, or there are none


def rank_definitions(files: Sequence[SourceFile]) -> dict[Definition, float]:
    """Return all definitions with the share of attention that each gets from other files, best first; those that get
    none are in the order of the best files.

    A file's attention goes to what it refers to, each name by the square root of how often it is used, in equal parts
    to its definitions.
    """
    by_name = _definitions_by_name(files)
    owners = {file.path: file for file in files}
    shares = {file.path: _shares(file, by_name, owners) for file in files}
    ranks = _rank_files(shares)
    scores = {definition: 0.0 for file in files for definition in file.definitions}
    for path, rank in ranks.items():
        for definition, share in shares[path].items():
            scores[definition] += rank * share

    def order(definition: Definition) -> tuple[float, float, str, int]:
        path = definition.path
        return -scores[definition], -ranks[path], path, definition.line

    ordered = sorted(scores, key=order)
    return {definition: scores[definition] for definition in ordered}


def _definitions_by_name(files: Iterable[SourceFile]) -> dict[str, list[Definition]]:
    """Return the definitions of each name, in each file the first, without the names that too many files define."""
    by_name: dict[str, dict[str, Definition]] = defaultdict(dict)
    for file in files:
        for definition in file.definitions:
            by_name[definition.name].setdefault(file.path, definition)
    return {
        name: [*places.values()] for name, places in by_name.items() if len(places) <= _MAX_DEFINERS
    }


def _shares(
    file: SourceFile, by_name: Mapping[str, Sequence[Definition]], owners: Mapping[str, SourceFile]
) -> _Shares:
    own_names = {definition.name for definition in file.definitions}
    weights: dict[Definition, float] = {}
    for name, count in file.name_counts.items():
        places = () if name in own_names else by_name.get(name, ())
        for definition in places:
            if file.refers_to(owners[definition.path], definition):
                weights[definition] = sqrt(count) / len(places)
    total = sum(weights.values())
    return {definition: weight / total for definition, weight in weights.items()}


def _rank_files(shares: Mapping[str, _Shares]) -> dict[str, float]:
    """Return the rank of each file; all ranks together are 1."""
    links = {path: _by_file(targets) for path, targets in shares.items()}
    count = max(len(links), 1)
    ranks = dict.fromkeys(links, 1 / count)
    for _ in range(_ROUNDS):
        unused = sum(rank for path, rank in ranks.items() if not links[path])
        following = dict.fromkeys(links, (1 - _DAMPING + _DAMPING * unused) / count)
        for path, rank in ranks.items():
            for target, share in links[path].items():
                following[target] += _DAMPING * rank * share
        change = sum(abs(following[path] - rank) for path, rank in ranks.items())
        ranks = following
        if change < _TOLERANCE:
            break
    return ranks


def _by_file(shares: _Shares) -> dict[str, float]:
    sums: dict[str, float] = defaultdict(float)
    for definition, share in shares.items():
        sums[definition.path] += share
    return sums
