"""Reads what a query mentions: the contents of @files and folders, and pictures."""

from __future__ import annotations

import re
import stat
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from operator import attrgetter
from pathlib import Path

from swecli.context.pictures import is_picture, read_picture
from swecli.models.errors import BadInput
from swecli.models.message import Image
from swecli.text import fence

_MAX_FILE = 40_000  # characters
_MAX_TOTAL = 120_000
_MAX_ENTRIES = 200
_MAX_IMAGES = 20_000_000  # characters of base64 data: services accept no larger request
_MAX_BYTES_READ = 8_000_000  # bytes read of one file

# An @ at the start of a word (not in an e-mail address), then "a name with spaces" or a name without.
_MENTION = re.compile(
    r"""(?<![^\s([{,;:'"])@(?:"([^"\n]+)"(:\d+(?:-\d+)?)?|([^\s"'`,;()<>\[\]{}|]+))"""
)
_RANGE = re.compile(r"\A(.+?):(\d{1,9})(?:-(\d{1,9}))?\Z", re.DOTALL)
_TRAILING = ".!?:,"
# Text that is certainly meant as a path, reported if there is no such file: a slash or a short extension.
_PATH_LIKE = re.compile(r"/|\.[A-Za-z0-9]{1,5}\Z")


@dataclass(frozen=True, slots=True)
class Expansion:
    """A query with the contents of what it mentions."""

    text: str  # the query, followed by the contents
    notes: list[str] = field(default_factory=list)  # for the user: what was not sent, and why
    files: list[Path] = field(default_factory=list)  # that were sent, their links resolved
    images: list[Image] = field(default_factory=list)  # in the order of their labels


@dataclass(frozen=True, slots=True)
class _Mention:
    """An existing file or folder that is mentioned."""

    path: Path
    name: str  # as it is written
    start: int  # first line; 0: all lines
    end: int  # last line


class _SkippedMention(Exception):
    """A mention that is not expanded; the message is the reason, for the user."""


def _deny_nothing(_: str) -> str:
    return ""


def expand_mentions(
    query: str,
    root: Path,
    max_characters: int | None = None,
    text_only: str = "",
    deny: Callable[[str], str] = _deny_nothing,
) -> Expansion:
    """Append the contents of mentioned files: `@path`, `@dir/`, `@"with spaces"` and `@path:10-20`, relative to `root`
    or absolute inside it, and `@picture.png` anywhere.

    A mention that is not a file stays text, with a note if it looks like a path. Files outside `root`, binary files,
    and those that `deny` has a reason against are skipped, long ones truncated, with a note: at most 40,000 characters
    of a file, 120,000 or `max_characters` in all. Raises BadInput for a picture that cannot be sent, or any picture if
    `text_only` names a model that accepts none."""
    blocks: list[str] = []
    notes: list[str] = []
    files: dict[Path, None] = {}  # in order, each once
    images: list[Image] = []
    max_total = min(_MAX_TOTAL, max_characters or _MAX_TOTAL)
    remaining = max_total
    for match in _distinct_mentions(query):
        try:
            mention = _resolve_mention(match, root)
            if mention is None:
                continue
            if denial := deny(mention.name):
                raise _SkippedMention(f"@{mention.name}: {denial}; not sent.")
            if is_picture(mention.path):
                image = _read_image(mention, text_only)
                images.append(image)
                blocks.append(f"{image['label']} {mention.name}")
                continue
            if remaining <= 0:
                raise _SkippedMention(
                    f"@{mention.name}: the mentioned files exceed {max_total:,} characters; not sent."
                )
            block, note = _render_block(mention, min(_MAX_FILE, remaining))
        except _SkippedMention as reason:
            notes.append(str(reason))
            continue
        remaining -= len(block)
        blocks.append(block)
        if note:
            notes.append(note)
        if mention.path.is_file():
            files[mention.path] = None
    if not blocks:
        return Expansion(query, notes)
    _refuse_large(images)
    text = "\n\n".join([query, "Contents of what is mentioned above:", *blocks])
    return Expansion(text, notes, list(files), images)


def _distinct_mentions(query: str) -> list[re.Match[str]]:
    """Return the mentions in their order; one that is written twice counts once."""
    mentions: dict[str, re.Match[str]] = {}
    for match in _MENTION.finditer(query):
        mentions.setdefault(match[0], match)
    return list(mentions.values())


def _read_image(mention: _Mention, text_only: str) -> Image:
    """Read a mentioned picture. Raises BadInput if it cannot be sent, or if the model named `text_only` takes none."""
    image = read_picture(mention.path, mention.name)
    if text_only:
        setting = f'set images = true in [models."{text_only}"]'
        hint = f"Choose a model that takes them (/model, swecli models), or {setting}."
        raise BadInput(f"{text_only} does not accept pictures: nothing was sent.", hint)
    return image


def _refuse_large(images: list[Image]) -> None:
    """Raise BadInput if the pictures are too large for one request."""
    if sum(len(image["data"]) for image in images) > _MAX_IMAGES:
        raise BadInput(
            f"The pictures exceed {_MAX_IMAGES / 1e6:.0f} MB: nothing was sent.", "Send fewer."
        )


def _resolve_mention(match: re.Match[str], root: Path) -> _Mention | None:
    """Return what a mention means, or None if it is plain text. Raises _SkippedMention."""
    quoted_name, line_range, bare_name = match.groups()
    written = quoted_name + (line_range or "") if quoted_name else bare_name
    for name, start, end in _parse_candidates(written):
        path = _resolve_inside(name, root) if name else None
        if path is not None:
            return _Mention(path, name, start, end)
    name = written.rstrip(_TRAILING)
    is_call = match.string[match.end() : match.end() + 1] == "("
    if quoted_name or (_PATH_LIKE.search(name) and not is_call):
        raise _SkippedMention(f"@{name}: no such file; sent as text.")
    return None


def _parse_candidates(written: str) -> Iterator[tuple[str, int, int]]:
    """Yield possible (name, first line, last line) of a mention, the most literal first: as written, with a range,
    without closing punctuation."""
    for text in dict.fromkeys((written, written.rstrip(_TRAILING))):
        yield text, 0, 0
        if match := _RANGE.match(text):
            start = max(1, int(match[2]))
            yield match[1], start, int(match[3] or start)


def _resolve_inside(name: str, root: Path) -> Path | None:
    """Return the existing file or directory of that name, links resolved, or None. Raises _SkippedMention."""
    try:
        workspace = root.resolve()
        path = (workspace / name).resolve()
        exists = path.exists()
    except (OSError, ValueError, RuntimeError):  # too long, not encodable, circular links
        return None
    if exists and not path.is_relative_to(workspace) and not is_picture(path):
        raise _SkippedMention(f"@{name}: outside the workspace; not sent.")
    return path if exists else None


def _render_block(mention: _Mention, max_characters: int) -> tuple[str, str]:
    """Return the file as a fenced block of about `max_characters`, and a note for the user if it is truncated, else "".
    Raises _SkippedMention."""
    name = mention.name
    try:
        if mention.path.is_dir():
            return _quote(f"Directory {name}", _list_folder(mention.path)), ""
        data = _read_start(mention)
    except OSError as failure:
        reason = failure.strerror or failure
        raise _SkippedMention(f"@{name}: cannot be read ({reason}).") from failure
    if b"\x00" in data[:8192]:
        raise _SkippedMention(f"@{name}: binary file; not sent.")

    text = data.decode("utf-8", "replace")
    title = f"File {name}"
    start = mention.start
    if start:
        lines = text.removesuffix("\n").split("\n")
        if start > len(lines) or start > mention.end:
            raise _SkippedMention(
                f"@{name}: no lines {start}-{mention.end}: the file has {len(lines):,}."
            )
        title += f", lines {start}-{min(mention.end, len(lines))}"
        text = "\n".join(lines[start - 1 : mention.end])
    if len(text) <= max_characters:
        return _quote(title, text), ""

    kept = text[:max_characters].rpartition("\n")[0] or text[:max_characters]
    next_line = max(1, start) + kept.count("\n") + 1
    block = _quote(f"{title}, cut before line {next_line}", kept)
    note = f"@{name}: {len(text):,} characters are too long; sent up to line {next_line - 1}."
    return block, note


def _read_start(mention: _Mention) -> bytes:
    """Read the first bytes of a file. Raises OSError, or _SkippedMention for a pipe or a device."""
    if not stat.S_ISREG(mention.path.stat().st_mode):
        raise _SkippedMention(f"@{mention.name}: not a regular file; not sent.")
    with mention.path.open("rb") as file:
        return file.read(_MAX_BYTES_READ)


def _list_folder(folder: Path) -> str:
    names: list[str] = []
    for entry in sorted(folder.iterdir(), key=attrgetter("name")):
        if entry.name != ".git":
            names.append(f"{entry.name}/" if entry.is_dir() else entry.name)
    if len(names) > _MAX_ENTRIES:
        names[_MAX_ENTRIES:] = [f"… and {len(names) - _MAX_ENTRIES} more"]
    return "\n".join(names) or "(empty)"


def _quote(title: str, text: str) -> str:
    """Return a fenced block whose fence is longer than any in the text, so that the text cannot end it."""
    return f"{title}:\n{fence(text.rstrip(chr(10)))}"
