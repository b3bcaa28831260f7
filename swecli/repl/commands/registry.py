"""Where slash commands are found, and which names are near a mistyped one."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from pathlib import Path

from swecli.discovery import by_name, declared_in
from swecli.repl.commands import builtin
from swecli.repl.commands.base import Command
from swecli.repl.commands.project_files import project_commands

_ENTRY_POINTS = "swecli.commands"


class CommandTable:
    """Commands by name and alias. Raises NameClash when two want one word."""

    def __init__(self, commands: Sequence[Command]) -> None:
        self.commands = sorted(commands, key=lambda c: c.name)
        self._by_word = by_name([(word, c) for c in self.commands for word in (c.name, *c.aliases)])

    def find(self, name: str) -> Command | None:
        """The command of a name or alias, in any case."""
        return self._by_word.get(name.lower())

    def nearest(self, name: str, count: int = 3) -> list[str]:
        """Up to `count` names of commands that the user may have meant, likeliest first."""
        word = name.lower()
        begun = [w for w in self._by_word if len(word) > 1 and w.startswith(word)]
        close = difflib.get_close_matches(word, self._by_word, n=count * 2, cutoff=0.6)
        return list(dict.fromkeys(self._by_word[w].name for w in begun + close))[:count]


def discover(project: Path | None = None) -> CommandTable:
    """The built-in commands, those of installed packages, and those of a trusted project under names still free."""
    table = CommandTable(declared_in(builtin, Command, _ENTRY_POINTS))
    own = [one for one in project_commands(project) if table.find(one.name) is None] if project else []
    return CommandTable([*table.commands, *own])
