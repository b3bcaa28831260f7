"""@path in a query: the named files' contents, put behind the query as quoted blocks."""

from __future__ import annotations

import re
import stat
from dataclasses import dataclass, field
from pathlib import Path

MAX_FILE = 40_000
MAX_TOTAL = 120_000
MAX_MENTIONS = 20
MAX_ENTRIES = 200
# Bytes that are read of one file at most, to find the lines of a range.
MAX_READ = 8_000_000

# An @ at the start of a word (so no e-mail address), then "a name with spaces" or a run without them.
_MENTION = re.compile(r"""(?<![^\s([{,;:'"])@(?:"([^"\n]+)"(:\d+(?:-\d+)?)?|([^\s"'`,;()<>\[\]{}|]+))""")
_RANGE = re.compile(r"\A(.+?):(\d{1,9})(?:-(\d{1,9}))?\Z", re.DOTALL)
_TRAILING = ".!?:,"
_FENCE = re.compile(r"^\s*(`{3,})", re.MULTILINE)
# What was surely meant as a path, and so deserves a word when it is none: a slash, or a short extension.
_PATH_LIKE = re.compile(r"/|\.[A-Za-z0-9]{1,5}\Z")


@dataclass(frozen=True, slots=True)
class Expansion:
    """A query with the contents of what it mentions; lines for the user; the files that were read, resolved."""

    text: str
    notes: list[str] = field(default_factory=list)
    files: list[Path] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Mention:
    name: str
    start: int = 0
    end: int = 0


class _Unusable(Exception):
    """A mention that cannot be followed, with the reason as its text."""


def expand_mentions(query: str, root: Path) -> Expansion:
    """Follow `@path`, `@dir/`, `@"with spaces"` and `@path:10-20` in a query. Never raises.

    Paths are relative to `root` (or absolute inside it); a file gives its text, a directory the names in it. What
    is no file stays text, with a note if it looks like a path; what leads out of `root`, is binary or too large
    is not sent, or cut, with a note. At most 40,000 characters of a file and 120,000 in all.
    """
    blocks: list[str] = []
    notes: list[str] = []
    files: dict[Path, None] = {}
    seen: set[str] = set()
    room = MAX_TOTAL
    for match in _MENTION.finditer(query):
        if match[0] in seen:
            continue
        seen.add(match[0])
        if len(blocks) == MAX_MENTIONS:
            notes.append(f"Only the first {MAX_MENTIONS} mentioned files are sent.")
            break
        try:
            found = _find(match, root)
            if found is None:
                continue
            path, mention = found
            block, cut = _block(path, mention, min(MAX_FILE, room))
        except _Unusable as reason:
            notes.append(str(reason))
            continue
        room -= len(block)
        blocks.append(block)
        notes += [cut] if cut else []
        files |= {path: None} if path.is_file() else {}
    if not blocks:
        return Expansion(query, notes)
    text = "\n\n".join([query, "Contents of what is mentioned above:", *blocks])
    return Expansion(text, notes, list(files))


def _find(match: re.Match[str], root: Path) -> tuple[Path, _Mention] | None:
    """What a mention stands for; None when it is no mention but text. Raises _Unusable."""
    quoted, given_range, bare = match.groups()
    written = quoted + (given_range or "") if quoted else bare
    for candidate in _readings(written):
        if path := _inside(candidate.name, root):
            return path, candidate
    name = written.rstrip(_TRAILING)
    called = match.string[match.end() : match.end() + 1] == "("
    if quoted or (_PATH_LIKE.search(name) and not called):
        raise _Unusable(f"@{name}: there is no such file here; it is sent as text.")
    return None


def _readings(written: str) -> list[_Mention]:
    """The ways to read a mention, the most literal first: as it is, with a range, without closing punctuation."""
    readings = []
    for text in dict.fromkeys((written, written.rstrip(_TRAILING))):
        readings.append(_Mention(text))
        if match := _RANGE.match(text):
            start = max(1, int(match[2]))
            readings.append(_Mention(match[1], start, int(match[3] or start)))
    return [reading for reading in readings if reading.name]


def _inside(name: str, root: Path) -> Path | None:
    """The existing file or directory of that name, links resolved; None if there is none. Raises _Unusable."""
    try:
        base = root.resolve()
        path = (base / name).resolve()
        exists = path.exists()
    except (OSError, ValueError, RuntimeError):  # too long, not encodable, a circle of links
        return None
    if not exists:
        return None
    if not path.is_relative_to(base):
        raise _Unusable(f"@{name}: outside the workspace, so it is not sent.")
    return path


def _block(path: Path, mention: _Mention, room: int) -> tuple[str, str]:
    """A quoted block, and a note when it does not hold all of it. Raises _Unusable."""
    name = mention.name
    if room <= 0:
        raise _Unusable(f"@{name}: the mentioned files are more than {MAX_TOTAL:,} characters; it is not sent.")
    try:
        if path.is_dir():
            return _quote(f"Directory {name}", _listing(path)), ""
        if not stat.S_ISREG(path.stat().st_mode):
            raise _Unusable(f"@{name}: not a regular file, so it is not sent.")
        with path.open("rb") as file:
            data = file.read(MAX_READ)
    except OSError as failure:
        raise _Unusable(f"@{name}: cannot be read ({failure.strerror or failure}).") from failure
    if b"\x00" in data[:8192]:
        raise _Unusable(f"@{name}: a binary file, so it is not sent.")
    return _file_block(mention, data.decode("utf-8", "replace"), room)


def _file_block(mention: _Mention, text: str, room: int) -> tuple[str, str]:
    title = f"File {mention.name}"
    first = 1
    if mention.start:
        lines = text.removesuffix("\n").split("\n")
        first, last = mention.start, min(mention.end, len(lines))
        if first > last:
            raise _Unusable(f"@{mention.name}: lines {first}-{mention.end} are not in it: it has {len(lines):,}.")
        title += f", lines {first}-{last}"
        text = "\n".join(lines[first - 1 : last])
    if len(text) <= room:
        return _quote(title, text), ""
    kept = text[:room].rpartition("\n")[0] or text[:room]
    next_line = first + kept.count("\n") + 1
    quoted = _quote(f"{title}, cut before line {next_line}", kept)
    return quoted, f"@{mention.name}: {len(text):,} characters are too long; it is sent up to line {next_line - 1}."


def _listing(folder: Path) -> str:
    entries = sorted(folder.iterdir(), key=lambda entry: entry.name)
    names = [entry.name + ("/" if entry.is_dir() else "") for entry in entries if entry.name != ".git"]
    more = [f"… and {len(names) - MAX_ENTRIES} more"] if len(names) > MAX_ENTRIES else []
    return "\n".join(names[:MAX_ENTRIES] + more) or "(empty)"


def _quote(title: str, text: str) -> str:
    """A fenced block whose fence is longer than any in the text, so that the text cannot end it."""
    longest = max((len(fence) for fence in _FENCE.findall(text)), default=2)
    fence = "`" * (longest + 1)
    return f"{title}:\n{fence}\n{text.rstrip(chr(10))}\n{fence}"
