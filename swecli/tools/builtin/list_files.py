"""What is in a folder."""

from __future__ import annotations

import asyncio
import os
from contextlib import suppress
from pathlib import Path

from pydantic import Field

from swecli.models.message import Display, ToolResult
from swecli.tools.base import READ, Params, ToolContext, ToolError, ToolPlan, tool
from swecli.tools.limits import visible
from swecli.tools.paths import locate, missing, relative
from swecli.tools.searching import Glob, files_below

_MOST_SHOWN = 500
_DEPTH = 2
_DEEPEST = 10_000


class _ListFilesParams(Params):
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
    folder: Path = plan.state
    if not folder.exists():
        raise missing(ctx.root, folder)
    if not folder.is_dir():
        raise ToolError(f"{visible(plan.subject, keep='')} is a file, not a folder. Use read_file to read it.")
    glob = None if params.pattern in (None, "", "*") else Glob(params.pattern or "")
    depth = params.depth or (None if glob else _DEPTH)
    # in a thread: a large tree takes a while, and the screen must not stand still
    entries = await asyncio.to_thread(_entries, ctx, plan.subject, depth, glob)
    folders = sum(entry.endswith("/") for entry in entries)
    head = _count(len(entries) - folders, "file") + (f", {_count(folders, 'folder')}" if folders else "")
    lines = [visible(entry, keep="") for entry in entries[:_MOST_SHOWN]]
    if len(entries) > _MOST_SHOWN:
        lines.append(f"[… {len(entries) - _MOST_SHOWN} more not shown: name a folder, a pattern or a smaller depth]")
    name = "." if plan.subject == "." else visible(plan.subject, keep="")
    return ToolResult(True, "\n".join([f"{name}: {head}", *lines]), Display(title=name, body=head))


def _entries(ctx: ToolContext, start: str, depth: int | None, glob: Glob | None) -> list[str]:
    """Files with their folders, and the links in these; only files where there is a glob."""
    above = 0 if start == "." else start.count("/") + 1
    below = (path.split("/") for path in files_below(ctx.root, start, ctx.environ, ctx.timeout))
    deepest = above + (depth or _DEEPEST)
    found, folders = set[str](), {start}
    for parts in below:
        if len(parts) <= deepest and (glob is None or glob.matches("/".join(parts))):
            found.add("/".join(parts))
        folders.update("/".join(parts[:count]) for count in range(above + 1, min(len(parts), deepest + 1)))
    if glob is None:
        for folder in folders:
            with suppress(OSError), os.scandir(ctx.root / folder) as children:
                if folder == "." or folder.count("/") + 1 < deepest:
                    links = [Path(child.path) for child in children if child.is_symlink()]
                    found.update(f"{link.relative_to(ctx.root).as_posix()} -> {link.readlink()}" for link in links)
        found.update(f"{folder}/" for folder in folders - {start})
    return sorted(found, key=lambda entry: entry.split("/"))


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"
