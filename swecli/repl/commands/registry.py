"""Discover slash commands: built-in ones, declared actions, those of installed packages, of the user's plug-ins and of
a trusted project."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from swecli.actions.project_commands import (
    ProjectCommand,
    find_plugin_commands,
    find_project_commands,
)
from swecli.config.paths import Paths
from swecli.config.trust import FolderTrust
from swecli.discovery import find_declared, index_by_name
from swecli.repl.commands import builtin
from swecli.repl.commands.actions import derived_commands
from swecli.repl.commands.base import Command, CommandContext
from swecli.similar_names import similar_names

if TYPE_CHECKING:
    pass

_ENTRY_POINTS = "swecli.commands"


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
        if paths is not None:
            table._add_plugins(paths)
        if trust is not None:
            table.add_project(trust)
        return table

    def add_project(self, trust: FolderTrust) -> None:
        """Add the trusted commands of a project whose names are not used yet."""
        unused = [each for each in find_project_commands(trust) if self.find(each.name) is None]
        added = [_make_command(each) for each in unused]
        self._replace([*self.commands, *added])

    def _add_plugins(self, paths: Paths) -> None:
        """Add the commands of plug-ins, each as `PLUGIN:NAME` if its name is used already."""
        for plugin, declared in find_plugin_commands(paths):
            if self.find(declared.name) is not None:
                declared = replace(declared, name=f"{plugin}:{declared.name}")
            self._replace([*self.commands, _make_command(declared)])

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


def _make_command(declared: ProjectCommand) -> Command:
    """Return the slash command that sends a template of a project or a plug-in."""

    async def run(ctx: CommandContext, args: str) -> None:
        ctx.program.steer(declared.expand(args))

    return Command(declared.name, (), declared.hint, help=declared.help, run=run)
