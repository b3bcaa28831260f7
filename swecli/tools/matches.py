"""The matches of one search: ripgrep is run, and its events are read as they come."""

from __future__ import annotations

import asyncio
import base64
import json
import os
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import field
from typing import Any, Literal

from swecli.file_names import write_name
from swecli.regular_files import open_regular
from swecli.text_files import decode
from swecli.tools.base import ToolContext, ToolError
from swecli.tools.environment import child_environment
from swecli.tools.file_changes import decode_file
from swecli.tools.globs import Glob
from swecli.tools.processes import ProcessExit, run_group
from swecli.tools.searching import PATIENCE, check_ignores_below, ripgrep
from swecli.values import dataclass

Show = Literal["lines", "files", "counts"]

_BY_SUFFIX = re.compile(r"\*\.(?:\w+|\{[\w,]+\})")
_MAX_LINE = 300  # characters
_MAX_BYTES = 1_000_000  # by which the encoding of a file is told
# Files that may be in another encoding: their encodings are told one by one, each in some milliseconds.
_MAX_OTHERS = 200
_START = 8192  # bytes in which a binary file has a NUL, as git judges
_HAS_NUL = r"(?-u)\x00"
# What no text in UTF-8 has: a byte that begins no character, or one whose other bytes are missing, or these without it.
_NOT_UTF8 = (
    r"(?-u)[\xC0\xC1\xF5-\xFF]|[\xC2-\xDF](?:[^\x80-\xBF]|$)|[\xE0-\xF4](?:[^\x80-\xBF]|$)"
    r"|[\xE0-\xF4][\x80-\xBF](?:[^\x80-\xBF]|$)|(?:^|[\x00-\x7F])[\x80-\xBF]"
)
# ripgrep's names, which are those of web pages, of the encodings that have another one in Python
_LABELS = {
    "iso8859-1": "latin1",
    "cp932": "shift_jis",
    "shift_jis": "shift_jis",
    "euc_jp": "euc-jp",
    "gb18030": "gb18030",
    "gbk": "gbk",
    "gb2312": "gb2312",
    "big5": "big5",
    "cp949": "euc-kr",
    "euc_kr": "euc-kr",
    "koi8-r": "koi8-r",
    "cp874": "windows-874",
    "utf-16-le": "utf-16le",
    "utf-16-be": "utf-16be",
    **{f"cp{number}": f"windows-{number}" for number in range(1250, 1259)},
}


@dataclass(frozen=True, slots=True)
class FoundLine:
    """A line that is shown."""

    number: int  # from 1
    text: str
    is_match: bool  # else it is beside one


@dataclass(slots=True)
class FileMatches:
    """The matches in one file."""

    path: str  # relative to the workspace
    count: int = 0  # lines that match
    lines: list[FoundLine] = field(default_factory=list)  # empty unless lines are wanted

    def rows(self) -> Iterator[tuple[str, bool]]:
        """Yield each line as `path:12: text`, `path-11- text` if it is beside a match, and whether it matches. Parts of
        the file that are not adjacent are separated by `--`."""
        name = write_name(self.path)
        has_context = any(not line.is_match for line in self.lines)
        previous: FoundLine | None = None
        for line in self.lines:
            if has_context and previous is not None and line.number > previous.number + 1:
                yield "--", False
            sign = ":" if line.is_match else "-"
            yield f"{name}{sign}{line.number}{sign} {line.text}", line.is_match
            previous = line


@dataclass(frozen=True, slots=True)
class Query:
    """What is searched for, and how much of it is wanted."""

    pattern: str
    glob: str | None = None
    ignore_case: bool = False
    show: Show = "lines"
    context: int = 0  # lines shown before and after each match
    limit: int = 100  # matching lines, or files if no lines are wanted


class Search:
    """One search of a workspace-relative file or folder `start`, in the files that may be read."""

    def __init__(self, ctx: ToolContext, start: str, query: Query) -> None:
        """Raises ToolError for an invalid glob."""
        self.files: list[FileMatches] = []
        self.has_more = False
        self._ctx = ctx
        self._start = start
        self._query = query
        self._is_file = ctx.root.joinpath(start).is_file()
        self._guard = ctx.guard.entering(start)
        # a file that is named itself is searched in any case
        self._glob = Glob(query.glob) if query.glob and not self._is_file else None
        self._selected: dict[str, bool] = {}
        self._open: FileMatches | None = None  # whether a file is binary is reported at its end
        self._rest = b""
        self._encodings: dict[str, str] = {}  # of files in which a line is not UTF-8
        self.not_searched: list[str] = []  # files in an encoding that cannot be searched

    async def run(self) -> ProcessExit:
        """Run ripgrep. Raises ToolError if the pattern is invalid or ripgrep is missing."""
        root = self._ctx.root
        env = child_environment(self._ctx.commands.environ)
        argv = [*ripgrep(root, env), "--engine=auto", "--crlf", f"--regexp={self._query.pattern}"]
        if self._query.ignore_case:
            argv.append("--ignore-case")
        searching = asyncio.ensure_future(
            run_group(
                [*argv, *self._options()],
                cwd=root,
                env=env,
                timeout=self._ctx.commands.timeout,
                on_output=self.feed,
                errors_too=False,
            )
        )
        try:
            await asyncio.wait([searching], timeout=PATIENCE)
            # for a file ripgrep reads no ignore file
            if not searching.done() and not self._is_file:
                await asyncio.to_thread(check_ignores_below, root / self._start)
            end = await searching
        finally:
            if not searching.done():
                searching.cancel()
                await asyncio.wait([searching])
        if end.code == 2 and not self.files:
            await self._check_pattern(argv, env)
        if end.reason == "exit" and not self._is_file and not self.has_more:
            await self._search_other_encodings(argv, env)
        return end

    async def _search_other_encodings(self, argv: list[str], env: dict[str, str]) -> None:
        """Search what ripgrep has taken for binary, or compared with the bytes of UTF-8."""
        by_label: dict[str, list[str]] = {}
        for path in await self._find_other_encodings(env):
            encoding = self._encoding_of(path)
            if encoding == "utf-8":
                continue
            if label := _label(encoding):
                by_label.setdefault(label, []).append(path)
            else:
                self.not_searched.append(path)
        if not by_label:
            return
        others = {path for paths in by_label.values() for path in paths}
        self.files = [file for file in self.files if file.path not in others]
        for label, paths in by_label.items():
            places = [f"./{path}" for path in paths]
            await run_group(
                [*argv, *self._output_options(), f"--encoding={label}", "--", *places],
                cwd=self._ctx.root,
                env=env,
                timeout=self._ctx.commands.timeout,
                on_output=self.feed,
                errors_too=False,
            )
            if self.has_more:
                break
        self.files.sort(key=lambda file: file.path.split("/"))

    async def _find_other_encodings(self, env: dict[str, str]) -> list[str]:
        """Return the files that may be text in another encoding, as far as that matters for the pattern: one in ASCII
        is found in most encodings. What is too much is in `not_searched`."""
        pattern = _HAS_NUL if self._query.pattern.isascii() else f"{_HAS_NUL}|{_NOT_UTF8}"
        argv = [*ripgrep(self._ctx.root, env), "--files-with-matches", "--null", "--text"]
        output = bytearray()
        await run_group(
            [*argv, f"--regexp={pattern}", *self._type_options(), "--", self._place],
            cwd=self._ctx.root,
            env=env,
            timeout=self._ctx.commands.timeout,
            on_output=output.extend,
            errors_too=False,
        )
        names = [
            os.fsdecode(name).removeprefix("./") for name in bytes(output).split(b"\0") if name
        ]
        selected = [name for name in sorted(names) if self._is_selected(name)]
        # in a thread: there may be thousands of pictures
        texts = await asyncio.to_thread(lambda: [name for name in selected if self._is_text(name)])
        self.not_searched += texts[_MAX_OTHERS:]
        return texts[:_MAX_OTHERS]

    def _is_text(self, path: str) -> bool:
        """Return whether a file does not begin like a binary one."""
        with suppress(OSError), open_regular(self._ctx.root / path) as opened:
            start = opened.read(_START)
            return b"\0" not in start or decode(start) is not None
        return False

    @property
    def _place(self) -> str:
        return self._start if self._start == "." else f"./{self._start}"

    def _type_options(self) -> list[str]:
        glob = self._query.glob or ""
        if self._glob and _BY_SUFFIX.fullmatch(glob):
            # ripgrep skips other files; other globs are compared here
            return [f"--type-add=wanted:{glob}", "--type=wanted"]
        return []

    def _output_options(self) -> list[str]:
        options = ["--json", "--sort=path"]
        if self._query.context and self._query.show == "lines":
            options.append(f"--context={self._query.context}")
        return options

    def _options(self) -> list[str]:
        options = [*self._output_options(), *self._type_options()]
        if self._is_file and (label := _label(self._encoding_of(self._start))):
            options.append(f"--encoding={label}")
        return [*options, "--", self._place]

    async def _check_pattern(self, argv: list[str], env: dict[str, str]) -> None:
        """Raise ToolError if the pattern is why ripgrep failed."""
        errors = bytearray()
        check = [*argv, "--quiet", "--", "/dev/null"]
        await run_group(check, cwd=self._ctx.root, env=env, timeout=10, on_output=errors.extend)
        if errors:
            reason = errors.decode().rstrip().splitlines()[-1]
            raise ToolError(
                f"{self._query.pattern!r:.160} is not a valid regular expression: {reason}. "
                "Signs that are meant literally, such as ( [ { . * + ?, need a backslash before them."
            )

    def feed(self, data: bytes) -> bool:
        """Read output. Return True if there is more than was wanted."""
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            self._read_event(json.loads(line))
            if self._is_over_limit():
                self._drop_last()
                self.has_more = True
                return True
        return False

    def _read_event(self, event: dict[str, Any]) -> None:
        kind = event["type"]
        data = event["data"]
        if kind in ("match", "context"):
            path = _path(data["path"]).removeprefix("./")
            if self._is_selected(path):
                self._add_line(path, data, is_match=kind == "match")
        elif kind == "end":
            if data.get("binary_offset") is None:
                self._close_file()
            self._open = None

    def _is_selected(self, path: str) -> bool:
        if path not in self._selected:
            fits = self._glob is None or self._glob.matches(path, self._start)
            self._selected[path] = fits and self._may_show(path)
        return self._selected[path]

    def _may_show(self, path: str) -> bool:
        return self._is_file or self._guard.may_read(path)

    def _add_line(self, path: str, data: dict[str, Any], *, is_match: bool) -> None:
        if self._open is None:
            self._open = FileMatches(path)
        self._open.count += is_match
        if self._query.show == "lines":
            encoding = "utf-8" if "text" in data["lines"] else self._encoding_of(path)
            line = FoundLine(data["line_number"], _excerpt(data, encoding), is_match)
            self._open.lines.append(line)

    def _encoding_of(self, path: str) -> str:
        """Return the encoding of a file, as `read_file` shows it."""
        if path not in self._encodings:
            place = self._ctx.root / path
            file = None
            with suppress(OSError), open_regular(place) as opened:
                file = decode_file(self._ctx, place, opened.read(_MAX_BYTES))
            self._encodings[path] = file.encoding if file else "utf-8"
        return self._encodings[path]

    def _close_file(self) -> None:
        if self._open is not None:
            self.files.append(self._open)

    def _is_over_limit(self) -> bool:
        files = list(self.files)
        if self._open is not None:
            files.append(self._open)
        if self._query.show == "lines":
            return sum(file.count for file in files) > self._query.limit
        return len(files) > self._query.limit

    def _drop_last(self) -> None:
        """Drop the match that was too much, with the lines before it that are not beside an earlier one."""
        if self._open is not None and self._query.show == "lines":
            self._open.lines.pop()
            self._open.count -= 1
            while self._open.lines and not self._is_near_match(self._open.lines):
                self._open.lines.pop()
            if self._open.count:
                self._close_file()
        self._open = None

    def _is_near_match(self, lines: list[FoundLine]) -> bool:
        matches = [line.number for line in lines if line.is_match]
        return bool(matches) and lines[-1].number <= matches[-1] + self._query.context


def _label(encoding: str) -> str:
    """Return ripgrep's name of an encoding, "" for UTF-8 and for what it does not know."""
    return _LABELS.get(encoding, "")


def _excerpt(data: dict[str, Any], encoding: str) -> str:
    """Return the line, or the part around the match of a long one."""
    line = _text(data["lines"], encoding).rstrip("\r\n")
    if len(line) <= _MAX_LINE:
        return line
    submatches = data["submatches"]
    first_byte = submatches[0]["start"] if submatches else 0
    position = len(line.encode(encoding, "replace")[:first_byte].decode(encoding, "ignore"))
    start = max(0, min(position - _MAX_LINE // 3, len(line) - _MAX_LINE))
    end = start + _MAX_LINE
    before = "…" if start else ""
    behind = "…" if end < len(line) else ""
    return before + line[start:end] + behind


def _text(value: dict[str, str], encoding: str) -> str:
    if "text" in value:
        return value["text"]
    return base64.b64decode(value["bytes"]).decode(encoding, "replace")


def _path(value: dict[str, str]) -> str:
    if "text" in value:
        return value["text"]
    return os.fsdecode(base64.b64decode(value["bytes"]))
