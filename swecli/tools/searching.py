"""Searching files with ripgrep where it is there, else with the own engine; one kind of result from both."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from swecli.tools import grep
from swecli.tools.base import ToolError
from swecli.tools.globs import Glob
from swecli.tools.ignore import NOISE, IgnoreRules
from swecli.tools.limits import one_line
from swecli.tools.processes import Ended, child_environment, find_program, run_group

_SHOWN_LINE = 300


@dataclass(frozen=True, slots=True)
class Search:
    """What is looked for. `start` is workspace-relative; `is_file`: it is one file, searched as it is."""

    pattern: str
    start: str = "."
    is_file: bool = False
    glob: str | None = None
    ignore_case: bool = False


@dataclass(frozen=True, slots=True, order=True)
class Match:
    """One matching line, numbered from 1."""

    parts: tuple[str, ...]
    line: int
    text: str

    @property
    def path(self) -> str:
        """Workspace-relative."""
        return "/".join(self.parts)


class Collector:
    """Reads matches out of the engines' JSON lines, leaving out files that are not to be seen, up to a number."""

    def __init__(self, keep: Callable[[str], bool], most: int) -> None:
        self.matches: list[Match] = []
        self.skipped: list[str] = []
        self.error = ""
        self.more = False
        self._keep = keep
        self._kept: dict[str, bool] = {}
        self._most = most
        self._open: list[Match] | None = None
        self._rest = b""

    def feed(self, data: bytes) -> bool:
        """Take output; True when there are more matches than wanted."""
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            self._take(json.loads(line))
            if len(self.matches) + len(self._open or ()) > self._most:
                self._close(binary=False)
                del self.matches[self._most :]
                self.more = True
                return True
        return False

    def _take(self, event: dict[str, Any]) -> None:
        kind, data = event["type"], event["data"]
        if kind == "begin":
            self._open = []
        elif kind == "end":
            self._close(binary=data.get("binary_offset") is not None)
        elif kind == "error":
            self.error = str(data["text"])
        elif kind == "skipped":
            self.skipped.append(_text(data["path"]))
        elif kind == "match":
            path = _text(data["path"]).removeprefix("./")
            if path not in self._kept:
                self._kept[path] = self._keep(path)
            if self._kept[path]:
                found = Match(tuple(path.split("/")), data["line_number"], _around(data))
                (self.matches if self._open is None else self._open).append(found)

    def _close(self, *, binary: bool) -> None:
        if self._open and not binary:
            self.matches += self._open
        self._open = None


async def search(root: Path, wish: Search, found: Collector, environ: dict[str, str], timeout: float) -> Ended:
    """Run the search and fill `found`. `environ` is where ripgrep is looked for.

    Raises:
        ToolError: the pattern or the glob means nothing.
    """
    program = find_program("rg", environ, root)
    env = child_environment(environ)
    if program is not None and await _understands(program, wish.pattern, root, env):
        return await run_group(
            _ripgrep(program, root, wish), cwd=root, env=env, timeout=timeout, on_output=found.feed, errors_too=False
        )
    # also where ripgrep does not know what the pattern says (a look-around): the own engine may
    argv = grep.command(wish.pattern, wish.start, wish.glob, wish.ignore_case)
    ended = await run_group(argv, cwd=root, env=env, timeout=timeout, on_output=found.feed, errors_too=False)
    if ended.code == grep.BAD_PATTERN and ended.how == "exit":
        raise ToolError(
            f"{one_line(wish.pattern)!r} is not a valid regular expression: {found.error}. "
            "Put a backslash before letters that are meant literally, like ( ) [ ] . * + ?"
        )
    return ended


def file_filter(root: Path, wish: Search, may_read: Callable[[str], bool]) -> Callable[[str], bool]:
    """Which files' matches are shown: not ignored, meant by the glob, and readable. Raises ToolError for a bad glob."""
    if wish.is_file:
        return lambda path: True
    rules = IgnoreRules(root)
    everything = rules.hidden(wish.start, True)
    try:
        glob = Glob(wish.glob) if wish.glob else None
    except ValueError as error:
        raise ToolError(f"The glob {one_line(wish.glob or '')!r} cannot be used: {error}.") from error

    def keep(path: str) -> bool:
        if glob is not None and not glob.matches(path):
            return False
        return (everything or not rules.hidden(path, False)) and may_read(path)

    return keep


async def _understands(program: str, pattern: str, root: Path, env: dict[str, str]) -> bool:
    argv = [program, "--no-config", "--quiet", f"--regexp={pattern}", "--", "/dev/null"]
    ended = await run_group(argv, cwd=root, env=env, timeout=10, on_output=lambda data: None)
    return ended.code in (0, 1)


def _ripgrep(program: str, root: Path, wish: Search) -> list[str]:
    rules = IgnoreRules(root)
    argv = [program, "--json", "--no-config", "--hidden", "--no-messages", "--crlf", "--sort=path"]
    argv += ["--no-require-git", "--no-ignore-global", "--no-ignore-parent", "--no-ignore-exclude", "--no-ignore-dot"]
    if wish.ignore_case:
        argv.append("--ignore-case")
    if wish.is_file:
        return [*argv, f"--regexp={wish.pattern}", "--", wish.start]
    if rules.hidden(wish.start, True):
        argv.append("--no-ignore")
        noise = []
    else:
        noise = [name for name in NOISE if rules.ignored(name.rstrip("/"), name.endswith("/"))]
    glob = Glob(wish.glob) if wish.glob else None
    for wanted in glob.wanted if glob else ():
        argv += [f"--glob={wanted}", f"--glob={wanted.rstrip('/')}/**"]
    for unwanted in [*(glob.unwanted if glob else ()), *noise, ".git", ".hg", ".svn", ".jj"]:
        argv.append(f"--glob=!{unwanted}")
    return [*argv, f"--regexp={wish.pattern}", "--", "." if wish.start == "." else f"./{wish.start}"]


def _around(data: dict[str, Any]) -> str:
    """The matching line; of a long one the stretch around the match."""
    line = _text(data["lines"]).rstrip("\r\n")
    if len(line) <= _SHOWN_LINE:
        return line
    spans = data.get("submatches") or [{"start": 0}]
    at = len(line.encode()[: spans[0]["start"]].decode("utf-8", "ignore"))
    start = max(0, min(at - _SHOWN_LINE // 3, len(line) - _SHOWN_LINE))
    end = start + _SHOWN_LINE
    return ("…" if start else "") + line[start:end] + ("…" if end < len(line) else "")


def _text(value: dict[str, str]) -> str:
    if "text" in value:
        return value["text"]
    return base64.b64decode(value["bytes"]).decode("utf-8", "replace")
