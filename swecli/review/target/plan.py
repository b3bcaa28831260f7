"""What a review will read, cut into parts that fit a request: hunks with their symbols, the risky ones first."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import groupby

from swecli.context.tokens import TokenCounter
from swecli.models.coverage import Skip, Unit, ranges_of
from swecli.review.judge.sources import Sources
from swecli.review.target.diffs import DiffHunk, FileDiff
from swecli.review.target.skips import rule_by_text
from swecli.review.target.targets import Target

_CONFIG = re.compile(r".*\.(?:ya?ml|toml|json|ini|cfg|conf|env|tf|properties|xml)|(?:.*/)?(?:Dockerfile|Makefile)[^/]*")
_TESTS = re.compile(
    r"(?:.*/)?(?:tests?|spec|__tests__|testing)/.*|.*(?:_test|\.test|\.spec|_spec)\.\w+|(?:.*/)?test_[^/]*"
)
_DOCS = re.compile(r".*\.(?:md|rst|txt|adoc)|(?:.*/)?docs?/.*", re.IGNORECASE)
_CONFLICT = re.compile(r"(?:<<<<<<<|>>>>>>>) ")
Row = tuple[str, int, str]  # sign, number in the new side, text


@dataclass(frozen=True, slots=True)
class Hunk:
    """Some neighbouring lines to review. `lines` are the planned ones; `text` is as the model sees it, `code` without
    signs and numbers; `why` says why it cannot be sent, "" where it can."""

    id: str
    path: str
    lines: tuple[int, ...]
    text: str
    code: str
    digest: str
    symbol: str = ""
    old_path: str = ""
    tokens: int = 0
    why: str = ""


@dataclass(frozen=True, slots=True)
class Part:
    """What one message asks to review."""

    number: int
    hunks: tuple[Hunk, ...]

    @property
    def tokens(self) -> int:
        """Its size in a request, about."""
        return sum(hunk.tokens for hunk in self.hunks)

    @property
    def paths(self) -> tuple[str, ...]:
        """Its files, in order."""
        return tuple(dict.fromkeys(hunk.path for hunk in self.hunks))


@dataclass(frozen=True, slots=True)
class Plan:
    """`parts` in the order they are read, `unfit` hunks that cannot be sent, `skips` files that a rule leaves out,
    `earlier` hunks that the review of an earlier push has read."""

    target: Target
    parts: tuple[Part, ...]
    unfit: tuple[Hunk, ...] = ()
    skips: tuple[Skip, ...] = ()
    earlier: tuple[Hunk, ...] = ()

    @property
    def unit(self) -> Unit:
        """What is counted."""
        return "changed lines" if self.target.diffs else "lines"

    @property
    def hunks(self) -> tuple[Hunk, ...]:
        """All of them, sendable or not, read before or not."""
        return (*(hunk for part in self.parts for hunk in part.hunks), *self.unfit, *self.earlier)

    @property
    def files(self) -> tuple[str, ...]:
        """The files with planned lines."""
        return tuple(dict.fromkeys(hunk.path for hunk in self.hunks))


def make_plan(target: Target, sources: Sources, counter: TokenCounter, most_tokens: int) -> Plan:
    """Cut the target into hunks and pack them.

    Args:
        most_tokens: of a part. A hunk with more is cut between lines.
    """
    hunks: list[Hunk] = []
    skips = list(target.skips)
    for path in target.files:
        diff = target.diffs.get(path)
        source = sources.get(path)
        if rule := rule_by_text(source.lines, target.attributes.get(path, {})):
            skips.append(Skip(path, rule))
            continue
        cut = _of_diff(diff, sources) if diff is not None and diff.hunks else _of_file(path, sources)
        rows = [(symbol, piece) for symbol, part in cut for piece in _pieces(part, most_tokens)]
        why = source.problem if source.problem and not (diff and diff.hunks) else ""
        why = why or ("conflict markers" if any(_CONFLICT.match(line) for line in source.lines) else "")
        made = [_hunk(path, symbol, piece, counter, diff) for symbol, piece in rows]
        hunks += [replace(hunk, why=why) for hunk in made] or ([_unreadable(path, why)] if why else [])
    ordered = [replace(hunk, id=f"H{n}") for n, hunk in enumerate(_riskier_first(hunks), 1)]
    known = set(target.earlier.digests)
    fit = [hunk for hunk in ordered if not hunk.why and hunk.digest not in known]
    unfit = tuple(hunk for hunk in ordered if hunk.why)
    earlier = tuple(hunk for hunk in ordered if not hunk.why and hunk.digest in known)
    return Plan(target, tuple(_pack(fit, most_tokens)), unfit, tuple(skips), earlier)


def _hunk(path: str, symbol: str, rows: list[Row], counter: TokenCounter, diff: FileDiff | None) -> Hunk:
    whole = diff is None or not diff.hunks
    planned = {number for _, number, _ in rows} if whole else DiffHunk(tuple(rows)).planned()
    spans = ranges_of({number for sign, number, _ in rows if sign != "-"} or planned)
    title = f"lines {spans[0][0]}-{spans[-1][1]}{f' in {symbol}' if symbol else ''}"
    text = "\n".join([title, *(f"{number if sign != '-' else '':>6} {sign} {line}" for sign, number, line in rows)])
    squeezed = "".join(f"{sign}{''.join(line.split())}\n" for sign, _, line in rows if sign != " " or whole)
    digest = hashlib.sha256(f"{path}\0{squeezed}".encode("utf-8", "surrogatepass")).hexdigest()[:20]
    code = "\n".join(line for _, _, line in rows)
    old = diff.old_path if diff is not None else ""
    return Hunk("", path, tuple(sorted(planned)), text, code, digest, symbol, old, counter.count(text))


def _unreadable(path: str, why: str) -> Hunk:
    return Hunk("", path, (1,), "", "", f"unreadable {path}", why=why)


def _of_diff(diff: FileDiff, sources: Sources) -> Iterator[tuple[str, list[Row]]]:
    for hunk in diff.hunks:
        planned = hunk.planned()
        symbol = sources.symbol(diff.path, min(planned)).name if planned else ""
        yield symbol or hunk.name[:80], list(hunk.rows)


def _of_file(path: str, sources: Sources) -> Iterator[tuple[str, list[Row]]]:
    """A whole file, cut where a function or class at its top begins."""
    lines = sources.get(path).lines
    starts = {1, *(symbol.first for symbol in sources.symbols(path) if "." not in symbol.name)}
    ends = sorted({*starts, len(lines) + 1})
    for first, behind in zip(ends, ends[1:], strict=False):
        rows = [(" ", number, lines[number - 1]) for number in range(first, behind)]
        yield sources.symbol(path, first).name if first in starts else "", rows


def _pieces(rows: list[Row], most: int) -> Iterator[list[Row]]:
    """The same in pieces of at most so many tokens, at three letters a token and with the numbers in front."""
    piece: list[Row] = []
    size = 0
    for row in rows:
        tokens = len(row[2]) // 3 + 4
        if piece and size + tokens > most:
            yield piece
            piece, size = [], 0
        piece.append(row)
        size += tokens
    if piece:
        yield piece


def _riskier_first(hunks: Iterable[Hunk]) -> list[Hunk]:
    """Source, config, tests, docs; within these folder by folder, the files with more planned lines first."""
    sizes: dict[str, int] = {}
    for hunk in hunks:
        sizes[hunk.path] = sizes.get(hunk.path, 0) + len(hunk.lines)
    return sorted(
        hunks, key=lambda hunk: (_risk(hunk.path), hunk.path.rpartition("/")[0], -sizes[hunk.path], hunk.path)
    )


def _risk(path: str) -> int:
    kinds = (_DOCS, _TESTS, _CONFIG)
    return next((3 - n for n, kind in enumerate(kinds) if kind.fullmatch(path)), 0)


def _pack(hunks: Iterable[Hunk], most: int) -> Iterator[Part]:
    number, taken, size = 1, list[Hunk](), 0
    for hunk in hunks:
        if taken and size + hunk.tokens > most:
            yield Part(number, tuple(taken))
            number, taken, size = number + 1, [], 0
        taken.append(hunk)
        size += hunk.tokens
    if taken:
        yield Part(number, tuple(taken))


def part_text(part: Part, of: int, label: str) -> str:
    """The part as the model sees it, file by file."""
    out = [f"Part {part.number} of {of} of the review of {label}. Review these lines; read around them where needed."]
    for path, hunks in groupby(part.hunks, key=lambda hunk: hunk.path):
        listed = list(hunks)
        renamed = f" (renamed from {listed[0].old_path})" if listed[0].old_path else ""
        out.append(f"## {path}{renamed}")
        out += [f"{hunk.id}, {hunk.text}" for hunk in listed]
    return "\n".join(out)
