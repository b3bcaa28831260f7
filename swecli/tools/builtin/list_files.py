"""What is in a folder."""

from __future__ import annotations

import asyncio
from pathlib import Path

from pydantic import Field

from swecli.models.message import Display, ToolResult
from swecli.tools.base import Params, ToolContext, ToolError, ToolPlan, tool
from swecli.tools.globs import Glob
from swecli.tools.ignore import Entry, walk
from swecli.tools.kinds import READ
from swecli.tools.limits import visible
from swecli.tools.paths import locate, missing, relative

_MOST_SHOWN = 500
_MOST_COUNTED = 50_000
_DEPTH = 2


class _ListFilesParams(Params):
    """Parameters of list_files."""

    path: str = Field(".", description="Folder to list, relative to the workspace.")
    pattern: str | None = Field(None, description="Glob over file names, e.g. *.py, src/**/*.{ts,tsx} or !*.md.")
    depth: int | None = Field(
        None, ge=1, description="Levels to go down. Without it: 2, or all levels where a pattern is given."
    )


def _plan(params: _ListFilesParams, ctx: ToolContext) -> ToolPlan:
    folder = locate(ctx.root, params.path)
    subject = relative(ctx.root, folder)
    wish = f" ({params.pattern})" if params.pattern else ""
    return ToolPlan(f"List {'.' if subject == '.' else subject + '/'}{wish}", state=folder, subject=subject)


@tool(READ, _ListFilesParams, _plan)
async def list_files(params: _ListFilesParams, ctx: ToolContext, plan: ToolPlan) -> ToolResult:
    """List a folder."""
    folder: Path = plan.state
    if not folder.exists():
        raise missing(ctx.root, folder)
    if not folder.is_dir():
        raise ToolError(f"{visible(plan.subject, keep='')} is a file, not a folder. Use read_file to read it.")
    glob = _glob(params.pattern)
    depth = params.depth or (None if glob else _DEPTH)
    # in a thread: a large tree takes a while, and the screen must not stand still
    entries, more = await asyncio.to_thread(_collect, ctx.root, plan.subject, depth, glob)
    head = _counts(entries, more)
    lines = [_shown(entry, ctx.root) for entry in entries[:_MOST_SHOWN]]
    if len(entries) > _MOST_SHOWN:
        left = f"{'at least ' if more else ''}{len(entries) - _MOST_SHOWN}"
        lines.append(f"[… {left} more not shown: name a folder, a pattern or a smaller depth]")
    name = "." if plan.subject == "." else visible(plan.subject, keep="")
    return ToolResult(True, "\n".join([f"{name}: {head}", *lines]), Display(title=name, body=head))


def _glob(pattern: str | None) -> Glob | None:
    if pattern is None or pattern in ("", "*", "**", "**/*"):
        return Glob("**") if pattern in ("**", "**/*") else None
    try:
        return Glob(pattern)
    except ValueError as error:
        raise ToolError(f"The pattern {pattern!r} cannot be used: {error}.") from error


def _collect(root: Path, start: str, depth: int | None, glob: Glob | None) -> tuple[list[Entry], bool]:
    """Entries in order, files only where there is a glob; and whether there were too many to count."""
    entries: list[Entry] = []
    for entry in walk(root, start, depth):
        if glob is not None and (entry.kind == "dir" or not glob.matches(entry.path)):
            continue
        if len(entries) >= _MOST_COUNTED:
            return entries, True
        entries.append(entry)
    return entries, False


def _counts(entries: list[Entry], more: bool) -> str:
    folders = sum(entry.kind == "dir" for entry in entries)
    files = len(entries) - folders
    counts = [f"{files} file{'' if files == 1 else 's'}"]
    if folders:
        counts.append(f"{folders} folder{'' if folders == 1 else 's'}")
    return ("more than " if more else "") + ", ".join(counts)


def _shown(entry: Entry, root: Path) -> str:
    name = visible(entry.path, keep="")
    if entry.kind == "link":
        try:
            return f"{name} -> {visible(str((root / entry.path).readlink()), keep='')}"
        except OSError:
            return f"{name} -> ?"
    return name + {"dir": "/", "other": " (no regular file)"}.get(entry.kind, "")
