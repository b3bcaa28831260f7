"""Discover slash commands: built-in ones, those of installed packages, and those of a trusted project.

A project defines commands as Markdown templates in `.agents/commands` or `.claude/commands`, which are sent as queries.
`$ARGUMENTS` is replaced by the arguments, `$1` to `$9` by its words; without these the arguments are appended. The
front matter has `description` and `argument-hint`.
"""

from __future__ import annotations

import difflib
import re
import shlex
from collections.abc import Sequence
from pathlib import Path

from swecli.context.project import front_matter
from swecli.discovery import find_declared, index_by_name
from swecli.models.errors import BadInput
from swecli.repl.commands import builtin
from swecli.repl.commands.base import Command, CommandContext

_ENTRY_POINTS = "swecli.commands"
_FOLDERS = (".agents/commands", ".claude/commands")
_MAX_LENGTH = 32_768  # characters
_PLACEHOLDER = re.compile(r"\$(ARGUMENTS|[1-9])(?!\w)")


class CommandTable:
    """Commands by name and alias. Raises NameClash if two commands use the same word."""

    def __init__(self, commands: Sequence[Command]) -> None:
        self.commands = sorted(commands, key=lambda c: c.name)
        self._by_word = index_by_name(
            [(word, c) for c in self.commands for word in (c.name, *c.aliases)]
        )

    @classmethod
    def discover(cls, project: Path | None = None) -> CommandTable:
        """Find the built-in commands, those of installed packages, and those of a trusted project with unused names."""
        table = cls(find_declared(builtin, Command, _ENTRY_POINTS))
        own = (
            [one for one in _project_commands(project) if table.find(one.name) is None]
            if project
            else []
        )
        return cls([*table.commands, *own])

    def find(self, name: str) -> Command | None:
        """Return the command with this name or alias (case-insensitive), or None."""
        return self._by_word.get(name.lower())

    def suggest(self, name: str, count: int = 3) -> list[str]:
        """Return up to `count` names similar to a mistyped one, best first."""
        word = name.lower()
        begun = [w for w in self._by_word if len(word) > 1 and w.startswith(word)]
        close = difflib.get_close_matches(word, self._by_word, n=count * 2, cutoff=0.6)
        return list(dict.fromkeys(self._by_word[w].name for w in begun + close))[:count]


def _project_commands(root: Path) -> list[Command]:
    """Return the commands of a project's folders, the first of each name. Links out of `root` are skipped."""
    files = (path for folder in _FOLDERS for path in sorted((root / folder).rglob("*.md")))
    top, found = root.resolve(), dict[str, Command]()
    for path in files:
        name = path.stem.lower()
        if (
            name not in found
            and re.fullmatch(r"[\w-]+", name)
            and path.resolve().is_relative_to(top)
        ):
            found[name] = _make_command(name, path)
    return list(found.values())


def _make_command(name: str, path: Path) -> Command:
    try:
        fields, _ = front_matter(path.read_text("utf-8", "replace"))
    except OSError:  # reported when the command is used
        fields = {}

    async def run(ctx: CommandContext, args: str) -> None:
        ctx.program.steer(_expand_template(path, args))

    help = (
        fields.get("description")
        or f"Send {path.parent.parent.name}/{path.parent.name}/{path.name}"
    )
    return Command(name, (), fields.get("argument-hint", ""), help, run)


def _expand_template(path: Path, args: str) -> str:
    """Return the template's text with the arguments. Raises BadInput if it cannot be read, is empty or too long."""
    try:
        text = path.read_text("utf-8-sig", "replace")
    except OSError as error:
        raise BadInput(f"{path} cannot be read: {error.strerror}.") from error
    body = front_matter(text)[1].strip()
    if not body or len(body) > _MAX_LENGTH:
        raise BadInput(
            f"{path} {f'is longer than {_MAX_LENGTH:,} characters' if body else 'has no text to send'}."
        )
    try:
        words = shlex.split(args)
    except ValueError:
        words = args.split()
    values = {"ARGUMENTS": args} | {str(n): word for n, word in enumerate(words[:9], 1)}
    expanded = _PLACEHOLDER.sub(lambda match: values.get(match[1], ""), body)
    return expanded if expanded != body or not args else f"{body}\n\n{args}"
