"""The hooks of the user and the project: which of them run, because the user approved them as they are."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import Literal

from swecli.config.paths import project_root
from swecli.config.plugin_places import fill_in
from swecli.config.plugins import Plugin, read_plugins
from swecli.config.project_files import is_inside
from swecli.config.settings import Start
from swecli.config.trust import ApprovedFile, TrustLedger
from swecli.models.json_value import JsonObject
from swecli.regular_files import read_regular
from swecli.tools.commands.named_files import named_files
from swecli.tools.commands.syntax import loose_words, split_statements
from swecli.tools.files import digest
from swecli.tools.hooks.declared import Hook, HookFile, parse_hooks
from swecli.tools.hooks.files import project_files, user_file
from swecli.values import dataclass

Scope = Literal["project", "user", "plug-in"]
_PROJECT = re.compile(r'"?\$(?:CLAUDE_PROJECT_DIR\b|\{CLAUDE_PROJECT_DIR\})"?')
_SHOWN_BYTES = 200_000  # of a script: nobody reads a longer one before he approves it
_MOST_BYTES = 50_000_000  # hashed of one: some 50 ms


class HookState(StrEnum):
    """Whether a hook runs. The value says it to the user."""

    ON = "on"
    NEW = "not approved yet"
    CHANGED = "changed since you approved it"


@dataclass(frozen=True, slots=True)
class Approval:
    """Whether a hook runs as it is now, and whether it does outside the sandbox."""

    state: HookState
    outside: bool = False


@dataclass(frozen=True, slots=True)
class KnownHook:
    """A hook of a file, and what the user approved of it.

    Attributes:
        root: The project's root, the folder of the user's file, or that of the plug-in.
        cwd: The folder that it runs in.
        approved: All that was approved in that folder, by the names of hooks.
        plugin: Which it comes with, and was approved with; None for one of a project or the user.
    """

    hook: Hook
    scope: Scope
    root: Path
    cwd: Path
    approved: Mapping[str, ApprovedFile]
    plugin: Plugin | None = None

    @property
    def approval(self) -> Approval:
        """What the user approved of it as it is now, which is looked for by what it says: hooks may change their
        places. His own need no approval, and those of a plug-in were approved with it."""
        if self.plugin is not None:
            return Approval(HookState.ON, outside=self.plugin.approval.outside)
        if self.scope == "user":
            return Approval(HookState.ON, outside=True)
        scripts = self.scripts
        digests = {file.digest for file in self.approved.values()}
        for outside in (False, True):
            text = self._record(scripts, outside=outside)
            if ApprovedFile.from_bytes(text.encode()).digest in digests:
                return Approval(HookState.ON, outside)
        is_known = self.hook.name in self.approved
        return Approval(HookState.CHANGED if is_known else HookState.NEW)

    @property
    def state(self) -> HookState:
        return self.approval.state

    def record(self, *, outside: bool) -> str:
        """Return what an approval is about, as a text: when the hook runs, the command, whether that runs outside the
        sandbox, and each line of the scripts in the project that it names."""
        return self._record(self.scripts, outside=outside)

    def _record(self, scripts: Mapping[str, list[str]], *, outside: bool) -> str:
        value: JsonObject = {**self.hook.to_json(), "outside": outside, "scripts": scripts}
        return json.dumps(value, indent=1)

    @property
    def scripts(self) -> dict[str, list[str]]:
        """The lines of the files in the project that the command names, as they are now, by their paths: also of those
        that may be no programs, but not of those that it writes its output to."""
        return {str(path): _lines(self.root / path) for path in self._script_paths()}

    @property
    def places(self) -> list[Path]:
        """What it has to see of the project to run: the folders of its scripts, for what these load, but of the root
        only the scripts themselves."""
        files = [self.root / path for path in self._script_paths()]
        return [file if file.parent == self.root else file.parent for file in files]

    def _script_paths(self) -> list[Path]:
        texts = [
            _PROJECT.sub(str(self.root), text) for text in (self.hook.command, *self.hook.args)
        ]
        statements = [statement for text in texts for statement in split_statements(text)]
        words = [word for statement in statements for word in loose_words(statement.read_text)]
        root = self.root.resolve()
        script_paths = {path for folder in (root, self.cwd) for path in named_files(folder, words)}
        return sorted(path.relative_to(root) for path in script_paths)


@dataclass(frozen=True, slots=True)
class KnownHooks:
    """The hooks of a run in the order of their files, and a line for each thing that cannot be used."""

    hooks: tuple[KnownHook, ...] = ()
    problems: tuple[str, ...] = ()


def read_hooks(start: Start) -> KnownHooks:
    """Return the hooks of the user, his plug-ins and the project. Never raises for a file."""
    ledger = TrustLedger.find(start.paths)
    own_file = user_file(start)
    user_hooks = _read(own_file, str(own_file))
    hooks = [
        KnownHook(hook, "user", own_file.parent, own_file.parent, {}) for hook in user_hooks.hooks
    ]
    problems = [*user_hooks.problems]
    for plugin in read_plugins(start.paths).plugins:
        for name, data in plugin.folder.hooks:
            file = parse_hooks(data, f"{plugin.name}: {name}")
            hooks += [_of_plugin(hook, plugin) for hook in file.hooks]
            problems += file.problems
    root = project_root(start.cwd)
    project_hooks: list[Hook] = []
    for path in project_files(start):
        name = path.relative_to(root).as_posix()
        if path.exists() and not is_inside(path, root):
            problems.append(f"{name} is a link that leads out of the project")
            continue
        file = _read(path, name)
        project_hooks += file.hooks
        problems += file.problems
    if project_hooks:
        approved = ledger.trust_in(root).hooks
        cwd = start.cwd.resolve()
        hooks += [
            KnownHook(hook, "project", root, cwd, approved) for hook in _each_once(project_hooks)
        ]
    return KnownHooks(tuple(hooks), tuple(problems))


def _of_plugin(hook: Hook, plugin: Plugin) -> KnownHook:
    """Return a hook of a plug-in. Its shell finds the plug-in's places in variables; without one they are filled in."""
    if hook.args:
        command = fill_in(hook.command, plugin.variables)
        args = tuple(fill_in(text, plugin.variables) for text in hook.args)
        hook = replace(hook, command=command, args=args)
    return KnownHook(hook, "plug-in", plugin.root, plugin.root, {}, plugin)


def _read(file: Path, name: str) -> HookFile:
    try:
        return parse_hooks(read_regular(file), name)
    except FileNotFoundError:
        return HookFile()
    except OSError as error:
        return HookFile(problems=(f"{name} cannot be read: {error.strerror}",))


def _each_once(hooks: list[Hook]) -> Iterator[Hook]:
    """Yield hooks without those that say the same as an earlier one, in another file."""
    seen_texts: set[str] = set()
    for hook in hooks:
        text = json.dumps(hook.to_json())
        if text not in seen_texts:
            seen_texts.add(text)
            yield hook


def _lines(path: Path) -> list[str]:
    """Return the lines of a script; of one that is no text, or large, its digest."""
    data = b""
    with suppress(OSError):  # gone meanwhile: as if it were empty
        data = read_regular(path, _MOST_BYTES)
    text = data.decode("utf-8", "replace")
    is_text = "\0" not in text and text.encode() == data and len(data) <= _SHOWN_BYTES
    return (
        text.splitlines(keepends=True)
        if is_text
        else [f"{len(data):,} bytes, SHA-256 {digest(data)}"]
    )
