"""Discover slash commands: built-in ones, declared actions, those of installed packages, of the user's plug-ins and of
a trusted project.

A project defines commands as Markdown templates in `.agents/commands` or `.claude/commands`, a plug-in in `commands`.
They are sent as queries. `$ARGUMENTS` is replaced by the arguments, `$1` to `$9` by its words; without these the
arguments are appended. The front matter has `description` and `argument-hint`.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from swecli.config.front_matter import front_matter
from swecli.config.paths import Paths
from swecli.config.plugin_places import fill_in, may_have_plugins
from swecli.config.project_files import find_command_files, is_inside
from swecli.config.trust import FolderTrust
from swecli.discovery import find_declared, index_by_name
from swecli.models.errors import BadInput
from swecli.regular_files import read_regular
from swecli.repl.commands import builtin
from swecli.repl.commands.actions import derived_commands
from swecli.repl.commands.base import Command, CommandContext
from swecli.similar_names import similar_names
from swecli.text import decode_text

if TYPE_CHECKING:
    from swecli.config.plugins import Plugin

_ENTRY_POINTS = "swecli.commands"
_MAX_LENGTH = 32_768  # characters
_PLACEHOLDER = re.compile(r"\$(ARGUMENTS|[1-9])(?!\w)")


class CommandTable:
    """Commands by name and alias. Raises NameClash if two commands use the same word."""

    def __init__(self, commands: Sequence[Command]) -> None:
        self._replace(commands)

    def _replace(self, commands: Sequence[Command]) -> None:
        self.commands = sorted(commands, key=lambda command: command.name)
        self._by_word = index_by_name(
            [
                (word, command)
                for command in self.commands
                for word in (command.name, *command.aliases)
            ]
        )

    @classmethod
    def discover(cls, trust: FolderTrust | None = None, paths: Paths | None = None) -> CommandTable:
        """Find the built-in commands, those of installed packages, of the plug-ins of these directories, and the
        trusted ones of a project with unused names."""
        declared = find_declared(builtin, Command, _ENTRY_POINTS)
        # a package may add commands, not replace one: that is a NameClash
        own_forms = find_declared(builtin, Command)
        table = cls([*declared, *derived_commands(own_forms)])
        if paths is not None and may_have_plugins(paths):
            table._add_plugins(paths)
        if trust is not None:
            table.add_project(trust)
        return table

    def add_project(self, trust: FolderTrust) -> None:
        """Add the trusted commands of a project whose names are not used yet."""
        added = [command for command in _project_commands(trust) if self.find(command.name) is None]
        self._replace([*self.commands, *added])

    def _add_plugins(self, paths: Paths) -> None:
        """Add the commands of plug-ins, each as `PLUGIN:NAME` if its name is used already."""
        # late: few have plug-ins
        from swecli.config.plugins import read_plugins

        for plugin in read_plugins(paths).plugins:
            for path in plugin.folder.commands:
                name = path.stem.lower()
                if self.find(name) is not None:
                    name = f"{plugin.name}:{name}"
                command = _plugin_command(name, path, plugin)
                if command is not None:
                    self._replace([*self.commands, command])

    def find(self, name: str) -> Command | None:
        """Return the command with this name or alias (case-insensitive), or None."""
        return self._by_word.get(name.lower())

    def suggest(self, name: str, count: int = 3) -> list[str]:
        """Return up to `count` names similar to a mistyped one, best first."""
        word = name.lower()
        words = similar_names(word, self._by_word, count * 2)
        if len(word) > 1:
            words = [candidate for candidate in self._by_word if candidate.startswith(word)] + words
        return list(dict.fromkeys(self._by_word[candidate].name for candidate in words))[:count]


def _plugin_command(name: str, path: Path, plugin: Plugin) -> Command | None:
    """Return the command of a plug-in's file; None if it cannot be read."""
    try:
        text = decode_text(read_regular(path))
    except OSError:
        return None
    return _make_command(name, path, fill_in(text, plugin.variables))


def _project_commands(trust: FolderTrust) -> list[Command]:
    """Return the trusted commands of a project's folders, the first of each name. Links that lead out are skipped."""
    commands: dict[str, Command] = {}
    for path in find_command_files(trust.root):
        name = path.stem.lower()
        if name in commands or not re.fullmatch(r"[\w-]+", name) or not is_inside(path, trust.root):
            continue
        try:
            data = read_regular(path)
        except OSError:
            continue
        if not trust.objection(path, data):
            commands[name] = _make_command(name, path, decode_text(data))
    return list(commands.values())


def _make_command(name: str, path: Path, text: str) -> Command:
    """Return a command that sends the body of this text, which is that of `path`."""
    fields, body = front_matter(text)

    async def run(ctx: CommandContext, args: str) -> None:
        ctx.program.steer(_expand_template(path, body.strip(), args))

    help = fields.get("description") or f"Send {'/'.join(path.parts[-3:])}"
    return Command(name, (), fields.get("argument-hint", ""), help=help, run=run)


def _expand_template(path: Path, body: str, args: str) -> str:
    """Return a template's text with the arguments. Raises BadInput if it is empty or too long."""
    if not body:
        raise BadInput(f"{path} has no text to send.")
    if len(body) > _MAX_LENGTH:
        raise BadInput(f"{path} is longer than {_MAX_LENGTH:,} characters.")
    try:
        words = shlex.split(args)
    except ValueError:
        words = args.split()
    values = {str(number): word for number, word in enumerate(words[:9], 1)}
    values["ARGUMENTS"] = args
    expanded = _PLACEHOLDER.sub(lambda match: values.get(match[1], ""), body)
    if args and expanded == body:
        return f"{body}\n\n{args}"
    return expanded
