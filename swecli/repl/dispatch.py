"""A line that is loaded for, taken to its place: a command, the shell, or the model."""

from __future__ import annotations

from swecli.models.errors import UsageError
from swecli.repl.commands.registry import CommandTable
from swecli.repl.input.lines import Line
from swecli.repl.parts import Parts


async def do(line: Line, parts: Parts, table: CommandTable) -> None:
    """Do it. An unknown command never becomes a query.

    Raises:
        SwecliError: one line for the user.
    """
    if line.kind == "command":
        command = table.find(line.name)
        if command is None:
            raise UsageError(f"There is no command /{line.name}.", _nearest(line.name, table))
        await command.run(parts.desk, line.text)
    elif line.kind == "shell":
        if not line.text:
            raise UsageError("There is no command behind the `!`.", "For example: !git status")
        await parts.processor.run_shell(line.text, share=line.shared)
    else:
        await parts.processor.process_query(line.text)


def _nearest(name: str, table: CommandTable) -> str:
    near = table.nearest(name)
    return f"Did you mean {' or '.join(f'/{n}' for n in near)}?" if near else "/help lists the commands."
