"""Reads what a query mentions: the contents of @files and folders, and pictures."""

from __future__ import annotations

import os
import re
import stat
from bisect import bisect_left
from collections.abc import Callable, Iterator
from dataclasses import field
from operator import attrgetter
from pathlib import Path

from swecli.context.pictures import is_picture, read_picture
from swecli.file_names import Reading, WrittenMention, find_mention, fold_name, write_name
from swecli.models.added_folder import AddedFolder, innermost
from swecli.models.errors import BadInput
from swecli.models.message import Image
from swecli.text import fence, one_line
from swecli.text_files import decode
from swecli.values import dataclass

_MAX_FILE = 40_000  # characters
_MAX_TOTAL = 120_000
_MAX_ENTRIES = 200
_MAX_IMAGES = 20_000_000  # characters of base64 data: services accept no larger request
_MAX_BYTES_READ = 8_000_000  # bytes read of one file

_TRAILING = ".!?:,;'\"`)]}>|"
_NAME = re.compile(r"""[^\s"`,;<>{}|]*""")  # as far as it is reported; a pasted text goes on
# a call or a decorator: no file is meant
_CALL = re.compile(r"[\w.]+\(")
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
    name: str  # as it is written, without quotes and escapes
    start: int  # first line; 0: all lines
    end: int  # last line

    @property
    def label(self) -> str:
        """The name for a line of text."""
        return write_name(self.name)


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
    folders: tuple[AddedFolder, ...] = (),
) -> Expansion:
    """Append the contents of mentioned files: `@path`, `@dir/`, `@"with spaces"` and `@path:10-20`, relative to `root`
    or absolute inside it or one of the added `folders`, and `@picture.png` anywhere.

    A mention that is not a file stays text, with a note if it looks like a path. Files outside of them, binary files,
    and those that `deny` has a reason against are skipped, long ones truncated, with a note: at most 40,000 characters
    of a file, 120,000 or `max_characters` in all. Raises BadInput for a picture that cannot be sent, or any picture if
    `text_only` names a model that accepts none."""
    blocks: list[str] = []
    notes: list[str] = []
    files: dict[Path, None] = {}  # in order, each once
    images: list[Image] = []
    max_total = min(_MAX_TOTAL, max_characters or _MAX_TOTAL)
    remaining = max_total
    for written_mention, reading in _distinct_mentions(query, root):
        try:
            if reading is None:
                _report_missing(written_mention)
                continue
            mention = _resolve_inside(reading, root, folders)
            if denial := deny(mention.name):
                raise _SkippedMention(f"@{mention.label}: {denial}; not sent.")
            if is_picture(mention.path):
                image = _read_image(mention, text_only)
                images.append(image)
                blocks.append(f"{image['label']} {mention.label}")
                continue
            if remaining <= 0:
                raise _SkippedMention(
                    f"@{mention.label}: the mentioned files exceed {max_total:,} characters; not sent."
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


def _distinct_mentions(query: str, root: Path) -> Iterator[tuple[WrittenMention, Reading | None]]:
    """Yield the mentions in their order, with the longest name that exists, None if there is no such file; one that is
    written twice counts once."""
    seen_keys: set[object] = set()
    position = 0
    leads = _leads(root)
    while mention := find_mention(query, position):
        reading = None
        if _is_among(
            leads, fold_name(mention.lead)
        ):  # most of a pasted text with many @ begin no name
            reading = next((each for each in mention.readings() if _exists(root, each.name)), None)
        position = reading.stop if reading else mention.stop
        key = (reading.name, reading.start, reading.end) if reading else mention.text
        if key not in seen_keys:
            seen_keys.add(key)
            yield mention, reading


def _leads(root: Path) -> list[str] | None:
    """Return the names of what is in a folder, sorted, None if they are not known."""
    try:
        return sorted(map(fold_name, os.listdir(root)))  # noqa: PTH208  names only
    except OSError:
        return None


def _is_among(names: list[str] | None, lead: str) -> bool:
    """Return whether a name begins with these letters."""
    if names is None:
        return True
    place = bisect_left(names, lead)
    return place < len(names) and names[place].startswith(lead) or not lead


def _exists(root: Path, name: str) -> bool:
    try:
        return os.path.exists(f"{root}/{name}" if name[0] != "/" else name)  # noqa: PTH110  for each of many
    except ValueError:  # NUL, or no name of this system
        return False


def _read_image(mention: _Mention, text_only: str) -> Image:
    """Read a mentioned picture. Raises BadInput if it cannot be sent, or if the model named `text_only` takes none."""
    image = read_picture(mention.path, mention.label)
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


def _report_missing(mention: WrittenMention) -> None:
    """Raise _SkippedMention for a mention that is certainly meant as a path."""
    name = mention.text
    if not mention.is_quoted:
        name = _NAME.match(name)[0].rstrip(_TRAILING)  # type: ignore[index]  # it matches the empty text too
    if mention.is_quoted or (_PATH_LIKE.search(name) and not _CALL.match(name)):
        raise _SkippedMention(f"@{one_line(name)}: no such file; sent as text.")


def _resolve_inside(reading: Reading, root: Path, folders: tuple[AddedFolder, ...]) -> _Mention:
    """Return the existing file or folder of a name, links resolved. Raises _SkippedMention."""
    workspace = root.resolve()
    path = (workspace / reading.name).resolve()
    mention = _Mention(path, reading.name, reading.start, reading.end)
    is_inside = path.is_relative_to(workspace) or innermost(folders, str(path)) is not None
    if not is_inside and not is_picture(path):
        raise _SkippedMention(f"@{mention.label}: outside the workspace; not sent.")
    return mention


def _render_block(mention: _Mention, max_characters: int) -> tuple[str, str]:
    """Return the file as a fenced block of about `max_characters`, and a note for the user if it is truncated, else "".
    Raises _SkippedMention."""
    name = mention.label
    try:
        if mention.path.is_dir():
            return _quote(f"Directory {name}", _list_folder(mention.path)), ""
        data = _read_start(mention)
    except OSError as failure:
        reason = failure.strerror or failure
        raise _SkippedMention(f"@{name}: cannot be read ({reason}).") from failure
    file = decode(data)
    if file is None:
        raise _SkippedMention(f"@{name}: binary file; not sent.")

    text = file.readable_text
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

    beginning = text[:max_characters].rpartition("\n")[0] or text[:max_characters]
    next_line = max(1, start) + beginning.count("\n") + 1
    block = _quote(f"{title}, cut before line {next_line}", beginning)
    note = f"@{name}: {len(text):,} characters are too long; sent up to line {next_line - 1}."
    return block, note


def _read_start(mention: _Mention) -> bytes:
    """Read the first bytes of a file. Raises OSError, or _SkippedMention for a pipe or a device."""
    if not stat.S_ISREG(mention.path.stat().st_mode):
        raise _SkippedMention(f"@{mention.label}: not a regular file; not sent.")
    with mention.path.open("rb") as file:
        return file.read(_MAX_BYTES_READ)


def _list_folder(folder: Path) -> str:
    names: list[str] = []
    for entry in sorted(folder.iterdir(), key=attrgetter("name")):
        if entry.name != ".git":
            names.append(write_name(f"{entry.name}/" if entry.is_dir() else entry.name))
    if len(names) > _MAX_ENTRIES:
        names[_MAX_ENTRIES:] = [f"… and {len(names) - _MAX_ENTRIES} more"]
    return "\n".join(names) or "(empty)"


def _quote(title: str, text: str) -> str:
    """Return a fenced block whose fence is longer than any in the text, so that the text cannot end it."""
    return f"{title}:\n{fence(text.rstrip(chr(10)))}"
