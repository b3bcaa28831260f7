"""Where slash commands are found, and which names are near a mistyped one.

A trusted project brings some along as Markdown files in `.agents/commands` or `.claude/commands`. The text is sent as a
query. `$ARGUMENTS` stands for what was typed behind the name, `$1` to `$9` for its words; a text with none of them gets
the arguments at its end. Front matter gives `description` and `argument-hint`.
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
_LARGEST = 32_768  # characters
_PLACE = re.compile(r"\$(ARGUMENTS|[1-9])(?!\w)")


class CommandTable:
    """Commands by name and alias. Raises NameClash when two want one word."""

    def __init__(self, commands: Sequence[Command]) -> None:
        self.commands = sorted(commands, key=lambda c: c.name)
        self._by_word = index_by_name([(word, c) for c in self.commands for word in (c.name, *c.aliases)])

    def find(self, name: str) -> Command | None:
        """The command of a name or alias, in any case."""
        return self._by_word.get(name.lower())

    def suggest(self, name: str, count: int = 3) -> list[str]:
        """Up to `count` names of commands that the user may have meant, likeliest first."""
        word = name.lower()
        begun = [w for w in self._by_word if len(word) > 1 and w.startswith(word)]
        close = difflib.get_close_matches(word, self._by_word, n=count * 2, cutoff=0.6)
        return list(dict.fromkeys(self._by_word[w].name for w in begun + close))[:count]


def discover(project: Path | None = None) -> CommandTable:
    """The built-in commands, those of installed packages, and those of a trusted project under names still free."""
    table = CommandTable(find_declared(builtin, Command, _ENTRY_POINTS))
    own = [one for one in _project_commands(project) if table.find(one.name) is None] if project else []
    return CommandTable([*table.commands, *own])


def _project_commands(root: Path) -> list[Command]:
    """The commands of a project's folders, by name; the first of a name counts. Links out of `root` are passed over."""
    files = (path for folder in _FOLDERS for path in sorted((root / folder).rglob("*.md")))
    top, found = root.resolve(), dict[str, Command]()
    for path in files:
        name = path.stem.lower()
        if name not in found and re.fullmatch(r"[\w-]+", name) and path.resolve().is_relative_to(top):
            found[name] = _declared(name, path)
    return list(found.values())


def _declared(name: str, path: Path) -> Command:
    try:
        fields, _ = front_matter(path.read_text("utf-8", "replace"))
    except OSError:  # the command stays in the list, and names the reason when it is used
        fields = {}

    async def run(ctx: CommandContext, args: str) -> None:
        ctx.program.steer(_query(path, args))

    help = fields.get("description") or f"Send {path.parent.parent.name}/{path.parent.name}/{path.name}"
    return Command(name, (), fields.get("argument-hint", ""), help, run)


def _query(path: Path, args: str) -> str:
    """The file's text with the arguments put in. Raises BadInput: it cannot be read, or says nothing."""
    try:
        text = path.read_text("utf-8-sig", "replace")
    except OSError as error:
        raise BadInput(f"{path} cannot be read: {error.strerror}.") from error
    body = front_matter(text)[1].strip()
    if not body or len(body) > _LARGEST:
        what = f"is longer than {_LARGEST:,} characters" if body else "has no text to send"
        raise BadInput(f"{path} {what}.")
    try:
        words = shlex.split(args)
    except ValueError:
        words = args.split()
    given = {"ARGUMENTS": args} | {str(n): word for n, word in enumerate(words[:9], 1)}
    filled = _PLACE.sub(lambda match: given.get(match[1], ""), body)
    return filled if filled != body or not args else f"{body}\n\n{args}"
