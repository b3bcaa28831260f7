"""Search files for lines that match a regular expression."""

from __future__ import annotations

from typing import NamedTuple

from pydantic import Field

from swecli.file_names import write_name
from swecli.models.message import Display, Offer, ToolResult
from swecli.tools.base import READ, ToolContext, ToolError, tool
from swecli.tools.limits import count_of, fit_rows, one_line
from swecli.tools.matches import FileMatches, Query, Search, Show
from swecli.tools.outside import PathPlan, SearchPlace, plan_reading
from swecli.tools.params import Params
from swecli.tools.paths import not_found_error, relative_path, resolve_for_reading

_MAX_NAMED = 10  # files that were not searched; more are only counted


class SearchFilesParams(Params):
    pattern: str = Field(min_length=1, description="Regular expression, matched line by line.")
    path: str = Field(".", description="Folder or file to search, relative to the workspace.")
    glob: str | None = Field(
        None,
        description="Only files that match, e.g. *.py, *.{ts,tsx} or !test_*; src/**/*.ts is relative to `path`.",
    )
    ignore_case: bool = Field(False, description="Ignore case.")
    show: Show = Field(
        "lines", description="The matching lines, only the names of the files, or counts per file."
    )
    context: int = Field(0, ge=0, le=20, description="Lines to show before and after each match.")
    max_results: int = Field(
        100, ge=1, le=1000, description="Maximum number of matching lines, or files, to show."
    )


def _plan(params: SearchFilesParams, ctx: ToolContext) -> PathPlan:
    path = resolve_for_reading(ctx.root, params.path)
    subject = relative_path(ctx.root, path)
    place = "" if subject == "." else f" in {subject}"
    only = f" ({params.glob})" if params.glob else ""
    summary = f'Search "{one_line(params.pattern)}"{place}{only}'
    return plan_reading(summary, path, ctx, written_path=params.path)


@tool(READ, SearchFilesParams, _plan, Offer(in_small_windows=True))
async def search_files(params: SearchFilesParams, ctx: ToolContext, plan: PathPlan) -> ToolResult:
    path = plan.path
    if "\n" in params.pattern:
        raise ToolError(
            "The pattern contains a line break, but lines are matched one at a time. Search for one of them."
        )
    if not path.exists():
        raise not_found_error(ctx.root, path)
    if not path.is_dir() and not path.is_file():
        name = write_name(plan.subject)
        raise ToolError(f"{name} is not a regular file. It is not searched.")

    query = Query(
        params.pattern,
        params.glob,
        params.ignore_case,
        params.show,
        params.context,
        params.max_results,
    )
    place = SearchPlace.of(ctx, path)
    search = Search(place.ctx, place.start, query)
    end = await search.run()
    for file in search.files:
        file.path = f"{place.prefix}{file.path}"
    rows = _rows(search.files, params.show)
    lines = fit_rows((row.text for row in rows), ctx.model.page_limit)
    has_more = search.has_more or len(lines) < len(rows)

    head = _head(params.pattern, rows[: len(lines)], has_more=has_more)
    notes: list[str] = []
    if end.reason == "timeout":
        notes.append(
            f"[stopped after {ctx.commands.timeout:g} s: not everything was searched. Name a folder or a glob.]"
        )
    if has_more:
        notes.append(
            "[there are more: name a folder, a glob or a narrower pattern, or raise max_results]"
        )
    if search.not_searched:
        names = ", ".join(
            write_name(f"{place.prefix}{path}") for path in search.not_searched[:_MAX_NAMED]
        )
        more = len(search.not_searched) - _MAX_NAMED
        others = f" and {more} more" if more > 0 else ""
        notes.append(
            f"[not searched, because they are not in UTF-8: {names}{others}. Name one to search it.]"
        )
    body = "\n".join(lines)
    text = "\n".join([head, *lines, *notes])
    return ToolResult(True, text, Display(title=head.rstrip(":"), body=body))


class _Row(NamedTuple):
    """One line of the result."""

    text: str
    path: str
    matches: int  # how many matching lines it stands for; 0 if that is not known


def _rows(files: list[FileMatches], show: Show) -> list[_Row]:
    rows: list[_Row] = []
    for file in files:
        name = write_name(file.path)
        if show == "files":
            rows.append(_Row(name, file.path, 0))
        elif show == "counts":
            rows.append(_Row(f"{name}: {file.count}", file.path, file.count))
        else:
            rows += [_Row(text, file.path, int(is_match)) for text, is_match in file.rows()]
    return rows


def _head(pattern: str, rows: list[_Row], *, has_more: bool) -> str:
    """Return the first line of a result: how much is shown of what was found."""
    if not rows:
        return f'No matches for "{one_line(pattern)}".'
    matches = sum(row.matches for row in rows)
    files = count_of(len({row.path for row in rows}), "file")
    count = f"{count_of(matches, 'match', 'es')} in {files}" if matches else f"{files} with matches"
    return f"First {count}:" if has_more else f"{count}:"
