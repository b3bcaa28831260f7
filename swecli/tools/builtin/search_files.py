"""Lines that match a regular expression, across the workspace."""

from __future__ import annotations

from pathlib import Path

from pydantic import Field

from swecli.models.message import Display, ToolResult
from swecli.tools.base import READ, Params, ToolContext, ToolError, ToolPlan, tool
from swecli.tools.limits import visible
from swecli.tools.paths import locate, missing, read_guard, relative
from swecli.tools.searching import Match, Matches, search


class _SearchFilesParams(Params):
    pattern: str = Field(min_length=1, description="Regular expression, compared with one line at a time.")
    path: str = Field(".", description="Folder or file to search, relative to the workspace.")
    glob: str | None = Field(None, description="Only files whose name fits, e.g. *.py, *.{ts,tsx} or !test_*.")
    ignore_case: bool = Field(False, description="Take upper and lower case as the same.")
    max_results: int = Field(100, ge=1, le=1000, description="Matching lines to show, at most.")


def _plan(params: _SearchFilesParams, ctx: ToolContext) -> ToolPlan:
    path = locate(ctx.root, params.path)
    subject = relative(ctx.root, path)
    where = "" if subject == "." else f" in {subject}"
    only = f" ({params.glob})" if params.glob else ""
    # a folder may be named like a file of secrets (.ssh): its files are asked for one by one, by name
    guard = "" if path.is_dir() else read_guard(subject)
    return ToolPlan(f"Search {params.pattern!r}{where}{only}", state=path, subject=subject, guard=guard)


@tool(READ, _SearchFilesParams, _plan)
async def search_files(params: _SearchFilesParams, ctx: ToolContext, plan: ToolPlan) -> ToolResult:
    path: Path = plan.state
    if "\n" in params.pattern:
        raise ToolError(
            "The pattern holds a line end, but lines are compared one at a time. Search for one line of it."
        )
    if not path.exists():
        raise missing(ctx.root, path)
    if not path.is_dir() and not path.is_file():
        raise ToolError(f"{visible(plan.subject, keep='')} is no regular file. It is not searched.")
    found = Matches(ctx, plan.subject, params.glob, params.max_results)
    ended = await search(ctx, params.pattern, plan.subject, found, ignore_case=params.ignore_case)
    notes = []
    if ended.how == "timeout":
        notes.append(f"[stopped after {ctx.timeout:g} s: not everything was searched. Name a folder or a glob.]")
    return _result(params, sorted(found.found), notes, ctx.page_limit, more=found.more)


def _result(
    params: _SearchFilesParams, matches: list[Match], notes: list[str], limit: int, *, more: bool
) -> ToolResult:
    rows: list[str] = []
    size = 0
    for match in matches:
        row = f"{visible(match.path, keep='')}:{match.line}: {match.text}"
        size += len(row) + 1
        if rows and size > limit:
            more = True
            break
        rows.append(row)
    files = len({match.parts for match in matches[: len(rows)]})
    count = f"{len(rows)} match{'' if len(rows) == 1 else 'es'} in {files} file{'' if files == 1 else 's'}"
    if not rows:
        count = f"No matches for {params.pattern!r}"
    if more:
        notes = [*notes, "[there are more: name a folder, a glob or a narrower pattern, or raise max_results]"]
    head = f"First {count}:" if more else count + (":" if rows else ".")
    return ToolResult(True, "\n".join([head, *rows, *notes]), Display(title=head.rstrip(":"), body="\n".join(rows)))
