"""Which paths of a command ask, or are denied: those that it names, writes its output to, or could print from git's
objects."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import field
from itertools import islice
from pathlib import Path

from swecli.file_names import write_name
from swecli.folders import walk
from swecli.models.errors import ToolError
from swecli.tools.commands.named_files import named_paths
from swecli.tools.commands.reading import may_show_contents
from swecli.tools.commands.rules import why_uncovered
from swecli.tools.commands.syntax import (
    MAX_LENGTH,
    argument_words,
    has_unknown_words,
    loose_words,
    read_command,
    split_statements,
)
from swecli.tools.guard import Access, Guard, Reading, Writing
from swecli.tools.paths import relative_path, resolve_for_reading
from swecli.values import dataclass

_SHOWS_HISTORY = (
    "may print what rules or an ignore file hide, from the repository's history: "
    "leave that out by -- . ':(exclude)PATH'"
)
_MAX_WORDS = 2_000  # that are compared with rules; nobody writes more by hand
_MAX_ENTRIES = 20_000  # of a folder that a command names
_GIT = re.compile(r"""\bgit((?:\s+-[cC]\s*\S+|\s+-\S+)*)\s+["']?([a-z][\w-]*)""")
_GIT_SETTINGS = ".git/config"


@dataclass(slots=True)
class TouchedPaths:
    """What a command would touch: why no answer allows it, why every mode asks, each "" if nothing does, and the paths
    that the user is asked about."""

    denial: str = ""
    guard: str = ""
    asked_paths: list[str] = field(default_factory=list)

    def add(self, path: str, reason: str, *, is_denied: bool = False) -> None:
        """Add a real path, or "" where it is not known which one."""
        if is_denied:
            self.denial = self.denial or reason
            return
        self.guard = self.guard or reason
        if path:
            self.asked_paths.append(path)


def find_touched_paths(
    command: str,
    guard: Guard,
    environ: Mapping[str, str],
    *,
    is_confined: bool,
    may_write: bool,
) -> TouchedPaths:
    """Return which paths of the command are not free.

    `is_confined`: it will run in the sandbox, which hides files and keeps them as they are, whatever the command says.
    `may_write`: it will run where something can be written. Outside the workspace only secrets are looked at, and what
    rules name."""
    touched_paths = TouchedPaths()
    if not why_uncovered(command, guard, environ):
        return touched_paths
    guard = guard.without_border()
    _add_words(touched_paths, command, guard, is_confined=is_confined)
    if len(command) > MAX_LENGTH:
        return touched_paths
    if may_write:
        _add_outputs(touched_paths, command, guard, is_confined=is_confined)
    for statement in split_statements(command):
        if not why_uncovered(statement.read_text, guard, environ):
            continue
        _add_history(touched_paths, statement.text, guard)
        if may_write:
            _add_changes(touched_paths, statement.read_text, guard, is_confined=is_confined)
    return touched_paths


def _add_words(
    touched_paths: TouchedPaths, command: str, guard: Guard, *, is_confined: bool
) -> None:
    """Add what words name, if it may not be read."""
    for path, access in _judged_paths(guard, loose_words(command)):
        is_denied = access.read is Reading.HIDDEN
        # the sandbox hides it, and a word may be part of a message
        if access.read is not Reading.FREE and not (is_denied and is_confined):
            touched_paths.add(path, access.read_reason, is_denied=is_denied)


def _judged_paths(guard: Guard, words: Iterable[str]) -> Iterator[tuple[str, Access]]:
    """Yield what words name, with the guard's answer, in any folder that they name. What is not there is yielded if a
    rule bars it, or it is protected."""
    root = guard.root
    first_words = list(islice(dict.fromkeys(filter(None, words)), _MAX_WORDS))
    for path in named_paths(root, first_words):
        name = relative_path(root, path)
        yield name, guard.judge(name)
    for word in first_words:
        place = Path(word).expanduser() if word.startswith("~") else Path(word)
        with suppress(ToolError, RuntimeError):
            access = guard.access(str(place))
            is_there = os.path.lexists(root / place)
            if guard.rules or is_there or access.read is Reading.FREE:
                yield relative_path(root, resolve_for_reading(root, str(place))), access


def _add_outputs(
    touched_paths: TouchedPaths, command: str, guard: Guard, *, is_confined: bool
) -> None:
    """Add the files that output goes to, in any folder that the command enters or, where no sandbox holds it, names, if
    they may not be changed."""
    targets = read_command(command).outputs
    folders = [".", *_entered(command)]
    if targets and not is_confined:
        command_paths = named_paths(guard.root, loose_words(command))
        folders += (relative_path(guard.root, path) for path in command_paths)
    for target in targets:
        if re.search(r"[$`]", target) and not is_confined:
            touched_paths.add("", "writes to a file that only the shell knows")
        for folder in folders:
            with suppress(ToolError):
                place = resolve_for_reading(guard.root, os.path.join(folder, target))  # noqa: PTH118
                _add_output(
                    touched_paths, relative_path(guard.root, place), guard, is_confined=is_confined
                )


def _add_output(touched_paths: TouchedPaths, path: str, guard: Guard, *, is_confined: bool) -> None:
    access = guard.judge(path)
    if access.write is Writing.FREE:
        return
    is_denied = access.write is Writing.NEVER
    by_rule = guard.only_rules().judge(path).write is not Writing.FREE
    if by_rule or not (is_confined and _is_held(path, guard)):
        touched_paths.add(path, access.write_reason, is_denied=is_denied)


def _is_held(path: str, guard: Guard) -> bool:
    """Return whether the sandbox keeps a protected path as it is: it is there, or a protected folder above it."""
    names = (path, *map(str, Path(path).parents[:-1]))
    return any(
        os.path.lexists(guard.root / name) and guard.judge(name).write is not Writing.FREE
        for name in names
    )


def _entered(command: str) -> Iterator[str]:
    """Yield the folders that the command enters by cd, which it may have made before."""
    folder = ""
    for name in re.findall(r"""\b(?:cd|pushd)\s+(?:--\s+)?["']?([^\s;&|"']+)""", command):
        folder = os.path.join(folder, name)  # noqa: PTH118  need not exist
        yield folder


def _add_history(touched_paths: TouchedPaths, statement: str, guard: Guard) -> None:
    """Add a command of git that is not known to leave out what rules and ignore files name: no mount hides that in
    git's objects."""
    words = [*loose_words(statement)]
    if not guard.hides_paths or all(word.rpartition("/")[2] != "git" for word in words):
        return
    # of a git that is called in another way, or with other options, it is not known what it does
    subs = [sub for _, sub in _GIT.findall(statement)] or [""]
    showing = [sub for sub in subs if may_show_contents(sub)]
    if not showing:
        return
    for path, access in _judged_paths(guard, words):
        if access.read is Reading.HIDDEN:
            touched_paths.add(path, access.read_reason, is_denied=True)
    touched_paths.add("", " ".join(filter(None, ("git", showing[0], _SHOWS_HISTORY))))


def _add_changes(
    touched_paths: TouchedPaths, statement: str, guard: Guard, *, is_confined: bool
) -> None:
    """Add what the words of a command name, if it may not be changed, or if it is a folder with something in it that
    rules bar. The sandbox keeps both as they are, and so only what a rule asks about has to be asked."""
    words = [*argument_words(statement)]
    if is_confined:
        guard = guard.only_rules()
    elif any(sub == "config" for _, sub in _GIT.findall(statement)):
        words.append(_GIT_SETTINGS)
    for path, access in _judged_paths(guard, words):
        if access.write is Writing.ASK or (access.write is Writing.NEVER and not is_confined):
            touched_paths.add(path, access.write_reason)
    if is_confined or not guard.rules:
        return
    if has_unknown_words(statement):
        touched_paths.add("", "touches files that are not known in advance")
    for word in dict.fromkeys(words):
        with suppress(OSError, ValueError):
            folder = (guard.root / word).resolve()
            if word and folder.is_dir() and folder.is_relative_to(guard.root.resolve()):
                _add_folder(touched_paths, folder, guard)


def _add_folder(touched_paths: TouchedPaths, folder: Path, guard: Guard) -> None:
    """Add a folder in which a rule bars something."""
    count = 0
    barred = guard.only_rules()
    for below, entries in walk(str(folder)):
        count += len(entries)
        if count > _MAX_ENTRIES:
            touched_paths.add("", "names a folder with too many files to look at each")
            return
        for entry in entries:
            name = relative_path(guard.root, Path(below) / entry.name)
            access = barred.judge(name)
            reason = access.read_reason or access.write_reason
            if reason:
                place = write_name(relative_path(guard.root, folder))
                is_denied = access.read is Reading.HIDDEN
                touched_paths.add(
                    name, f"the command names {place}, where {reason}", is_denied=is_denied
                )
                return
