"""`/help`: where to start, the keys and the commands."""

from __future__ import annotations

from collections.abc import Sequence

from swecli.models.action import ActionResult
from swecli.repl.commands.base import Command, CommandContext, command
from swecli.repl.key_map import ACTIONS, KeyMap

_PREFIXES = ("@file, !command", "attach a file or a picture; run in the shell")
_MORE_PREFIXES = ("!!command", "run with the terminal, as editors need it; not shown to the model")

_GROUPS = (
    ("Start here", "help init model mode undo diff exit"),
    ("Sessions", "new sessions rename fork search copy export redo rewind steer jobs"),
    ("Requests", "context window compact pin unpin prompt memory"),
    ("Learning", "playbook reflect good bad"),
    ("Review", "review findings"),
    ("Approval", "permissions plan yolo trust"),
    ("Program", "config theme expand effort status cost stats sql doctor"),
)


def _grouped(commands: Sequence[Command]) -> list[tuple[str, list[Command]]]:
    """Group the commands by title, in the order above; those of packages and of the project come last."""
    remaining = {command.name: command for command in commands}
    groups = [
        (title, [remaining.pop(name) for name in names.split() if name in remaining])
        for title, names in _GROUPS
    ]
    groups.append(("More", list(remaining.values())))
    return [(title, group) for title, group in groups if group]


@command(
    aliases=("h", "?"),
    usage="[all | keys | COMMAND]",
    complete=lambda runtime: [("all", "every command with a line"), ("keys", "every key")],
    concurrent="*",
)
async def _help(ctx: CommandContext, args: str) -> None:
    """Show where to start, the keys and the commands"""
    name = args.removeprefix("/").lower()
    if not name:
        _show_start(ctx)
    elif name == "all":
        _show_all(ctx)
    elif name == "keys":
        _show_keys(ctx)
    else:
        _show_command(ctx, name)


def _show_start(ctx: CommandContext) -> None:
    """Print one screen: the keys of every day, and the names of the commands."""
    ctx.screen.line("Type what you want done. /undo takes the last turn back, its files too.")
    ctx.screen.line()
    ctx.screen.columns([*_describe_keys(ctx.screen.keys, daily=True), _PREFIXES])
    ctx.screen.line()
    ctx.screen.columns(
        [
            (title, " ".join(f"/{command.name}" for command in group))
            for title, group in _grouped(ctx.table.commands)
        ]
    )
    ctx.screen.note("/help all: a line about each · /help keys · /help COMMAND: its arguments")


def _show_all(ctx: CommandContext) -> None:
    for title, group in _grouped(ctx.table.commands):
        ctx.screen.line(title, "head")
        ctx.screen.columns([(_names(command), command.help) for command in group])
        ctx.screen.line()
    ctx.screen.line("Keys", "head")
    ctx.screen.columns([*_describe_keys(ctx.screen.keys), _PREFIXES, _MORE_PREFIXES])
    ctx.screen.note("/help COMMAND for its arguments and aliases")


def _describe_keys(keys: KeyMap, daily: bool = False) -> list[tuple[str, str]]:
    """Return the keys of each action that has some, and what they do; with `daily` those of every day."""
    actions = [action for action in ACTIONS if action.is_daily or not daily]
    return [(keys.show(action.name), action.about) for action in actions if keys.show(action.name)]


def _show_keys(ctx: CommandContext) -> None:
    """Print each action with its keys and the name that it has in the settings."""
    keys = ctx.screen.keys
    rows = [(action.name, keys.show(action.name) or "–", action.about) for action in ACTIONS]
    ctx.report(ActionResult({}, head=("action", "keys", "does"), rows=tuple(rows)))
    ctx.screen.note(
        'change them in the settings: keys = { expand = "c-o" }, from the next start on'
    )


def _names(command: Command) -> str:
    return " ".join(f"/{word}" for word in (command.name, *command.aliases[:1]))


def _show_command(ctx: CommandContext, name: str) -> None:
    command = ctx.table.find(name)
    if command is None:
        ctx.screen.error(f"Unknown command /{name}.", "Type /help all for the list.")
        return
    ctx.screen.line(f"/{command.name} {command.usage}".rstrip(), "head")
    ctx.screen.line(command.help)
    if command.aliases:
        ctx.screen.note(f"aliases: {' '.join(f'/{alias}' for alias in command.aliases)}")
