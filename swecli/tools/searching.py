"""Finding files, and lines in them, with ripgrep: what ignore files leave out is passed over."""

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

_SHOWN_LINE = 300
_OWN_FILES = (".aiignore", ".swecliignore")
_NOISE = Path(__file__).with_name("ignored.txt")
_VERSION_CONTROL = (".git", ".hg", ".svn", ".jj")
_BRACES = re.compile(r"\{([^{}]*,[^{}]*)\}")
_MAX_PATTERNS = 200
_OF_ONE_TYPE = re.compile(r"\*\.(?:\w+|\{[\w,]+\})")


class Glob:
    """Which files are meant: `*.py`, `src/**/*.ts`, `*.{js,ts}`, more of them with commas; with `!` left out. One
    without a slash is compared with the name at any depth. Raises ToolError for a pattern that means nothing."""

    def __init__(self, pattern: str) -> None:
        try:
            expanded = _expanded(pattern)
            self._wanted = GitIgnoreSpec.from_lines([_anywhere(p) for p in expanded if not p.startswith("!")] or ["*"])
            self._unwanted = GitIgnoreSpec.from_lines([_anywhere(p[1:]) for p in expanded if p.startswith("!")])
        except ValueError as error:
            raise ToolError(f"The pattern {pattern!r:.160} cannot be used: {error}.") from error

    def matches(self, path: str) -> bool:
        """Whether the file at this workspace-relative path is meant."""
        return self._wanted.match_file(path) and not self._unwanted.match_file(path)


def _expanded(pattern: str) -> list[str]:
    """`a.{b,c}` as `a.b` and `a.c`; commas outside braces part patterns. Raises ValueError for none or too many."""
    done, todo = [], [pattern]
    while todo:
        one = todo.pop()
        if found := _BRACES.search(one):
            todo += [one[: found.start()] + choice + one[found.end() :] for choice in found.group(1).split(",")]
        else:
            done += [part.strip() for part in one.split(",") if part.strip()]
        if len(done) + len(todo) > _MAX_PATTERNS:
            raise ValueError("it stands for too many patterns")
    if not done:
        raise ValueError("it is empty")
    return done


def _anywhere(pattern: str) -> str:
    pattern = pattern.removeprefix("./").lstrip("/")
    inner = "/" in pattern.rstrip("/")
    return f"**/{pattern}" if inner and not pattern.startswith("**/") else pattern


class Match(NamedTuple):
    """One matching line, numbered from 1."""

    path: str
    line: int
    text: str


class Matches:
    """Matches out of ripgrep's JSON lines, of files that are meant and may be read, up to a number. `types` are options
    that spare it the other files."""

    def __init__(self, ctx: ToolContext, start: str, glob: str | None, most: int) -> None:
        self.found: list[Match] = []
        self.more = False
        named = ctx.root.joinpath(start).is_file()  # a file that is named is searched as it is
        self._glob = Glob(glob) if glob and not named else None
        simple = self._glob and _OF_ONE_TYPE.fullmatch(glob or "")  # what else a glob can say is compared here
        self.types = [f"--type-add=wanted:{glob}", "--type=wanted"] if simple else []
        self._may_read = (lambda path: True) if named else ctx.may_read
        self._kept: dict[str, bool] = {}
        self._most = most
        self._open: list[Match] = []
        self._rest = b""

    def feed(self, data: bytes) -> bool:
        """Take output; True when there are more matches than wanted."""
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            self._take(json.loads(line))
            if len(self.found) + len(self._open) > self._most:
                self.found = [*self.found, *self._open][: self._most]
                self.more = True
                return True
        return False

    def _take(self, event: dict[str, Any]) -> None:
        kind, data = event["type"], event["data"]
        if kind == "match":
            path = _text(data["path"]).removeprefix("./")
            if path not in self._kept:
                self._kept[path] = (self._glob is None or self._glob.matches(path)) and self._may_read(path)
            if self._kept[path]:
                self._open.append(Match(path, data["line_number"], _around(data)))
        elif kind == "end":  # only now it is known whether the file is binary
            self.found += self._open if data.get("binary_offset") is None else []
            self._open = []


async def search(ctx: ToolContext, pattern: str, start: str, found: Matches, *, ignore_case: bool) -> ProcessExit:
    """Search a file or the files below a folder, both workspace-relative, and fill `found`. Raises ToolError: the
    pattern means nothing, or ripgrep is missing."""
    # reads the environment: the search program finds ours where the session brought none
    env = child_environment(ctx.environ)
    argv = [*_ripgrep(ctx.root, env), "--engine=auto", "--crlf", *(["--ignore-case"] if ignore_case else [])]
    argv.append(f"--regexp={pattern}")
    complaint = bytearray()
    tried = [*argv, "--quiet", "--", "/dev/null"]
    await run_group(tried, cwd=ctx.root, env=env, timeout=10, on_output=complaint.extend)
    if complaint:
        why = complaint.decode().rstrip().splitlines()[-1]
        raise ToolError(
            f"{pattern!r:.160} is not a valid regular expression: {why}. "
            "Put a backslash before letters that are meant literally, like ( ) [ ] . * + ?"
        )
    argv += [*found.types, "--json", "--sort=path", "--", _below(start)]
    return await run_group(argv, cwd=ctx.root, env=env, timeout=ctx.timeout, on_output=found.feed, errors_too=False)


def files_below(root: Path, start: str, environ: Mapping[str, str] | None, seconds: float) -> list[str]:
    """Workspace-relative paths of the files below a folder that no ignore file leaves out, a folder's own together.
    Raises ToolError: ripgrep is missing, or takes longer than `seconds`."""
    env = child_environment(environ)
    argv = [*_ripgrep(root, env), "--files", "--null", "--", _below(start)]
    try:
        done = subprocess.run(
            argv, cwd=root, env=env, stdin=subprocess.DEVNULL, capture_output=True, timeout=seconds, check=False
        )
    except subprocess.TimeoutExpired as error:
        raise ToolError(f"Listing the files took longer than {seconds:g} s. Name a smaller folder.") from error
    names = [os.fsdecode(name).removeprefix("./") for name in done.stdout.split(b"\0") if name]
    return sorted(names, key=lambda name: name.split("/"))


def _ripgrep(root: Path, env: Mapping[str, str]) -> list[str]:
    """The program with the options of every search: ignore files count up to the top of the repository, the folders of
    version control never."""
    program = find_ripgrep(env, root)
    if program is None:
        raise ToolError("ripgrep (rg) is not installed. Install it, or run scripts/setup again.")
    argv = [program, "--no-config", "--hidden", "--no-messages", "--no-ignore-global", "--no-ignore-dot"]
    if not (project_root(root) / ".git").exists():
        argv += ["--no-require-git", "--no-ignore-parent"]
    for file in (_NOISE, *(root / name for name in _OWN_FILES)):
        try:
            argv += [f"--ignore-file={file}"] if file.read_text(encoding="utf-8") else []
        except UnicodeDecodeError as error:  # ripgrep would pass over what comes after
            raise ToolError(f"{file.name} is not UTF-8 text, so what it leaves out is unknown. Correct it.") from error
        except OSError:
            continue
    return [*argv, *(f"--glob=!{name}" for name in _VERSION_CONTROL)]


def _below(start: str) -> str:
    return start if start == "." else f"./{start}"


def _around(data: dict[str, Any]) -> str:
    """The matching line; of a long one the stretch around the match."""
    line = _text(data["lines"]).rstrip("\r\n")
    if len(line) <= _SHOWN_LINE:
        return line
    at = len(line.encode()[: data["submatches"][0]["start"]].decode("utf-8", "ignore"))
    start = max(0, min(at - _SHOWN_LINE // 3, len(line) - _SHOWN_LINE))
    end = start + _SHOWN_LINE
    return ("…" if start else "") + line[start:end] + ("…" if end < len(line) else "")


def _text(value: dict[str, str]) -> str:
    if "text" in value:
        return value["text"]
    return base64.b64decode(value["bytes"]).decode("utf-8", "replace")
