"""List the files and folders below a folder."""

from __future__ import annotations

import asyncio
import os
import sys
from contextlib import suppress
from pathlib import Path

from pydantic import Field

from swecli.file_names import write_name
from swecli.models.message import Display, ToolResult
from swecli.tools.base import READ, ToolContext, ToolError, tool
from swecli.tools.globs import Glob
from swecli.tools.limits import count_of
from swecli.tools.outside import PathPlan, SearchPlace, plan_reading
from swecli.tools.params import Params
from swecli.tools.paths import not_found_error, relative_path, resolve_for_reading
from swecli.tools.searching import visible_files

_MAX_ENTRIES = 500  # stated in list_files.md
_DEFAULT_DEPTH = 2


class ListFilesParams(Params):
    path: str = Field(".", description="Folder to list, relative to the workspace.")
    pattern: str | None = Field(
        None,
        description="Glob over file names, e.g. *.py or !*.md; src/**/*.{ts,tsx} is relative to `path`.",
    )
    depth: int | None = Field(
        None, ge=1, description="Levels to descend. Default: 2, or all levels with a pattern."
    )


def _plan(params: ListFilesParams, ctx: ToolContext) -> PathPlan:
    folder = resolve_for_reading(ctx.root, params.path)
    subject = relative_path(ctx.root, folder)
    name = "." if subject == "." else f"{subject.rstrip('/')}/"
    only = f" ({params.pattern})" if params.pattern else ""
    summary = f"List {name}{only}"
    return plan_reading(summary, folder, ctx, written_path=params.path)


@tool(READ, ListFilesParams, _plan)
async def list_files(params: ListFilesParams, ctx: ToolContext, plan: PathPlan) -> ToolResult:
    folder = plan.path
    name = write_name(plan.subject)
    if not folder.exists():
        raise not_found_error(ctx.root, folder)
    if not folder.is_dir():
        raise ToolError(f"{name} is a file, not a folder. Use read_file to read it.")

    # in a thread: listing a large tree must not block the screen
    place = SearchPlace.of(ctx, folder)
    entries = await asyncio.to_thread(_find_entries, params, place.ctx, place.start)
    folders = sum(entry.endswith("/") for entry in entries)
    head = count_of(len(entries) - folders, "file")
    if folders:
        head += f", {count_of(folders, 'folder')}"

    lines = [f"{name}: {head}"]
    lines += [write_name(f"{place.prefix}{entry}") for entry in entries[:_MAX_ENTRIES]]
    left_out = len(entries) - _MAX_ENTRIES
    if left_out > 0:
        lines.append(f"[… {left_out} more not shown: name a folder, a pattern or a smaller depth]")
    return ToolResult(True, "\n".join(lines), Display(title=name, body=head))


def _find_entries(params: ListFilesParams, ctx: ToolContext, start: str) -> list[str]:
    """Return the matching files, sorted; without a pattern also folders and links."""
    glob = Glob(params.pattern) if params.pattern not in (None, "", "*") else None
    default = None if glob else _DEFAULT_DEPTH
    depth = params.depth or default or sys.maxsize
    above = 0 if start == "." else start.count("/") + 1
    deepest = above + depth

    entries: set[str] = set()
    folders: set[str] = set()
    for path in visible_files(ctx.root, start, ctx.commands.environ, ctx.commands.timeout):
        parts = path.split("/")
        is_near = len(parts) <= deepest
        if is_near and (glob is None or glob.matches(path, start)):
            entries.add(path)
        for count in range(above + 1, min(len(parts), deepest + 1)):
            folders.add("/".join(parts[:count]))

    if glob is None:
        for folder in (start, *folders):
            is_open = folder == "." or folder.count("/") + 1 < deepest
            if is_open:
                entries |= _links_in(ctx.root, folder)
        entries |= {f"{folder}/" for folder in folders}
    return sorted(entries, key=lambda entry: entry.split("/"))


def _links_in(root: Path, folder: str) -> set[str]:
    """Return the symbolic links of a folder with their targets."""
    links: set[str] = set()
    with suppress(OSError), os.scandir(root / folder) as children:
        for child in children:
            if child.is_symlink():
                link = Path(child.path)
                links.add(f"{link.relative_to(root).as_posix()} -> {link.readlink()}")
    return links
