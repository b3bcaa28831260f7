"""List the files of a folder, and search files for lines that match a regular expression."""

from __future__ import annotations

import asyncio
import os
import sys
from contextlib import suppress
from pathlib import Path

from pydantic import Field

from swecli.models.message import Display, ToolResult
from swecli.tools.base import READ, Params, ToolContext, ToolError, ToolPlan, tool
from swecli.tools.files import not_found_error, read_guard, relative_path, resolve_path
from swecli.tools.limits import escape_hidden
from swecli.tools.searching import Glob, Match, Matches, files_below, search

_MAX_ENTRIES = 500
_DEFAULT_DEPTH = 2


class _ListFilesParams(Params):
    path: str = Field(".", description="Folder to list, relative to the workspace.")
    pattern: str | None = Field(None, description="Glob over file names, e.g. *.py, src/**/*.{ts,tsx} or !*.md.")
    depth: int | None = Field(
        None, ge=1, description="Levels to go down. Without it: 2, or all levels where a pattern is given."
    )


def _plan_list_files(params: _ListFilesParams, ctx: ToolContext) -> ToolPlan:
    folder = resolve_path(ctx.root, params.path)
    subject = relative_path(ctx.root, folder)
    only = f" ({params.pattern})" if params.pattern else ""
    return ToolPlan(f"List {'.' if subject == '.' else subject + '/'}{only}", state=folder, subject=subject)


@tool(READ, _ListFilesParams, _plan_list_files)
async def _list_files(params: _ListFilesParams, ctx: ToolContext, plan: ToolPlan) -> ToolResult:
    folder: Path = plan.state
    if not folder.exists():
        raise not_found_error(ctx.root, folder)
    if not folder.is_dir():
        raise ToolError(f"{escape_hidden(plan.subject, keep='')} is a file, not a folder. Use read_file to read it.")
    glob = None if params.pattern in (None, "", "*") else Glob(params.pattern or "")
    depth = params.depth or (None if glob else _DEFAULT_DEPTH)
    # in a thread: listing a large tree must not block the screen
    entries = await asyncio.to_thread(_entries, ctx, plan.subject, depth, glob)
    folders = sum(entry.endswith("/") for entry in entries)
    head = _count(len(entries) - folders, "file") + (f", {_count(folders, 'folder')}" if folders else "")
    lines = [escape_hidden(entry, keep="") for entry in entries[:_MAX_ENTRIES]]
    if len(entries) > _MAX_ENTRIES:
        lines.append(f"[… {len(entries) - _MAX_ENTRIES} more not shown: name a folder, a pattern or a smaller depth]")
    name = escape_hidden(plan.subject, keep="")
    return ToolResult(True, "\n".join([f"{name}: {head}", *lines]), Display(title=name, body=head))


def _entries(ctx: ToolContext, start: str, depth: int | None, glob: Glob | None) -> list[str]:
    """Return the matching files at most `depth` levels below `start`; without a glob also their folders and links."""
    above = 0 if start == "." else start.count("/") + 1
    deepest = above + (depth or sys.maxsize)
    found, folders = set[str](), {start}
    for path in files_below(ctx.root, start, ctx.environ, ctx.timeout):
        parts = path.split("/")
        if len(parts) <= deepest and (glob is None or glob.matches(path)):
            found.add(path)
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


class _SearchFilesParams(Params):
    pattern: str = Field(min_length=1, description="Regular expression, compared with one line at a time.")
    path: str = Field(".", description="Folder or file to search, relative to the workspace.")
    glob: str | None = Field(None, description="Only files whose name fits, e.g. *.py, *.{ts,tsx} or !test_*.")
    ignore_case: bool = Field(False, description="Take upper and lower case as the same.")
    max_results: int = Field(100, ge=1, le=1000, description="Matching lines to show, at most.")


def _plan_search_files(params: _SearchFilesParams, ctx: ToolContext) -> ToolPlan:
    path = resolve_path(ctx.root, params.path)
    subject = relative_path(ctx.root, path)
    where = "" if subject == "." else f" in {subject}"
    only = f" ({params.glob})" if params.glob else ""
    # a folder may have the name of a sensitive file: its files are checked one by one
    guard = "" if path.is_dir() else read_guard(subject)
    return ToolPlan(f"Search {params.pattern!r}{where}{only}", state=path, subject=subject, guard=guard)


@tool(READ, _SearchFilesParams, _plan_search_files)
async def _search_files(params: _SearchFilesParams, ctx: ToolContext, plan: ToolPlan) -> ToolResult:
    path: Path = plan.state
    if "\n" in params.pattern:
        raise ToolError(
            "The pattern holds a line end, but lines are compared one at a time. Search for one line of it."
        )
    if not path.exists():
        raise not_found_error(ctx.root, path)
    if not path.is_dir() and not path.is_file():
        raise ToolError(f"{escape_hidden(plan.subject, keep='')} is not a regular file. It is not searched.")
    found = Matches(ctx, plan.subject, params.glob, params.max_results)
    end = await search(ctx, params.pattern, plan.subject, found, ignore_case=params.ignore_case)
    notes = []
    if end.reason == "timeout":
        notes.append(f"[stopped after {ctx.timeout:g} s: not everything was searched. Name a folder or a glob.]")
    return _result(params, found.found, notes, ctx.page_limit, more=found.has_more)


def _result(
    params: _SearchFilesParams, matches: list[Match], notes: list[str], limit: int, *, more: bool
) -> ToolResult:
    rows: list[str] = []
    size = 0
    for match in matches:
        row = f"{escape_hidden(match.path, keep='')}:{match.line}: {match.text}"
        size += len(row) + 1
        if rows and size > limit:
            more = True
            break
        rows.append(row)
    files = len({match.path for match in matches[: len(rows)]})
    count = f"{len(rows)} match{'' if len(rows) == 1 else 'es'} in {files} file{'' if files == 1 else 's'}"
    if not rows:
        count = f"No matches for {params.pattern!r}"
    if more:
        notes = [*notes, "[there are more: name a folder, a glob or a narrower pattern, or raise max_results]"]
    head = f"First {count}:" if more else count + (":" if rows else ".")
    return ToolResult(True, "\n".join([head, *rows, *notes]), Display(title=head.rstrip(":"), body="\n".join(rows)))
