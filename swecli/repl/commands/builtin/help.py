"""`/help`: where to start, the keys and the commands."""

from __future__ import annotations

from collections.abc import Sequence

from swecli.repl.commands.base import Command, CommandContext, command

_KEYS = (
    ("Enter", "send; while the agent works, queue (↑ edits the queue)"),
    ("Esc", "interrupt; queued lines wait for Enter"),
    ("Ctrl+C", "clear the line, then the queue, then interrupt; twice to quit"),
    ("Shift+Tab", "switch mode: ask, edits, plan"),
    ("Ctrl+O", "unfold the last output, then all of the turn, then none"),
    ("Ctrl+T", "send the line to the running turn"),
    ("Ctrl+J", "new line (also Alt+Enter, or \\ before Enter)"),
    ("@file, !command", "attach a file or a picture; run in the shell"),
)
_MORE_KEYS = (
    ("Ctrl+R, ↑", "search history, previous line"),
    ("Ctrl+G", "edit the line in $EDITOR"),
    ("Ctrl+L, Ctrl+D", "redraw, quit"),
    ("Ctrl+V", "attach the picture in the clipboard; a pasted path of one does too"),
    ("!!command", "run in the shell without showing the model the output"),
    ("Esc Esc", "go back to before a turn"),
)


_GROUPS = (
    ("Start here", "help init model mode undo diff exit"),
    ("Sessions", "new sessions rename fork search copy export redo rewind steer jobs"),
    ("Requests", "context window compact pin unpin prompt memory"),
    ("Learning", "playbook reflect good bad"),
    ("Review", "review findings"),
    ("Approval", "permissions plan yolo trust"),
    ("Program", "config theme effort status cost stats sql doctor"),
)


def _grouped(commands: Sequence[Command]) -> list[tuple[str, list[Command]]]:
    """Group the commands by title, in the order above; those of packages and of the project come last."""
    left = {command.name: command for command in commands}
    groups = [
        (title, [left.pop(name) for name in names.split() if name in left])
        for title, names in _GROUPS
    ]
    return [(title, found) for title, found in [*groups, ("More", list(left.values()))] if found]


@command(
    aliases=("h", "?"),
    usage="[all | COMMAND]",
    complete=lambda runtime: [("all", "every command with a line")],
    concurrent="*",
)
async def _help(ctx: CommandContext, args: str) -> None:
    """Show where to start, the keys and the commands"""
    wanted = args.removeprefix("/").lower()
    if not wanted:
        _show_start(ctx)
    elif wanted == "all":
        _show_all(ctx)
    else:
        _show_command(ctx, wanted)


def _show_start(ctx: CommandContext) -> None:
    """Print one screen: the keys of every day, and the names of the commands."""
    ctx.screen.line("Type what you want done. /undo takes the last turn back, its files too.")
    ctx.screen.line()
    ctx.screen.columns(_KEYS)
    ctx.screen.line()
    ctx.screen.columns(
        [
            (title, " ".join(f"/{command.name}" for command in group))
            for title, group in _grouped(ctx.table.commands)
        ]
    )
    ctx.screen.note("/help all: a line about each · /help COMMAND: its arguments")


def _show_all(ctx: CommandContext) -> None:
    for title, group in _grouped(ctx.table.commands):
        ctx.screen.line(title, "head")
        ctx.screen.columns([(_names(command), command.help) for command in group])
        ctx.screen.line()
    ctx.screen.line("Keys", "head")
    ctx.screen.columns((*_KEYS, *_MORE_KEYS))
    ctx.screen.note("/help COMMAND for its arguments and aliases")


def _names(command: Command) -> str:
    return " ".join(f"/{word}" for word in (command.name, *command.aliases[:1]))


def _show_command(ctx: CommandContext, wanted: str) -> None:
    found = next((c for c in ctx.table.commands if wanted in (c.name, *c.aliases)), None)
    if found is None:
        ctx.screen.error(f"Unknown command /{wanted}.", "Type /help all for the list.")
        return
    ctx.screen.line(f"/{found.name} {found.usage}".rstrip(), "head")
    ctx.screen.line(found.help)
    if found.aliases:
        ctx.screen.note(f"aliases: {' '.join(f'/{alias}' for alias in found.aliases)}")
