"""Complete commands, their arguments, and the files that `@` mentions."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncGenerator, Iterable, Sequence
from pathlib import Path
from typing import Protocol

from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document

from swecli.file_names import fold_name, read_start, write_mention, write_name
from swecli.repl.background import run_in_thread

_MAX_FILES = 20_000
_LIST_TIMEOUT = 10  # seconds
_MAX_MATCHES = 50
# behind an @: a name that has been begun, in quotes or not
_MENTION = re.compile(r"""(?<![^\s([{,;:'"])@("(?:[^"\\\n]|\\[^\n])*(?:"\S*)?|[^\s"]\S*|)$""")
_COMMAND_WORD = re.compile(r"/(\S*)$")
_ARGUMENT = re.compile(r"/(\S+)\s+(\S*)$")
_FURTHER_ARGUMENTS = re.compile(r"/(\S+)\s+(\S+\s.*)$")

CommandEntry = tuple[str, Sequence[str], str]  # name, aliases, help


class CommandSource(Protocol):
    """Lists the slash commands, and the values that may follow one, for the completer."""

    async def commands(self) -> Sequence[CommandEntry]: ...

    # value and description of each argument
    async def values(self, name: str) -> Sequence[tuple[str, str]]: ...

    # the same of all arguments together, of which more than one was typed
    async def further_values(self, name: str, typed: str) -> Sequence[tuple[str, str]]: ...

    # absolute paths of the folders that were added to the workspace
    def folders(self) -> tuple[str, ...]: ...


class LineCompleter(Completer):
    """Completes a line asynchronously, so that slow sources never block a key press; caches the paths below `root` and
    the added folders."""

    def __init__(self, source: CommandSource, root: Path) -> None:
        self._source = source
        self._root = root
        self._paths: asyncio.Future[list[str]] | None = None
        self._listed: tuple[str, ...] = ()  # the added folders among them

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
        if match := _FURTHER_ARGUMENTS.fullmatch(text):
            offered = await self._source.further_values(match[1], match[2])
            if matching := _match_arguments(match[2], offered):
                return matching
        if match := _MENTION.search(text):
            typed = read_start(match[1])
            return [
                self._mention(path, -len(match[1]))
                for path in _match_paths(typed, await self.paths())
            ]
        return []

    def _mention(self, path: str, start: int) -> Completion:
        """Return the completion of a path. In an added folder it is listed by the folder's name and what follows: the
        menu is narrow, and cuts the end of a long path, which tells files from one another."""
        for folder in self._listed:
            if path.startswith(f"{folder}/"):
                above = str(Path(folder).parent)
                shorter = path.removeprefix(above).lstrip("/")
                return Completion(
                    write_mention(path),
                    start,
                    display=write_name(shorter),
                    display_meta=f"in {write_name(above)}",
                )
        return Completion(write_mention(path), start, display=write_name(path))

    async def paths(self) -> Sequence[str]:
        """Return paths relative to the root, and absolute ones of added folders; those of folders end with a slash."""
        folders = self._source.folders()
        if self._paths is None or self._listed != folders:
            self._listed = folders
            self._paths = run_in_thread(lambda: _list_all(self._root, folders), "swecli-files")
        return await asyncio.shield(self._paths)

    def invalidate_paths(self) -> None:
        """List the files again at the next use; a listing that runs is kept."""
        if self._paths is not None and self._paths.done():
            self._paths = None


def _match_commands(word: str, commands: Sequence[CommandEntry]) -> list[Completion]:
    """Match commands: by the prefix of the name, then of an alias, then by a part of the name, then by its letters."""
    pattern = word.lower()

    def rank(command: CommandEntry) -> int:
        name, aliases, _ = command
        if name.startswith(pattern):
            return 0
        if any(alias.startswith(pattern) for alias in aliases):
            return 1
        return 2 if pattern in name else 3

    matches = [
        command
        for command in commands
        if any(_fuzzy_match(pattern, name) for name in (command[0], *command[1]))
    ]
    return [
        Completion(name, -len(word), display=f"/{name}", display_meta=help)
        for name, _, help in sorted(matches, key=rank)
    ]


def _match_arguments(typed: str, offered: Sequence[tuple[str, str]]) -> list[Completion]:
    """Match all arguments of a command together. Only what goes on from the last blank is drawn."""
    done = typed.rpartition(" ")[0]
    return [
        Completion(value, -len(typed), display=value[len(done) :].strip(), display_meta=description)
        for value, description in offered
        if value.lower().startswith(typed.lower())
    ]


def _match_paths(typed: str, paths: Sequence[str]) -> list[str]:
    """Fuzzy-match paths, best first: by prefix, prefix of the file name, part of the file name, part of the path."""
    pattern = fold_name(typed)

    def rank(path: str) -> tuple[bool | int | str, ...]:
        folded = fold_name(path)
        name = folded.rstrip("/").rpartition("/")[2]
        misses = (
            not folded.startswith(pattern),
            not name.startswith(pattern),
            pattern not in name,
            pattern not in folded,
        )
        return *misses, len(path), path

    matches = [path for path in paths if _fuzzy_match(pattern, fold_name(path))]
    return sorted(matches, key=rank)[:_MAX_MATCHES]


def _fuzzy_match(pattern: str, text: str) -> bool:
    """Return True if the text contains the letters of the pattern in their order."""
    letters = iter(text)
    return all(letter in letters for letter in pattern)


def _list_all(root: Path, folders: Sequence[str]) -> list[str]:
    """List the paths of the root, and those of the added folders as absolute ones."""
    paths = _list_paths(root)
    for folder in folders:
        paths += [f"{folder}/{path}" for path in ("", *_list_paths(Path(folder)))]
    return paths


def _list_paths(root: Path) -> list[str]:
    """List files, as the tools do, and their folders; [] if they cannot be listed."""
    # late: loaded after the first prompt
    from swecli.tools.base import ToolError
    from swecli.tools.searching import files_below

    try:
        paths = files_below(root, ".", None, _LIST_TIMEOUT)
    except ToolError:
        return []
    files = paths[:_MAX_FILES]
    folders = {
        f"{parent.as_posix()}/" for path in files for parent in Path(path).parents if parent.name
    }
    return files + sorted(folders)
