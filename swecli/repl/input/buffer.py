"""The input line's text, history (kept across sessions) and long pastes; completion of commands, arguments, files."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import AsyncGenerator, Iterable, Sequence
from pathlib import Path
from typing import Any, Protocol

from prompt_toolkit.buffer import Buffer
from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document
from prompt_toolkit.history import FileHistory
from wcwidth import grapheme_boundary_before, iter_graphemes

from swecli.repl.background import run_in_thread

_MAX_FILES = 20_000
_LIST_TIMEOUT = 10  # seconds
_MAX_MATCHES = 50
_MENTION = re.compile(r"(?:^|(?<=\s))@(\S*)$")
_COMMAND_WORD = re.compile(r"/(\S*)$")
_ARGUMENT = re.compile(r"/(\S+)\s+(\S*)$")

CommandEntry = tuple[str, Sequence[str], str]  # name, aliases, help


class CommandSource(Protocol):
    """Lists the slash commands, and the values that may follow one, for the completer."""

    async def commands(self) -> Sequence[CommandEntry]: ...

    # value and description of each argument
    async def values(self, name: str) -> Sequence[tuple[str, str]]: ...


class LineCompleter(Completer):
    """Completes a line asynchronously, so that slow sources never block a key press; caches the paths below `root`."""

    def __init__(self, source: CommandSource, root: Path) -> None:
        self._source, self._root = source, root
        self._paths: asyncio.Future[list[str]] | None = None

    def get_completions(
        self, document: Document, complete_event: CompleteEvent
    ) -> Iterable[Completion]:
        return ()

    async def get_completions_async(
        self, document: Document, complete_event: CompleteEvent
    ) -> AsyncGenerator[Completion, None]:
        """Yield the completions of the word before the cursor, best first."""
        for completion in await self._complete(document.text_before_cursor):
            yield completion

    async def _complete(self, text: str) -> list[Completion]:
        if match := _COMMAND_WORD.fullmatch(text):
            return _match_commands(match[1], await self._source.commands())
        if match := _ARGUMENT.fullmatch(text):
            return [
                Completion(value, -len(match[2]), display_meta=description)
                for value, description in await self._source.values(match[1])
                if value.lower().startswith(match[2].lower())
            ]
        if match := _MENTION.search(text):
            return [
                Completion(path, -len(match[1]))
                for path in _match_paths(match[1], await self.paths())
            ]
        return []

    async def paths(self) -> Sequence[str]:
        """Return paths relative to the root; those of folders end with a slash."""
        if self._paths is None:
            self._paths = run_in_thread(lambda: _list_paths(self._root), "swecli-files")
        return await asyncio.shield(self._paths)

    def invalidate_paths(self) -> None:
        """List the files again at the next use; a listing that runs is kept."""
        if self._paths is not None and self._paths.done():
            self._paths = None


def _match_commands(word: str, commands: Sequence[CommandEntry]) -> list[Completion]:
    """Match commands: by the prefix of the name, then of an alias, then by a part of the name, then by its letters."""
    pattern = word.lower()

    def rank(command: CommandEntry) -> int:
        prefixed = [name.startswith(pattern) for name in (command[0], *command[1])]
        return 0 if prefixed[0] else 1 if any(prefixed) else 2 if pattern in command[0] else 3

    matches = [
        command
        for command in commands
        if any(_fuzzy_match(pattern, n) for n in (command[0], *command[1]))
    ]
    return [
        Completion(name, -len(word), display=f"/{name}", display_meta=help)
        for name, _, help in sorted(matches, key=rank)
    ]


def _match_paths(typed: str, paths: Sequence[str]) -> list[str]:
    """Fuzzy-match paths, best first: by prefix, prefix of the file name, part of the file name, part of the path."""
    pattern = typed.lower()

    def rank(path: str) -> tuple[bool | int | str, ...]:
        lower = path.lower()
        name = lower.rstrip("/").rpartition("/")[2]
        misses = (
            not lower.startswith(pattern),
            not name.startswith(pattern),
            pattern not in name,
            pattern not in lower,
        )
        return *misses, len(path), path

    return sorted((path for path in paths if _fuzzy_match(pattern, path.lower())), key=rank)[
        :_MAX_MATCHES
    ]


def _fuzzy_match(pattern: str, text: str) -> bool:
    """Return True if the text contains the letters of the pattern in their order."""
    letters = iter(text)
    return all(letter in letters for letter in pattern)


def _list_paths(root: Path) -> list[str]:
    """List files, as the tools do, and their folders; [] if they cannot be listed."""
    # late: loaded after the first prompt
    from swecli.tools.base import ToolError
    from swecli.tools.searching import files_below

    try:
        found = files_below(root, ".", None, _LIST_TIMEOUT)
    except ToolError:
        return []
    files = [path for path in found if path.isprintable()][:_MAX_FILES]
    folders = {
        f"{parent.as_posix()}/" for path in files for parent in Path(path).parents if parent.name
    }
    return files + sorted(folders)


_MAX_CHARS = 1000
_MAX_LINES = 15
_PLACEHOLDER = re.compile(r"\[(?:Pasted text #|image )[^\]\n]*\]")
# C0 without tab and newline, DEL, C1: they would move the cursor or color the screen.
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


class _Pastes:
    """The long texts and pictures pasted in this run, by their placeholders."""

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}

    def add_text(self, pasted: str) -> str:
        """Return the text to insert into the line: the pasted text without controls, or a placeholder if it is long."""
        text = _CONTROL.sub("", pasted.replace("\r\n", "\n").replace("\r", "\n"))
        if len(text) <= _MAX_CHARS and text.count("\n") < _MAX_LINES:
            return text
        lines = text.count("\n") + 1
        size = f"{lines:,} lines" if lines > 1 else f"{len(text):,} characters"
        placeholder = f"[Pasted text #{len(self._texts) + 1} · {size}]"
        self._texts[placeholder] = text
        return placeholder

    def add_picture(self, path: Path) -> str:
        """Return the placeholder of a picture, with its size in pixels. Raises BadInput if it cannot be sent."""
        # late: the first prompt has no pictures
        from swecli.context.pictures import read_picture

        placeholder, mention = str(read_picture(path, str(path))["label"]), f'@"{path}"'
        if self._texts.get(placeholder, mention) != mention:
            placeholder = f"{placeholder[:-1]} #{len(self._texts) + 1}]"
        self._texts[placeholder] = mention
        return placeholder

    def expand(self, line: str) -> str:
        """Replace every known placeholder by its text, not recursively."""
        return _PLACEHOLDER.sub(lambda match: self._texts.get(match[0], match[0]), line)

    def collapse(self, line: str) -> str:
        """Replace every paste by its placeholder. A sent line was stripped, so the last one may lack its end."""
        for placeholder, text in self._texts.items():
            line = line.replace(text, placeholder).replace(text.strip(), placeholder)
        return line

    def widen(self, line: str, start: int, end: int) -> tuple[int, int]:
        """Return the range that contains, whole, every placeholder that the given one overlaps."""
        for match in _PLACEHOLDER.finditer(line):
            if match[0] in self._texts and match.start() < end and start < match.end():
                start = min(start, match.start())
                end = max(end, match.end())
        return start, end

    def has_remains(self, line: str) -> bool:
        """Return True if the line has one half of a placeholder: what was pasted would not be sent."""
        rest = _PLACEHOLDER.sub(lambda match: "" if match[0] in self._texts else match[0], line)
        halves = ((text[: len(text) // 2], text[len(text) // 2 :]) for text in self._texts)
        return any(head in rest or tail in rest for head, tail in halves)


class LineHistory(FileHistory):
    """A history file that several programs may append to. I/O errors are not raised: see `pop_error`."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self._path, self.pastes = path, _Pastes()
        self._error: str | None = None  # "" after it was reported

    def append_string(self, string: str) -> None:
        """Append a line, unless it repeats the last one. The file gets it with its pastes expanded."""
        if string.strip() and self._loaded_strings[:1] != [string]:
            super().append_string(string)

    def pop_error(self) -> str:
        """Return the first I/O error, once; "" if there is none."""
        if not self._error:
            return ""
        error, self._error = self._error, ""
        return error

    def load_history_strings(self) -> Iterable[str]:
        try:
            return super().load_history_strings()
        except OSError as error:
            self._record_error("read", error)
            return []

    def store_string(self, string: str) -> None:
        try:
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._path.touch(mode=0o600)
            super().store_string(self.pastes.expand(string))
        except OSError as error:
            self._record_error("written", error)

    def _record_error(self, action: str, error: OSError) -> None:
        if self._error is None:
            self._error = f"the line history cannot be {action}: {error.strerror} ({self._path})"


_RESTORED_HINT = "   (restored · / replaces it)"
_OFFERED_HINT = "   (not answered · typing replaces it, ← edits it)"
_UNREAD_SECONDS = (
    0.7  # a draft that has just been restored was not read yet, so Enter does not send it
)


def _widen_to_characters(text: str, start: int, end: int) -> tuple[int, int]:
    """Return the range that contains, whole, every character as a reader counts them that the given one overlaps: an
    emoji family, a flag or a letter with its accents is one."""
    if text.isascii():
        return start, end
    first = grapheme_boundary_before(text, start + 1) if start < len(text) else start
    if end == 0:
        return first, end
    last = grapheme_boundary_before(text, end)
    whole = next(iter_graphemes(text, last))
    return first, max(end, last + len(whole))


class LineBuffer(Buffer):
    """The text of the input line, in which an emoji family and the placeholder of a paste are each one piece.

    A draft may be restored into it: the user has not typed it, and does not have to send it. One that is only offered
    gives way to any text, as the user may go on typing without a look.
    """

    _restored = ""
    _is_offered = False
    _restored_at = 0.0

    def __init__(self, history: LineHistory, **options: Any) -> None:
        super().__init__(history=history, **options)
        self._pastes = history.pastes

    @property
    def has_cut_paste(self) -> bool:
        """Return True if a placeholder was cut, as by a command of vi."""
        return self._pastes.has_remains(self.text)

    @property
    def is_restored(self) -> bool:
        """Return True if the text is a restored draft that was not touched."""
        is_at_end = self.cursor_position == len(self.text)
        return bool(self._restored) and self.text == self._restored and is_at_end

    @property
    def is_unread(self) -> bool:
        """Return True if the text was restored so recently that no key can be meant for it."""
        return self.is_restored and time.monotonic() - self._restored_at < _UNREAD_SECONDS

    @property
    def restored_hint(self) -> str:
        """Return what to show behind a restored draft that was not touched; else ""."""
        if not self.is_restored:
            return ""
        return _OFFERED_HINT if self._is_offered else _RESTORED_HINT

    def restore(self, text: str, offered: bool = False) -> None:
        """Put a line back, in place of one restored before. What the user is typing stays; then ↑ has the line."""
        text = self._pastes.collapse(text)
        if self.text and not self.is_restored:
            self.history.append_string(text)
            return
        self._restored = text
        self._is_offered = offered
        self._restored_at = time.monotonic()
        self.document = Document(text)

    def insert_text(
        self,
        data: str,
        overwrite: bool = False,
        move_cursor: bool = True,
        fire_event: bool = True,
    ) -> None:
        """Insert text; a command replaces a restored draft, and any text one that is only offered. ↑ has it then."""
        if self.is_restored and (self._is_offered or data.startswith("/")):
            self.reset(append_to_history=True)
        at = self.cursor_position
        start, end = self._pastes.widen(self.text, at, at)
        if start < at < end:  # inside a placeholder, which stays whole
            self.cursor_position = end
        super().insert_text(data, overwrite, move_cursor, fire_event)

    @property
    def cursor_position(self) -> int:
        """The characters before the cursor, which is never inside what a reader sees as one."""
        return super().cursor_position

    @cursor_position.setter
    def cursor_position(self, value: int) -> None:
        before = super().cursor_position
        at = min(max(0, value), len(self.text))
        start, end = _widen_to_characters(self.text, at, at)
        is_forward = at > before
        # mypy takes a property of a class for a function: Python has no other way to set an inherited one
        Buffer.cursor_position.fset(self, end if is_forward else start)  # type: ignore[attr-defined]

    def delete(self, count: int = 1) -> str:
        """Delete after the cursor, placeholders whole, and return what was deleted."""
        at = self.cursor_position
        return self._cut(at, min(at + count, len(self.text)))

    def delete_before_cursor(self, count: int = 1) -> str:
        """Delete before the cursor, placeholders whole, and return what was deleted."""
        at = self.cursor_position
        return self._cut(max(0, at - count), at)

    def _cut(self, start: int, end: int) -> str:
        text = self.text
        if start == end:
            return ""
        start, end = _widen_to_characters(text, start, end)
        start, end = self._pastes.widen(text, start, end)
        self.document = Document(text[:start] + text[end:], start)
        return text[start:end]
