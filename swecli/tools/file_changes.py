"""A planned change of one file: shown as a diff, and written only if the file is still the one that was read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from swecli.models.message import Display, TextChange, ToolResult
from swecli.text import escape_hidden
from swecli.text_files import BYTE_ORDER_MARKS, REPLACEMENT, TextFile, decode, replace_strays
from swecli.tools.base import ToolContext, ToolError, ToolPlan
from swecli.tools.diffs import Diff, LineRange, unified_diff
from swecli.tools.edits import normalize_newlines
from swecli.tools.file_formats import declared_encoding
from swecli.tools.files import digest, read_bytes, write_atomic
from swecli.tools.paths import display_path, relative_path, resolve_for_reading, resolve_path
from swecli.values import dataclass

_MAX_PLACES = 20  # named in a result


@dataclass(frozen=True, slots=True)
class Base:
    """A file as it is before a change."""

    path: Path  # resolved
    file: TextFile | None  # None: it does not exist
    digest: str | None = None  # of its bytes
    is_stale: bool = False  # it is not as it was when the model read it


@dataclass(frozen=True, slots=True)
class FileChange:
    """What is written if the change is permitted."""

    base: Base
    data: bytes
    encoding: str  # of the data; "" if it is plain ASCII
    diff: Diff


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangePlan(ToolPlan):
    """A change of one file. Of edits: how many were made, and why the others were left out."""

    change: FileChange
    edits_made: int = 0
    failures: Sequence[str] = ()


def resolve_change(ctx: ToolContext, text: str) -> Path:
    """Return the real path of a file to make or to change, in the workspace or a folder that was added to it. Raises
    ToolError like `resolve_path`."""
    real = resolve_for_reading(ctx.root, text)
    if ctx.guard.added(real) is None:
        return resolve_path(ctx.root, text)
    return real


def read_base(ctx: ToolContext, path: Path) -> Base:
    """Read a file to change. Raises ToolError if it is binary."""
    data = read_bytes(ctx.root, path)
    name = display_path(ctx.root, path)
    now = digest(data)
    is_stale = ctx.files.digests.get(path, now) != now
    file = decode_file(ctx, path, data)
    if file is None:
        raise ToolError(f"{name} is a binary file. Only text can be changed here.")
    return Base(path, file, now, is_stale)


def decode_file(ctx: ToolContext, path: Path, data: bytes) -> TextFile | None:
    """Return the text of a file, None if it is binary. It stays in the encoding that it was found in, whatever its
    bytes look like after a change."""
    encoding = ctx.files.encodings.get(path, "")
    if not encoding and not data.startswith(BYTE_ORDER_MARKS):
        encoding = declared_encoding(ctx.root, path, ctx.commands.environ)
    file = decode(data, encoding)
    if file is not None and not file.text.isascii():
        ctx.files.encodings[path] = file.encoding
    return file


def stale_error(ctx: ToolContext, base: Base) -> ToolError:
    """Return the error for a change that needs the file as the model read it."""
    name = display_path(ctx.root, base.path)
    return ToolError(
        f"{name} changed since it was read. Read it again with read_file, then change it."
    )


def plan_change(
    ctx: ToolContext,
    base: Base,
    new: TextFile,
    verb: str,
    ranges: Sequence[LineRange] | None = None,
) -> ChangePlan:
    """Return a plan with the change as a diff and the bytes to write. `ranges` are the lines that differ, if they are
    known. Raises ToolError for binary content, and for what the encoding of the file cannot hold."""
    subject = relative_path(ctx.root, base.path)
    name = display_path(ctx.root, base.path)
    data, encoding = _encode(name, base.file or replace(new, text=""), new.text)
    before = base.file.text if base.file else None
    after = new.text
    if base.file is not None and base.file.newline == new.newline == "\r\n":
        # unchanged line ends would only be noise in every line of the diff
        before = normalize_newlines(base.file.text)
        after = normalize_newlines(new.text)
    diff = unified_diff(name, before, after, ranges)
    body = escape_hidden(replace_strays(diff.text))
    access = ctx.guard.judge(subject)
    return ChangePlan(
        summary=f"{verb} {name} ({diff.counts})",
        preview=Display(
            title=name,
            body=body,
            kind="diff",
            change=TextChange(str(base.path), before, after),
        ),
        change=FileChange(base, data, "" if new.text.isascii() else encoding, diff),
        session_label="all changes to files in this workspace",
        session_rule="edit(**)",
        subject=subject,
        forbidden=access.write_denial,
        guard=access.write_guard,
    )


def _encode(name: str, file: TextFile, text: str) -> tuple[bytes, str]:
    """Return a text in the encoding of a file, and which one that is. Raises ToolError if it lacks a character."""
    if "\0" in text:
        raise ToolError(
            "The content contains NUL characters: this would be a binary file. Nothing was written."
        )
    if not file.is_valid and text.count(REPLACEMENT) > file.text.count(REPLACEMENT):
        raise ToolError(
            f"{name} has bytes that are not text, shown as {REPLACEMENT}. They would be lost. Nothing was written: "
            "edit the text around them."
        )
    try:
        return file.encode(text), file.encoding_for(text)
    except UnicodeEncodeError as error:
        char = text[error.start]
        readable_character = (
            f"{char} (U+{ord(char):04X})" if char.isprintable() else f"U+{ord(char):04X}"
        )
        if 0xD800 <= ord(char) <= 0xDFFF:
            raise ToolError(
                f"The text contains a character that files cannot hold ({readable_character})."
            ) from error
        raise ToolError(
            f"{name} is written in {file.encoding_for(text)}, which has no {readable_character}. Nothing was written: "
            "use other characters, or convert the file first, such as with iconv."
        ) from error


def make_change(ctx: ToolContext, plan: ChangePlan, verb: str) -> ToolResult:
    """Write the planned bytes. Raises ToolError if the file changed since the plan."""
    change = plan.change
    path = change.base.path
    added = ctx.guard.added(path)
    within = None if added is None else Path(added.path)
    is_detached = write_atomic(ctx.root, path, change.data, change.base.digest, within=within)
    if not change.base.is_stale:  # of the rest of which the model does not know
        ctx.files.digests[path] = digest(change.data)
    if change.encoding:
        ctx.files.encodings[path] = change.encoding
    text = f"{verb} {plan.preview.title} ({change.diff.counts})."
    if change.base.file is not None and change.diff.changed:
        text += f" Changed lines, as they are numbered now: {_places(change.diff.changed)}."
    if is_detached:
        text += (
            " It had other names (hard links) outside the workspace: these keep the old content."
        )
    return ToolResult(ok=True, for_model=text, for_user=plan.preview)


def _places(ranges: Sequence[tuple[int, int]]) -> str:
    """Return a text like `3, 7-9`."""
    places: list[str] = []
    for first, last in ranges[:_MAX_PLACES]:
        places.append(f"{first}-{last}" if last > first else str(first))
    more = len(ranges) - _MAX_PLACES
    return ", ".join(places) + (f" and {more} more places" if more > 0 else "")
