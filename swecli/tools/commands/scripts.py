"""Tell whether the files that a command runs, or hands to what it runs, are still as they were when it was shown for
approval."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path

from swecli.regular_files import read_regular
from swecli.tools.base import ToolError
from swecli.tools.commands.named_files import named_files
from swecli.tools.commands.rules import why_uncovered
from swecli.tools.commands.syntax import MAX_COMMANDS, loose_words, split_statements
from swecli.tools.files import digest
from swecli.tools.guard import Guard
from swecli.tools.limits import one_line
from swecli.tools.paths import display_path

_MAX_BYTES = 50_000_000  # hashed for one command: some 50 ms


def digest_scripts(guard: Guard, command: str, environ: Mapping[str, str]) -> dict[str, str]:
    """Return a digest of each file that a command may run, by its path in the workspace.

    These are the files that its words name, at any nesting and in any folder that they name, and those that a program
    looks for by itself, such as a Makefile. A part that only reads runs none, and may read a log that grows. A script
    that such a file runs in turn is not among them."""
    digests: dict[str, str] = {}
    room = _MAX_BYTES
    root = guard.root
    for path in _find_scripts(guard, command, environ):
        with suppress(OSError):  # removed, or not readable for the command either
            size = path.stat().st_size
            digests[display_path(root, path)] = _describe_content(path, room)
            room = max(0, room - size)
    return digests


def check_unchanged(before: Mapping[str, str], now: Mapping[str, str]) -> None:
    """Raise ToolError, which names the files, if one came, went or changed between two results of `digest_scripts`."""
    names = dict.fromkeys([*before, *now])
    changed_names = [name for name in names if before.get(name) != now.get(name)]
    if changed_names:
        raise ToolError(
            "A file that would be run, or given to what runs, changed after the command was approved: "
            f"{one_line(', '.join(changed_names))}. Nothing ran."
        )


def _find_scripts(guard: Guard, command: str, environ: Mapping[str, str]) -> list[Path]:
    root = guard.root
    if not _named_in(root, [command]):
        return []
    statements = list(dict.fromkeys(split_statements(command)))
    checked = statements[:MAX_COMMANDS]
    running = [statement for statement in checked if why_uncovered(statement.text, guard, environ)]
    running += statements[MAX_COMMANDS:]
    return _named_in(root, [statement.read_text for statement in running])


def _named_in(root: Path, texts: Iterable[str]) -> list[Path]:
    """Return the files that these parts of a command name, and those that their programs look for."""
    words = [word for text in texts for word in loose_words(text)]
    programs = dict.fromkeys(word.rpartition("/")[2] for word in words)
    recipes = [name for program in programs for name in _recipes().get(program, ())]
    return list(named_files(root, [*recipes, *words]))


def _describe_content(path: Path, room: int) -> str:
    """Return the digest of a file, or if it is larger than `room` bytes, what changes with each write. Raises
    OSError."""
    status = path.stat()
    if status.st_size <= room:
        return digest(read_regular(path, room))
    return f"{status.st_ino} {status.st_size} {status.st_mtime_ns} {status.st_ctime_ns}"


@cache
def _recipes() -> Mapping[str, list[str]]:
    """Return the files that a program looks for in its folder, and whose commands it runs, by its name."""
    table = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
    return {program: names.split() for program, names in table.items()}
