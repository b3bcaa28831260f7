"""Lines of a text file, numbered."""

from __future__ import annotations

import mimetypes
from pathlib import Path

from pydantic import Field

from swecli.models.message import Display, ToolResult
from swecli.tools.base import READ, Params, ToolContext, ToolError, ToolPlan, tool
from swecli.tools.files import decode, digest, printable, read_bytes, split_lines
from swecli.tools.limits import page, visible
from swecli.tools.paths import locate, read_guard, relative


class _ReadFileParams(Params):
    path: str = Field(description="File to read, relative to the workspace.")
    start_line: int = Field(1, ge=1, description="First line, counted from 1.")
    end_line: int | None = Field(None, ge=1, description="Last line, itself included. Without it: as much as fits.")


def _plan(params: _ReadFileParams, ctx: ToolContext) -> ToolPlan:
    path = locate(ctx.root, params.path)
    subject = relative(ctx.root, path)
    if params.end_line is not None and params.end_line < params.start_line:
        raise ToolError(f"end_line {params.end_line} is before start_line {params.start_line}.")
    lines = f" {params.start_line}-{params.end_line or ''}" if params.end_line or params.start_line > 1 else ""
    return ToolPlan(f"Read {subject}{lines}", state=path, subject=subject, guard=read_guard(subject))


@tool(READ, _ReadFileParams, _plan)
async def read_file(params: _ReadFileParams, ctx: ToolContext, plan: ToolPlan) -> ToolResult:
    path: Path = plan.state
    shown = visible(plan.subject, keep="")
    data = read_bytes(ctx.root, path)
    file = decode(data)
    if file is None:
        kind = mimetypes.guess_type(path.name)[0] or "binary"
        raise ToolError(f"{shown} is not text ({kind}, {len(data):,} bytes). It cannot be shown here.")
    ctx.seen[path] = digest(data)
    lines = split_lines(file.text)
    if not lines:
        return ToolResult(True, f"{shown} is empty.", Display(title=shown, body="empty"))
    if params.start_line > len(lines):
        raise ToolError(f"{shown} has {len(lines)} lines: line {params.start_line} is past its end.")
    rows, last = page([printable(line) for line in lines], params.start_line, params.end_line, ctx.page_limit)
    notes = _notes(shown, params, last, len(lines), clean=file.clean)
    count = f"lines {params.start_line}-{last} of {len(lines)}" if len(rows) < len(lines) else f"{len(lines)} lines"
    return ToolResult(True, "\n".join([*rows, *notes]), Display(title=shown, body=count))


def _notes(shown: str, params: _ReadFileParams, last: int, total: int, *, clean: bool) -> list[str]:
    notes = []
    if last < min(params.end_line or total, total):
        notes.append(f"[lines {params.start_line}-{last} of {total} in {shown}; read on with start_line={last + 1}]")
    elif last < total or params.start_line > 1:
        notes.append(f"[lines {params.start_line}-{last} of {total} in {shown}]")
    if not clean:
        notes.append(r"[not UTF-8: bytes that are no text are written \xNN here; edit_file leaves them as they are]")
    return notes
