"""List the files of a folder, and search files for lines that match a regular expression."""

from __future__ import annotations

import asyncio
import base64
import json
import os
import re
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

from pathspec import GitIgnoreSpec
from pydantic import Field

from swecli.models.message import Display, Effects, Offer, ToolResult
from swecli.text import escape_hidden
from swecli.tools.base import READ, Params, ToolContext, ToolError, ToolPlan, tool
from swecli.tools.files import not_found_error, relative_path, resolve_path
from swecli.tools.guards import before_reading, when_ignored
from swecli.tools.limits import fit_rows
from swecli.tools.processes import ProcessExit, child_environment, run_group
from swecli.tools.searching import PATIENCE, check_ignores_below, files_below, ripgrep

_MAX_ENTRIES = 500
_DEFAULT_DEPTH = 2
_BY_SUFFIX = re.compile(r"\*\.(?:\w+|\{[\w,]+\})")
_MAX_PATTERNS = 200
_BRACES = re.compile(r"\{([^{}]*,[^{}]*)\}")
_MAX_LINE = 300  # characters


class _Glob:
    """A file pattern like `*.py`, `src/**/*.ts` or `*.{js,ts}`, or several with commas; `!` excludes. One without a
    slash matches names at any depth. Raises ToolError for an invalid pattern."""

    def __init__(self, pattern: str) -> None:
        try:
            patterns = _expand(pattern)
            included = [_at_any_depth(p) for p in patterns if not p.startswith("!")]
            self._included = GitIgnoreSpec.from_lines(included or ["*"])
            self._excluded = GitIgnoreSpec.from_lines(
                [_at_any_depth(p[1:]) for p in patterns if p.startswith("!")]
            )
        except ValueError as error:
            raise ToolError(f"The pattern {pattern!r:.160} cannot be used: {error}.") from error

    def matches(self, path: str) -> bool:
        """Return whether this workspace-relative path matches."""
        return self._included.match_file(path) and not self._excluded.match_file(path)


def _expand(pattern: str) -> list[str]:
    """Expand `a.{b,c}` to `a.b` and `a.c`, and split at other commas. Raises ValueError for no or too many patterns."""
    done, pending = [], [pattern]
    while pending:
        one = pending.pop()
        if found := _BRACES.search(one):
            pending += [
                one[: found.start()] + choice + one[found.end() :]
                for choice in found.group(1).split(",")
            ]
        else:
            done += [part.strip() for part in one.split(",") if part.strip()]
        if len(done) + len(pending) > _MAX_PATTERNS:
            raise ValueError("it expands to too many patterns")
    if not done:
        raise ValueError("it is empty")
    return done


def _at_any_depth(pattern: str) -> str:
    pattern = pattern.removeprefix("./").lstrip("/")
    inner = "/" in pattern.rstrip("/")
    return f"**/{pattern}" if inner and not pattern.startswith("**/") else pattern


class _ListFilesParams(Params):
    path: str = Field(".", description="Folder to list, relative to the workspace.")
    pattern: str | None = Field(
        None, description="Glob over file names, e.g. *.py, src/**/*.{ts,tsx} or !*.md."
    )
    depth: int | None = Field(
        None, ge=1, description="Levels to descend. Default: 2, or all levels with a pattern."
    )


def _plan_list_files(params: _ListFilesParams, ctx: ToolContext) -> ToolPlan:
    folder = resolve_path(ctx.root, params.path)
    subject = relative_path(ctx.root, folder)
    only = f" ({params.pattern})" if params.pattern else ""
    return ToolPlan(
        f"List {'.' if subject == '.' else subject + '/'}{only}",
        state=folder,
        subject=subject,
        guard=when_ignored(ctx.root, subject),
        effects=Effects(origin="repository"),
    )


@tool(READ, _ListFilesParams, _plan_list_files)
async def _list_files(params: _ListFilesParams, ctx: ToolContext, plan: ToolPlan) -> ToolResult:
    folder: Path = plan.state
    if not folder.exists():
        raise not_found_error(ctx.root, folder)
    if not folder.is_dir():
        raise ToolError(
            f"{escape_hidden(plan.subject, keep='')} is a file, not a folder. Use read_file to read it."
        )
    glob = None if params.pattern in (None, "", "*") else _Glob(params.pattern or "")
    depth = params.depth or (None if glob else _DEFAULT_DEPTH)
    # in a thread: listing a large tree must not block the screen
    entries = await asyncio.to_thread(_entries, ctx, plan.subject, depth, glob)
    folders = sum(entry.endswith("/") for entry in entries)
    head = _count(len(entries) - folders, "file") + (
        f", {_count(folders, 'folder')}" if folders else ""
    )
    lines = [escape_hidden(entry, keep="") for entry in entries[:_MAX_ENTRIES]]
    if len(entries) > _MAX_ENTRIES:
        lines.append(
            f"[… {len(entries) - _MAX_ENTRIES} more not shown: name a folder, a pattern or a smaller depth]"
        )
    name = escape_hidden(plan.subject, keep="")
    return ToolResult(True, "\n".join([f"{name}: {head}", *lines]), Display(title=name, body=head))


def _entries(ctx: ToolContext, start: str, depth: int | None, glob: _Glob | None) -> list[str]:
    """Return the matching files at most `depth` levels below `start`; without a glob also their folders and links."""
    above = 0 if start == "." else start.count("/") + 1
    deepest = above + (depth or sys.maxsize)
    found, folders = set[str](), {start}
    is_approved = when_ignored(ctx.root, start)
    for path in files_below(ctx.root, start, ctx.environ, ctx.timeout):
        # a line of a .gitignore can include again what an ignore file of ours leaves out
        if not is_approved and when_ignored(ctx.root, path):
            continue
        parts = path.split("/")
        if len(parts) <= deepest and (glob is None or glob.matches(path)):
            found.add(path)
        folders.update(
            "/".join(parts[:count]) for count in range(above + 1, min(len(parts), deepest + 1))
        )
    if glob is None:
        for folder in folders:
            with suppress(OSError), os.scandir(ctx.root / folder) as children:
                if folder == "." or folder.count("/") + 1 < deepest:
                    links = [Path(child.path) for child in children if child.is_symlink()]
                    found.update(
                        f"{link.relative_to(ctx.root).as_posix()} -> {link.readlink()}"
                        for link in links
                    )
        found.update(f"{folder}/" for folder in folders - {start})
    return sorted(found, key=lambda entry: entry.split("/"))


def _count(number: int, what: str, ending: str = "s") -> str:
    return f"{number} {what}{'' if number == 1 else ending}"


class _SearchFilesParams(Params):
    pattern: str = Field(min_length=1, description="Regular expression, matched line by line.")
    path: str = Field(".", description="Folder or file to search, relative to the workspace.")
    glob: str | None = Field(
        None, description="Only files whose name matches, e.g. *.py, *.{ts,tsx} or !test_*."
    )
    ignore_case: bool = Field(False, description="Ignore case.")
    max_results: int = Field(
        100, ge=1, le=1000, description="Maximum number of matching lines to show."
    )


def _plan_search_files(params: _SearchFilesParams, ctx: ToolContext) -> ToolPlan:
    path = resolve_path(ctx.root, params.path)
    subject = relative_path(ctx.root, path)
    where = "" if subject == "." else f" in {subject}"
    only = f" ({params.glob})" if params.glob else ""
    # a folder may have the name of a sensitive file: its files are checked one by one
    why_asked = when_ignored if path.is_dir() else before_reading
    guard = why_asked(ctx.root, subject)
    return ToolPlan(
        f"Search {params.pattern!r}{where}{only}",
        state=path,
        subject=subject,
        guard=guard,
        effects=Effects(origin="repository"),
    )


@tool(READ, _SearchFilesParams, _plan_search_files, Offer(in_small_windows=True))
async def _search_files(params: _SearchFilesParams, ctx: ToolContext, plan: ToolPlan) -> ToolResult:
    path: Path = plan.state
    if "\n" in params.pattern:
        raise ToolError(
            "The pattern contains a line break, but lines are matched one at a time. Search for one of them."
        )
    if not path.exists():
        raise not_found_error(ctx.root, path)
    if not path.is_dir() and not path.is_file():
        raise ToolError(
            f"{escape_hidden(plan.subject, keep='')} is not a regular file. It is not searched."
        )
    searched = _Search(ctx, plan.subject, params.glob, params.max_results)
    end = await searched.run(params.pattern, ignore_case=params.ignore_case)
    rows = fit_rows((row for _, row in searched.found), ctx.page_limit)
    files = len({path for path, _ in searched.found[: len(rows)]})
    count = (
        f"{_count(len(rows), 'match', 'es')} in {_count(files, 'file')}"
        if rows
        else f"No matches for {params.pattern!r}"
    )
    more, notes = searched.has_more or len(rows) < len(searched.found), list[str]()
    if end.reason == "timeout":
        notes.append(
            f"[stopped after {ctx.timeout:g} s: not everything was searched. Name a folder or a glob.]"
        )
    if more:
        notes.append(
            "[there are more: name a folder, a glob or a narrower pattern, or raise max_results]"
        )
    head = f"First {count}:" if more else count + (":" if rows else ".")
    return ToolResult(
        True,
        "\n".join([head, *rows, *notes]),
        Display(title=head.rstrip(":"), body="\n".join(rows)),
    )


class _Search:
    """One search of a workspace-relative file or folder. `found` has at most `limit` pairs of a path and its matching
    line, of files that match `glob` and may be read."""

    def __init__(self, ctx: ToolContext, start: str, glob: str | None, limit: int) -> None:
        self.found: list[tuple[str, str]] = []
        self.has_more = False
        is_file = ctx.root.joinpath(start).is_file()  # a single file is searched in any case
        self._glob = _Glob(glob) if glob and not is_file else None
        simple = self._glob and _BY_SUFFIX.fullmatch(
            glob or ""
        )  # ripgrep skips other files; other globs match here
        self._options = [f"--type-add=wanted:{glob}", "--type=wanted"] if simple else []
        self._options += ["--json", "--sort=path", "--", start if start == "." else f"./{start}"]
        self._start = start
        self._is_file, self._is_approved = is_file, bool(when_ignored(ctx.root, start))
        self._selected: dict[str, bool] = {}
        self._ctx, self._limit = ctx, limit
        self._open: list[tuple[str, str]] = []
        self._rest = b""

    async def run(self, pattern: str, *, ignore_case: bool) -> ProcessExit:
        """Run ripgrep. Raises ToolError if the pattern is invalid or ripgrep is missing."""
        root, env = self._ctx.root, child_environment(self._ctx.environ)
        argv = [
            *ripgrep(root, env),
            "--engine=auto",
            "--crlf",
            *(["--ignore-case"] if ignore_case else []),
        ]
        argv.append(f"--regexp={pattern}")
        searching = asyncio.ensure_future(
            run_group(
                [*argv, *self._options],
                cwd=root,
                env=env,
                timeout=self._ctx.timeout,
                on_output=self.feed,
                errors_too=False,
            )
        )
        try:
            await asyncio.wait([searching], timeout=PATIENCE)
            if (
                not searching.done() and not self._is_file
            ):  # for a file ripgrep reads no ignore file
                await asyncio.to_thread(check_ignores_below, root / self._start)
            end = await searching
        finally:
            if not searching.done():
                searching.cancel()
                await asyncio.wait([searching])
        if end.code == 2 and not self.found:
            errors = bytearray()
            check = [*argv, "--quiet", "--", "/dev/null"]
            await run_group(check, cwd=root, env=env, timeout=10, on_output=errors.extend)
            if errors:
                raise ToolError(
                    f"{pattern!r:.160} is not a valid regular expression: {errors.decode().rstrip().splitlines()[-1]}. "
                    "Put a backslash before letters that are meant literally, like ( ) [ ] . * + ?"
                )
        return end

    def feed(self, data: bytes) -> bool:
        """Parse output. Return True if there are more than `limit` matches."""
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            self._add_event(json.loads(line))
            if len(self.found) + len(self._open) > self._limit:
                self.found = [*self.found, *self._open][: self._limit]
                self.has_more = True
                return True
        return False

    def _may_show(self, path: str) -> bool:
        if self._is_file:
            return True
        is_ignored = not self._is_approved and bool(when_ignored(self._ctx.root, path))
        return self._ctx.may_read(path) and not is_ignored

    def _add_event(self, event: dict[str, Any]) -> None:
        kind, data = event["type"], event["data"]
        if kind == "match":
            path = _text(data["path"]).removeprefix("./")
            if path not in self._selected:
                self._selected[path] = (
                    self._glob is None or self._glob.matches(path)
                ) and self._may_show(path)
            if self._selected[path]:
                row = f"{escape_hidden(path, keep='')}:{data['line_number']}: {_excerpt(data)}"
                self._open.append((path, row))
        elif kind == "end":  # whether a file is binary is reported at its end
            self.found += self._open if data.get("binary_offset") is None else []
            self._open = []


def _excerpt(data: dict[str, Any]) -> str:
    """Return the matching line, or the part around the match of a long one."""
    line = _text(data["lines"]).rstrip("\r\n")
    if len(line) <= _MAX_LINE:
        return line
    at = len(line.encode()[: data["submatches"][0]["start"]].decode("utf-8", "ignore"))
    start = max(0, min(at - _MAX_LINE // 3, len(line) - _MAX_LINE))
    end = start + _MAX_LINE
    return ("…" if start else "") + line[start:end] + ("…" if end < len(line) else "")


def _text(value: dict[str, str]) -> str:
    if "text" in value:
        return value["text"]
    return base64.b64decode(value["bytes"]).decode("utf-8", "replace")
