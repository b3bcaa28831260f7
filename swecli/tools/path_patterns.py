"""Patterns of paths in the syntax of .gitignore. They may be a stranger's, so the time for a comparison is bounded:
what stands between two `*` is looked for once, and is taken where it first fits."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property

from swecli.values import dataclass

# Characters in lines with wildcards, without those like `*.log`: at most some milliseconds for a comparison. In the
# longest collections for .gitignore that are offered for download it is a third of it.
MAX_WILDCARDS = 10_000
_PART = 10  # as many characters as this a part of a path costs
_MAX_FOLDERS = 10_000  # whose results are kept, for the next path below them

_ANY_FOLDERS = "**"
_MORE_STARS = re.compile(r"\A\*{3,}\Z")  # git takes them for two
_SPECIAL = re.compile(r"[*?\[\\]")
_SET = re.compile(r"\[(?P<negated>[!^]?)(?P<members>\]?(?:[^\]\\]|\\.)*)\]", re.DOTALL)
_MEMBER = re.compile(r"(\\.|[^\\])-(\\.|[^\\])|(\\.|[^\\])", re.DOTALL)
_TOKEN = re.compile(rf"\\.|(?:{_SET.pattern})|.", re.DOTALL)

_Part = str | re.Pattern[str]  # a name or `_ANY_FOLDERS`, or what a name has to match


class PatternError(ValueError):
    """Why patterns cannot be used."""


def literal_brackets(pattern: str) -> str:
    """Return a pattern in which brackets stand for themselves, as in the names of routes (`app/[id]/page.tsx`)."""
    return pattern if "\\" in pattern else pattern.replace("[", "\\[")


@dataclass(frozen=True, slots=True)
class _Line:
    """A line as written: what it says of each part of a path, from the top."""

    parts: tuple[str, ...]
    is_negated: bool
    is_for_folders: bool

    @classmethod
    def parse(cls, text: str) -> _Line | None:
        """Return a line, None for a comment and for one that names nothing."""
        line = _without_final_spaces(text)
        if line.startswith("#"):
            return None
        body = line.removeprefix("!")
        path = body.removesuffix("/")
        is_at_top = "/" in path
        parts = _split(path.removeprefix("/"))
        if not all(parts):
            return None
        if not is_at_top:
            parts.insert(0, _ANY_FOLDERS)
        if parts[-1] == _ANY_FOLDERS:
            parts[-1] = "*"  # what is below a named folder is named anyway
        return cls(tuple(parts), body != line, path != body)

    @property
    def is_for_names(self) -> bool:
        """Whether it is about the last part of a path only."""
        return len(self.parts) == 2 and self.parts[0] == _ANY_FOLDERS

    def key(self) -> tuple[str, str] | None:
        """Return the kind and the text by which a line without wildcards, or one like `*.log`, is looked up, or None
        for any other."""
        if self.is_for_names:
            name = self.parts[1]
            if not _SPECIAL.search(name):
                return "name", name
            is_end = name[0] == "*" and not _SPECIAL.search(name[1:])
            return ("end", name[1:]) if is_end else None
        path = "/".join(self.parts)
        return None if _SPECIAL.search(path) else ("path", path)


@dataclass(frozen=True, slots=True)
class _Pattern:
    """A line with wildcards, and its number. For one about names there is only one part."""

    number: int
    parts: tuple[_Part, ...]
    is_for_folders: bool


_Places = list[tuple[_Pattern, set[int]]]  # where in a pattern the rest of a path may go on


class PathPatterns:
    """Lines of a .gitignore: for a path and each folder above it the last line that matches decides, and what is below
    a named folder is named, too. Comments and invalid lines match nothing. Raises PatternError for too many
    wildcards."""

    def __init__(self, lines: Iterable[str]) -> None:
        self._is_negated: list[bool] = []  # by the number of the line
        self._last_parts: list[_Part] = []  # of the lines that name something
        # the number of the last line for a path, the name or the end of a name, and for folders only or for any path
        self._plain: dict[tuple[str, str, bool], int] = {}
        self._of_names: list[_Pattern] = []
        self._start: _Places = []  # of the patterns for paths
        # whether a folder is named, and where the patterns go on below it
        self._folders: dict[tuple[str, ...], tuple[bool, _Places]] = {}
        room = MAX_WILDCARDS
        for text in lines:
            line = _Line.parse(text)
            if line is None:
                continue
            number = len(self._is_negated)
            self._is_negated.append(line.is_negated)
            last_part = _compile(line.parts[-1])
            if last_part is not None and not line.is_negated:
                self._last_parts.append(last_part)
            key = line.key()
            if key is not None:
                self._plain[*key, line.is_for_folders] = number
                continue
            room -= len(text) + _PART * len(line.parts)
            if room < 0:
                raise PatternError(
                    f"it has more than {MAX_WILDCARDS:,} characters in lines with wildcards."
                )
            self._add(line, number)
        self._ends = {len(text) for kind, text, _ in self._plain if kind == "end"}

    def may_name(self, name: str) -> bool:
        """Return whether the lines may name a path that ends with this name, without regard to the folders above it.
        Much faster than `match`, which knows."""
        names, patterns = self._last_names
        return name in names or patterns.fullmatch(name) is not None

    @cached_property
    def _last_names(self) -> tuple[frozenset[str], re.Pattern[str]]:
        """The last parts of the lines: names, and one pattern for all that have wildcards."""
        names = frozenset(part for part in self._last_parts if isinstance(part, str))
        patterns = [part.pattern for part in self._last_parts if not isinstance(part, str)]
        either = "|".join(f"(?:{pattern})" for pattern in patterns)
        return names, re.compile(either or r"(?!)", re.DOTALL)  # without any it matches nothing

    def match(self, path: str) -> bool:
        """Return whether the lines name a path, or a folder above it. One that ends with `/` is a folder's."""
        parts = tuple(part for part in path.split("/") if part)
        if len(self._folders) > _MAX_FOLDERS:
            self._folders.clear()
        places = self._start
        for count in range(1, len(parts)):
            folder = parts[:count]
            judgement = self._folders.get(folder)
            if judgement is None:
                judgement = self._judge(folder, places, is_folder=True)
                self._folders[folder] = judgement
            is_named, places = judgement
            if is_named:
                return True
        return parts != () and self._judge(parts, places, is_folder=path.endswith("/"))[0]

    def _add(self, line: _Line, number: int) -> None:
        written_parts = line.parts[1:] if line.is_for_names else line.parts
        parts = [_compile(part) for part in written_parts]
        if None in parts:
            return
        usable = tuple(part for part in parts if part is not None)
        pattern = _Pattern(number, usable, line.is_for_folders)
        if line.is_for_names:
            self._of_names.append(pattern)
        else:
            self._start.append((pattern, _skip_folders(usable, {0})))

    def _judge(
        self, path: Sequence[str], above: _Places, *, is_folder: bool
    ) -> tuple[bool, _Places]:
        """Return whether the last line that matches exactly this path names it, and where the patterns go on below it;
        `above` is where they went on in its folder."""
        places: _Places = []
        for pattern, earlier_positions in above:
            positions = _skip_folders(
                pattern.parts, set(_advance(pattern.parts, earlier_positions, path[-1]))
            )
            if positions:
                places.append((pattern, positions))
        last = self._last_plain(path, is_folder=is_folder)
        for pattern, positions in places:
            if len(pattern.parts) in positions and (is_folder or not pattern.is_for_folders):
                last = max(last, pattern.number)
        for pattern in reversed(self._of_names):
            if pattern.number < last:
                break
            if (is_folder or not pattern.is_for_folders) and _fits(pattern.parts[0], path[-1]):
                last = pattern.number
                break
        return last >= 0 and not self._is_negated[last], places

    def _last_plain(self, path: Sequence[str], *, is_folder: bool) -> int:
        """Return the number of the last line without wildcards that matches exactly this path, -1 for none."""
        name = path[-1]
        keys = [("path", "/".join(path)), ("name", name)]
        keys += [("end", name[len(name) - end :]) for end in self._ends if end <= len(name)]
        kinds = (False, True) if is_folder else (False,)
        return max(self._plain.get((*key, kind), -1) for key in keys for kind in kinds)


def _without_final_spaces(text: str) -> str:
    """Return a line without the spaces at its end, but for one that is written with a backslash."""
    line = text.rstrip("\r\n")
    bare = line.rstrip(" ")
    backslashes = len(bare) - len(bare.rstrip("\\"))
    is_written = backslashes % 2 == 1 and bare != line
    return f"{bare} " if is_written else bare


def _split(path: str) -> list[str]:
    """Return the parts between slashes, of which none is in a set."""
    if not _SPECIAL.search(path):
        return path.split("/")
    parts = [""]
    for token in _TOKEN.finditer(path):
        if token[0] in ("/", "\\/"):
            parts.append("")
        else:
            parts[-1] += token[0]
    return [_MORE_STARS.sub(_ANY_FOLDERS, part) for part in parts]


def _fits(part: _Part, name: str) -> bool:
    if isinstance(part, str):
        return part == name
    return part.fullmatch(name) is not None


def _advance(pattern: Sequence[_Part], places: Iterable[int], name: str) -> Iterator[int]:
    """Yield the places in a pattern behind a part of the path."""
    for place in places:
        if place == len(pattern):
            continue
        if pattern[place] == _ANY_FOLDERS:
            yield place
        elif _fits(pattern[place], name):
            yield place + 1


def _skip_folders(pattern: Sequence[_Part], places: set[int]) -> set[int]:
    """Return the places with those behind each `_ANY_FOLDERS`, which may stand for none."""
    reached = set(places)
    for place in places:
        end = place
        while end < len(pattern) and pattern[end] == _ANY_FOLDERS:
            end += 1
            reached.add(end)
    return reached


def _compile(part: str) -> _Part | None:
    """Return what a name has to match or be, None for a part that is invalid and so matches nothing."""
    if part == _ANY_FOLDERS or not _SPECIAL.search(part):
        return part
    pieces = [""]  # between the `*`
    for token in _TOKEN.finditer(part):
        text = token[0]
        if text == "*":
            if pieces[-1] or len(pieces) == 1:
                pieces.append("")
        elif text == "?":
            pieces[-1] += "."
        elif text in ("\\", "["):  # with nothing behind it, or without an end
            return None
        elif text.startswith("["):
            pieces[-1] += _translate_set(token["members"], is_negated=token["negated"] != "")
        else:
            pieces[-1] += re.escape(text[-1])
    first, *others = pieces
    # what an atomic group has matched is never looked for further on
    middle = "".join(f"(?>.*?{piece})" for piece in others[:-1])
    end = f".*{others[-1]}" if others else ""
    try:
        return re.compile(first + middle + end, re.DOTALL)
    except re.error:  # a range like [z-a]
        return None


def _translate_set(members: str, *, is_negated: bool) -> str:
    translated = ""
    for first, last, single in _MEMBER.findall(members):
        ends = [re.escape(char[-1]) for char in (first, last, single) if char]
        translated += "-".join(ends)
    return f"[{'^' if is_negated else ''}{translated}]"
