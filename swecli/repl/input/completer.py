"""What the prompt offers while typing: commands, their arguments, and files behind an `@`."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncGenerator, Iterable, Sequence
from pathlib import Path
from typing import Protocol

from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document

from swecli.repl.background import run_in_thread

_MAX_FILES = 20_000
_SECONDS = 10  # to list them
LIMIT = 50
_MENTION = re.compile(r"(?:^|(?<=\s))@(\S*)$")
_COMMAND_WORD = re.compile(r"/(\S*)$")
_ARGUMENT = re.compile(r"/(\S+)\s+(\S*)$")

_Command = tuple[str, Sequence[str], str]  # name, aliases, a line of help


class _CommandSource(Protocol):
    async def commands(self) -> Sequence[_Command]: ...

    async def values(self, name: str) -> Sequence[tuple[str, str]]: ...


class LineCompleter(Completer):
    """Completes a line. All its sources are awaited, so a slow one never holds up a key. `source` knows all commands,
    and the (value, what it is) pairs that may follow a name or alias."""

    def __init__(self, source: _CommandSource, files: FileIndex) -> None:
        self._source, self._files = source, files

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterable[Completion]:
        """Nothing: everything comes through the asynchronous door."""
        return ()

    async def get_completions_async(
        self, document: Document, complete_event: CompleteEvent
    ) -> AsyncGenerator[Completion, None]:
        """The completions of the word before the cursor, best first."""
        for completion in await self._completions(document.text_before_cursor):
            yield completion

    async def _completions(self, before: str) -> list[Completion]:
        if match := _COMMAND_WORD.fullmatch(before):
            return _commands_for(match[1], await self._source.commands())
        if match := _ARGUMENT.fullmatch(before):
            return [
                Completion(value, -len(match[2]), display_meta=what)
                for value, what in await self._source.values(match[1])
                if value.lower().startswith(match[2].lower())
            ]
        if match := _MENTION.search(before):
            typed = match[1]
            return [Completion(path, -len(typed)) for path in match_paths(typed, await self._files.paths())]
        return []


def _commands_for(word: str, commands: Sequence[_Command]) -> list[Completion]:
    """Commands by their name: those that begin with the word, then those with such an alias, then with its letters."""
    start = word.lower()

    def rank(one: _Command) -> int:
        begun = [name.startswith(start) for name in (one[0], *one[1])]
        return 0 if begun[0] else 1 if any(begun) else 2 if start in one[0] else 3

    found = sorted((one for one in commands if any(_holds(start, name) for name in (one[0], *one[1]))), key=rank)
    return [Completion(name, -len(word), display=f"/{name}", display_meta=help) for name, _, help in found]


def match_paths(typed: str, paths: Sequence[str]) -> list[str]:
    """Paths that hold the letters in their order, best first: its beginning, the file name's, a part of it, a part."""
    wanted = typed.lower()

    def rank(path: str) -> tuple[bool | int | str, ...]:
        low = path.lower()
        name = low.rstrip("/").rpartition("/")[2]
        parts = not low.startswith(wanted), not name.startswith(wanted), wanted not in name, wanted not in low
        return *parts, len(path), path

    return sorted((path for path in paths if _holds(wanted, path.lower())), key=rank)[:LIMIT]


def _holds(wanted: str, path: str) -> bool:
    letters = iter(path)
    return all(letter in letters for letter in wanted)


class FileIndex:
    """The files below `root`. `invalidate` makes the next question look again."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._found: asyncio.Future[list[str]] | None = None

    def invalidate(self) -> None:
        """Look again at the next question: files may have come and gone."""
        if self._found is not None and self._found.done():
            self._found = None

    async def paths(self) -> Sequence[str]:
        """Paths relative to the root, folders with a slash at their end."""
        if self._found is None:
            self._found = run_in_thread(lambda: list_paths(self._root), "swecli-files")
        return await asyncio.shield(self._found)


def list_paths(root: Path) -> list[str]:
    """The files that the tools would list, and their folders; none where they cannot be listed."""
    # late: behind the prompt
    from swecli.tools.base import ToolError  # noqa: PLC0415
    from swecli.tools.searching import files_below  # noqa: PLC0415

    try:
        found = files_below(root, ".", None, _SECONDS)
    except ToolError:
        return []
    files = [path for path in found if path.isprintable()][:_MAX_FILES]
    folders = {f"{parent.as_posix()}/" for path in files for parent in Path(path).parents if parent.name}
    return files + sorted(folders)
