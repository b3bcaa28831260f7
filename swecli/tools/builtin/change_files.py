"""Change files: exact replacements, or a whole file. The planned diff is shown, and written only if the file is still
the one that was read."""

from __future__ import annotations

import difflib
import re
from bisect import bisect_left
from collections.abc import Sequence
from pathlib import Path

from pydantic import Field

from swecli.models.message import Display, Offer, ToolResult
from swecli.text import escape_hidden, truncate
from swecli.tools.base import EDIT, Params, ToolContext, ToolError, ToolPlan, tool
from swecli.tools.diffs import unified_diff
from swecli.tools.files import digest, read_bytes, write_atomic
from swecli.tools.guards import before_writing, when_ignored
from swecli.tools.limits import escape_invalid_bytes
from swecli.tools.paths import display_path, relative_path, resolve_path
from swecli.tools.text_files import TextFile, decode

_MAX_LINES = 10  # of matches, in an error
_SHOWN_LINES = 12
_MAX_LINE = 160  # characters
_MAX_COMPARED = 10_000
_MAX_PLACES = 20
_MAX_WANTED = 200  # lines
_MIN_SIMILARITY = 0.6
_NUMBERED = re.compile(r"^\s*\d+(\t|: ?| *\|)")
_ENDS = re.compile(r"^[ \t]+|[ \t]+$")


class _Edit(Params):
    """One replacement. Line ends of both texts are normalized; the file keeps its own."""

    old_text: str = Field(
        description="The exact text to replace, including whitespace, without line numbers."
    )
    new_text: str = Field(description="The text to replace it with.")
    replace_all: bool = Field(False, description="Replace all occurrences instead of exactly one.")


def _apply_edits(file: TextFile, edits: Sequence[_Edit], *, hints: bool = True) -> str:
    """Return the file's text after all edits, applied in order; everything else stays byte for byte. Raises ToolError
    if an edit does not match, or more than once; without `hints` the message quotes nothing of the file."""
    text = file.text
    for number, edit in enumerate(edits, start=1):
        which = f"Edit {number} of {len(edits)}: " if len(edits) > 1 else ""
        try:
            text = _apply(text, edit, file.newline, hints)
        except ToolError as error:
            after = " Edits before it were tried first." if number > 1 else ""
            raise ToolError(f"{which}{error}\nNothing was changed.{after}") from error
    return text


def _apply(text: str, edit: _Edit, newline: str, hints: bool) -> str:
    old, new = _normalize_newlines(edit.old_text), _normalize_newlines(edit.new_text)
    if not old:
        raise ToolError(
            "old_text is empty. Give the text to replace, or use write_file for the whole file."
        )
    if old == new:
        raise ToolError("old_text and new_text are the same.")
    plain = _normalize_newlines(text)
    pattern = (
        re.escape(old) if edit.replace_all else f"(?={re.escape(old)})"
    )  # overlapping matches are ambiguous too
    starts = [match.start() for match in re.finditer(pattern, plain)]
    if not starts:
        raise ToolError(
            _explain_mismatch(plain, old, new) if hints else "old_text is not in the file."
        )
    if len(starts) > 1 and not edit.replace_all:
        lines = ", ".join(str(plain.count("\n", 0, start) + 1) for start in starts[:_MAX_LINES])
        more = f" and {len(starts) - _MAX_LINES} more" if len(starts) > _MAX_LINES else ""
        raise ToolError(
            f"old_text occurs {len(starts)} times, at lines {lines}{more}. "
            "Add the lines around it until it is unique, or set replace_all."
        )
    return _replace(
        text, starts, len(old), edit.new_text if not newline else new.replace("\n", newline)
    )


def _replace(text: str, starts: list[int], length: int, new: str) -> str:
    """Replace `length` characters at each of `starts`, which are positions in the text with normalized line ends."""
    # positions of the line ends that have two characters in `text`: each one before a position moves it by one
    pairs = [match.start() - index for index, match in enumerate(re.finditer("\r\n", text))]
    pieces, done = [], 0
    for start in starts:
        pieces += [text[done : start + bisect_left(pairs, start)], new]
        done = start + length + bisect_left(pairs, start + length)
    return "".join([*pieces, text[done:]])


def _normalize_newlines(text: str) -> str:
    return text.replace("\r\n", "\n")


def _explain_mismatch(text: str, old: str, new: str) -> str:
    """Return, as lines for the model, why `old` is not in `text`. Both must have normalized line ends."""
    notes = ["old_text is not in the file."]
    wanted = old.strip("\n").split("\n")
    if all(_NUMBERED.match(line) for line in wanted if line.strip()) and old.strip():
        notes.append("It seems to contain the line numbers of read_file: leave them out.")
        wanted = [_NUMBERED.sub("", line, count=1) for line in wanted]
    if new.strip() and new in text:
        notes.append(
            f"new_text is already there, at line {text.count(chr(10), 0, text.index(new)) + 1}."
        )
    if "\\n" in old and old.replace("\\n", "\n") in text:
        notes.append("It contains backslash-n where the file has line breaks.")
    lines = text.split("\n")[:_MAX_COMPARED]
    place = _closest(lines, wanted[:_MAX_WANTED]) if old.strip() else None
    notes.append(
        _describe_place(lines, wanted, *place)
        if place
        else "The file has no similar text. Read the file again."
    )
    return "\n".join(notes)


def _closest(lines: list[str], wanted: list[str]) -> tuple[int, float] | None:
    """Return the index of the first line of the place most similar to `wanted`, and the similarity (0 to 1). Candidates
    are found by the longest line, then compared as a whole. Case and white space around lines are ignored."""
    anchor = max(range(len(wanted)), key=lambda i: len(wanted[i].strip()))
    lines, wanted = ([line.strip().casefold() for line in some] for some in (lines, wanted))
    stripped = [line[:_MAX_LINE] for line in lines]
    near = difflib.get_close_matches(
        wanted[anchor][:_MAX_LINE], stripped, n=3, cutoff=_MIN_SIMILARITY
    )
    best, at = 0.0, 0
    whole = "\n".join(wanted)[:4000]
    for place in [max(0, index - anchor) for index, line in enumerate(stripped) if line in near][
        :_MAX_PLACES
    ]:
        there = "\n".join(lines[place : place + len(wanted)])[:4000]
        score = difflib.SequenceMatcher(None, whole, there, autojunk=False).ratio()
        if score > best:
            best, at = score, place
    return (at, best) if best >= _MIN_SIMILARITY else None


def _describe_place(lines: list[str], wanted: list[str], start: int, similarity: float) -> str:
    there = lines[start : start + len(wanted)]
    end = start + len(there)
    head = f"Closest: line {start + 1}" if len(there) == 1 else f"Closest: lines {start + 1}-{end}"
    what = "only white space or case differs" if similarity == 1 else f"{similarity:.0%} alike"
    out = [f"{head} ({what}). The file has:"]
    out += [
        f"{start + 1 + i:>6}\t{truncate(line, _MAX_LINE)}"
        for i, line in enumerate(there[:_SHOWN_LINES])
    ]
    if len(there) > _SHOWN_LINES:
        out.append(f"   … {len(there) - _SHOWN_LINES} more lines")
    pairs = zip(there, wanted, strict=False)
    index = next((i for i, (has, want) in enumerate(pairs) if has != want), None)
    if index is not None:
        out.append(f"First difference, at line {start + 1 + index}:")
        out.append(f"  file:     {truncate(_show_blanks(there[index]), _MAX_LINE)}")
        out.append(f"  old_text: {truncate(_show_blanks(wanted[index]), _MAX_LINE)}")
    return "\n".join(out)


def _show_blanks(line: str) -> str:
    """Return a line with visible characters for the white space at its ends."""
    return _ENDS.sub(lambda ends: ends[0].replace("\t", "→").replace(" ", "·"), line)


def _read_base(ctx: ToolContext, path: Path, *, must_be_seen: bool) -> tuple[TextFile, str]:
    """Return the text of a file to change and its digest. Raises ToolError: the file is binary, changed since it was
    read, or was never read though `must_be_seen`."""
    data = read_bytes(ctx.root, path)
    name = display_path(ctx.root, path)
    base = digest(data)
    seen = ctx.file_digests.get(path)
    if seen is None and must_be_seen:
        raise ToolError(
            f"{name} exists and was not read yet. Read it first with read_file, then write it."
        )
    if seen is not None and seen != base:
        raise ToolError(
            f"{name} changed since it was read. Read it again with read_file, then change it."
        )
    file = decode(data)
    if file is None:
        raise ToolError(f"{name} is a binary file. Only text can be changed here.")
    return file, base


def _plan_change(
    ctx: ToolContext, path: Path, old: TextFile | None, base: str | None, data: bytes, verb: str
) -> ToolPlan:
    """Return a plan with the change as a diff and the bytes to write. Raises ToolError for binary content."""
    subject, name = relative_path(ctx.root, path), display_path(ctx.root, path)
    new = decode(data)
    if new is None:
        raise ToolError(
            "The content contains NUL characters: this would be a binary file. Nothing was written."
        )
    before, after = (old.text if old else None), new.text
    if old is not None and old.newline == new.newline == "\r\n":
        # unchanged line ends would only be noise in every line of the diff
        before, after = _normalize_newlines(old.text), _normalize_newlines(new.text)
    diff = unified_diff(name, before, after)
    preview = Display(title=name, body=escape_hidden(escape_invalid_bytes(diff.text)), kind="diff")
    return ToolPlan(
        summary=f"{verb} {name} ({diff.counts})",
        preview=preview,
        state=(path, base, data, diff),
        session_label="all changes to files in this workspace",
        session_rule="edit(**)",
        subject=subject,
        guard=before_writing(ctx.root, subject),
    )


def _make_change(ctx: ToolContext, plan: ToolPlan, done: str) -> ToolResult:
    """Write the planned bytes. Raises ToolError if the file changed since the plan."""
    path, base, data, diff = plan.state
    write_atomic(ctx.root, path, data, base)
    ctx.file_digests[path] = digest(data)
    places = [
        f"{first}-{last}" if last > first else str(first) for first, last in diff.changed[:20]
    ]
    where = (
        f" Changed lines, as they are numbered now: {', '.join(places)}." if base and places else ""
    )
    text = f"{done} {plan.preview.title} ({diff.counts}).{where}"
    return ToolResult(ok=True, for_model=text, for_user=plan.preview)


class EditFileParams(Params):
    path: str = Field(description="File to edit, relative to the workspace.")
    edits: list[_Edit] = Field(
        min_length=1, description="Replacements, applied in order; all or none."
    )


def _plan_edit_file(params: EditFileParams, ctx: ToolContext) -> ToolPlan:
    path = resolve_path(ctx.root, params.path)
    old, base = _read_base(ctx, path, must_be_seen=False)
    # a failed match quotes the file only if it was read, or may be read without asking
    name = relative_path(ctx.root, path)
    hints = path in ctx.file_digests or (ctx.may_read(name) and not when_ignored(ctx.root, name))
    data = old.encode(_apply_edits(old, params.edits, hints=hints))
    if data == old.encode(old.text):
        raise ToolError("The edits leave the file as it is. Nothing was changed.")
    return _plan_change(ctx, path, old, base, data, "Edit")


@tool(EDIT, EditFileParams, _plan_edit_file, Offer(in_small_windows=True))
async def edit_file(params: EditFileParams, ctx: ToolContext, plan: ToolPlan) -> ToolResult:
    count = len(params.edits)
    return _make_change(ctx, plan, "Edited" if count == 1 else f"Made {count} edits in")


class _WriteFileParams(Params):
    path: str = Field(
        description="File to write, relative to the workspace. Missing folders are created."
    )
    content: str = Field(description="The complete new content of the file.")


def _plan_write_file(params: _WriteFileParams, ctx: ToolContext) -> ToolPlan:
    path = resolve_path(ctx.root, params.path)
    if path == ctx.root.resolve() or params.path.endswith("/"):
        raise ToolError("The path names a folder. Give the path of a file.")
    if not path.exists():
        return _plan_change(ctx, path, None, None, TextFile("").encode(params.content), "Create")
    old, base = _read_base(ctx, path, must_be_seen=True)
    own_newlines = old.newline != "\r\n" or "\r\n" in params.content
    data = old.encode(params.content if own_newlines else params.content.replace("\n", "\r\n"))
    if data == old.encode(old.text):
        raise ToolError("The file already has exactly this content. Nothing was written.")
    return _plan_change(ctx, path, old, base, data, "Write")


@tool(EDIT, _WriteFileParams, _plan_write_file, Offer(in_small_windows=True))
async def _write_file(params: _WriteFileParams, ctx: ToolContext, plan: ToolPlan) -> ToolResult:
    return _make_change(ctx, plan, "Wrote")
