"""Find files, and lines in files, with ripgrep. Ignored files are skipped."""

from __future__ import annotations

import base64
import json
import os
import re
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from pathspec import GitIgnoreSpec

from swecli.config.paths import project_root
from swecli.tools.base import ToolContext, ToolError
from swecli.tools.processes import ProcessExit, child_environment, find_ripgrep, run_group

_MAX_LINE = 300  # characters
_IGNORE_FILES = (".aiignore", ".swecliignore")
_DEFAULT_IGNORES = Path(__file__).with_name("ignored.txt")
_VERSION_CONTROL = (".git", ".hg", ".svn", ".jj")
_BRACES = re.compile(r"\{([^{}]*,[^{}]*)\}")
_MAX_PATTERNS = 200
_BY_SUFFIX = re.compile(r"\*\.(?:\w+|\{[\w,]+\})")


class Glob:
    """A file pattern like `*.py`, `src/**/*.ts` or `*.{js,ts}`, or several with commas; `!` excludes. One without a
    slash matches names at any depth. Raises ToolError for an invalid pattern."""

    def __init__(self, pattern: str) -> None:
        try:
            patterns = _expand(pattern)
            included = [_at_any_depth(p) for p in patterns if not p.startswith("!")]
            self._included = GitIgnoreSpec.from_lines(included or ["*"])
            self._excluded = GitIgnoreSpec.from_lines([_at_any_depth(p[1:]) for p in patterns if p.startswith("!")])
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
            pending += [one[: found.start()] + choice + one[found.end() :] for choice in found.group(1).split(",")]
        else:
            done += [part.strip() for part in one.split(",") if part.strip()]
        if len(done) + len(pending) > _MAX_PATTERNS:
            raise ValueError("it stands for too many patterns")
    if not done:
        raise ValueError("it is empty")
    return done


def _at_any_depth(pattern: str) -> str:
    pattern = pattern.removeprefix("./").lstrip("/")
    inner = "/" in pattern.rstrip("/")
    return f"**/{pattern}" if inner and not pattern.startswith("**/") else pattern


class Match(NamedTuple):
    """A matching line, numbered from 1."""

    path: str
    line: int
    text: str


class Matches:
    """Collects at most `limit` matches from ripgrep's JSON lines, of files that match `glob` and may be read. `types`
    are options that make ripgrep skip other files."""

    def __init__(self, ctx: ToolContext, start: str, glob: str | None, limit: int) -> None:
        self.found: list[Match] = []
        self.has_more = False
        is_file = ctx.root.joinpath(start).is_file()  # a single file is searched in any case
        self._glob = Glob(glob) if glob and not is_file else None
        simple = self._glob and _BY_SUFFIX.fullmatch(glob or "")  # other globs are matched here
        self.types = [f"--type-add=wanted:{glob}", "--type=wanted"] if simple else []
        self._may_read = (lambda path: True) if is_file else ctx.may_read
        self._selected: dict[str, bool] = {}
        self._limit = limit
        self._open: list[Match] = []
        self._rest = b""

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

    def _add_event(self, event: dict[str, Any]) -> None:
        kind, data = event["type"], event["data"]
        if kind == "match":
            path = _text(data["path"]).removeprefix("./")
            if path not in self._selected:
                self._selected[path] = (self._glob is None or self._glob.matches(path)) and self._may_read(path)
            if self._selected[path]:
                self._open.append(Match(path, data["line_number"], _excerpt(data)))
        elif kind == "end":  # whether a file is binary is reported at its end
            self.found += self._open if data.get("binary_offset") is None else []
            self._open = []


async def search(ctx: ToolContext, pattern: str, start: str, found: Matches, *, ignore_case: bool) -> ProcessExit:
    """Search a workspace-relative file or folder and add the matches to `found`. Raises ToolError if the pattern is
    invalid or ripgrep is missing."""
    # reads the environment: the default for ripgrep if the session has none
    env = child_environment(ctx.environ)
    argv = [*_ripgrep(ctx.root, env), "--engine=auto", "--crlf", *(["--ignore-case"] if ignore_case else [])]
    argv.append(f"--regexp={pattern}")
    full = [*argv, *found.types, "--json", "--sort=path", "--", _below(start)]
    end = await run_group(full, cwd=ctx.root, env=env, timeout=ctx.timeout, on_output=found.feed, errors_too=False)
    if end.code == 2 and not found.found:
        errors = bytearray()
        check = [*argv, "--quiet", "--", "/dev/null"]
        await run_group(check, cwd=ctx.root, env=env, timeout=10, on_output=errors.extend)
        if errors:
            raise ToolError(
                f"{pattern!r:.160} is not a valid regular expression: {errors.decode().rstrip().splitlines()[-1]}. "
                "Put a backslash before letters that are meant literally, like ( ) [ ] . * + ?"
            )
    return end


def files_below(root: Path, start: str, environ: Mapping[str, str] | None, seconds: float) -> list[str]:
    """Return the workspace-relative paths of all files below a folder that are not ignored, sorted folder by folder.
    Raises ToolError if ripgrep is missing, is killed or takes longer than `seconds`."""
    env = child_environment(environ)
    argv = [*_ripgrep(root, env), "--files", "--null", "--", _below(start)]
    try:
        done = subprocess.run(
            argv, cwd=root, env=env, stdin=subprocess.DEVNULL, capture_output=True, timeout=seconds, check=False
        )
    except subprocess.TimeoutExpired as error:
        raise ToolError(f"Listing the files took longer than {seconds:g} s. Name a smaller folder.") from error
    if done.returncode not in (0, 1, 2):  # 1: no files, 2: some could not be read
        raise ToolError(f"ripgrep ended early (exit code {done.returncode}), so the list of files is incomplete.")
    names = [os.fsdecode(name).removeprefix("./") for name in done.stdout.split(b"\0") if name]
    return sorted(names, key=lambda name: name.split("/"))


def _ripgrep(root: Path, env: Mapping[str, str]) -> list[str]:
    """Return ripgrep with the options of every search: ignore files up to the top of the repository apply, folders of
    version control are excluded."""
    program = find_ripgrep(env, root)
    if program is None:
        raise ToolError("ripgrep (rg) is not installed. Install it, or run scripts/setup again.")
    argv = [program, "--no-config", "--hidden", "--no-messages", "--no-ignore-global", "--no-ignore-dot"]
    if not (project_root(root) / ".git").exists():
        argv += ["--no-require-git", "--no-ignore-parent"]
    for file in (_DEFAULT_IGNORES, *(root / name for name in _IGNORE_FILES)):
        try:
            argv += [f"--ignore-file={file}"] if file.read_text(encoding="utf-8") else []
        except UnicodeDecodeError as error:  # ripgrep would skip the rest of the file
            raise ToolError(f"{file.name} is not UTF-8 text, so what it leaves out is unknown. Correct it.") from error
        except OSError:
            continue
    return [*argv, *(f"--glob=!{name}" for name in _VERSION_CONTROL)]


def _below(start: str) -> str:
    return start if start == "." else f"./{start}"


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
