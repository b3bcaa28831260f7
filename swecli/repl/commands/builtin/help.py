"""`/help`: commands, prefixes and keys."""

from __future__ import annotations

from swecli.repl.commands.base import CommandContext, command, show_pairs

_KEYS = (
    ("Enter", "send; while it works, queue (↑ edits the queue)"),
    ("Ctrl+T", "put the line into the running turn"),
    ("Alt+Enter, Ctrl+J, \\ Enter", "new line"),
    ("Esc", "interrupt; the queue is held until Enter"),
    ("Ctrl+C", "clear the line, else the queue, else interrupt; twice leaves"),
    ("Shift+Tab", "next mode: ask, edits, plan, auto"),
    ("Ctrl+O", "the last tool's whole output"),
    ("Ctrl+R, ↑", "search the history, go back in it"),
    ("Ctrl+G", "write in $EDITOR"),
    ("Ctrl+L, Ctrl+D", "draw again, leave"),
    ("@file", "send a file along"),
    ("!command, !!command", "run it; the output is shared, or stays here"),
)


@command("help", aliases=("h", "?"), usage="[COMMAND]", beside="*")
async def show_help(ctx: CommandContext, args: str) -> None:
    """List the commands and keys"""
    wanted = args.removeprefix("/").lower()
    chosen = [c for c in ctx.commands if not wanted or wanted in (c.name, *c.aliases)]
    if not chosen:
        ctx.screen.error(f"There is no command /{wanted}.", "/help lists the commands.")
        return
    if wanted:
        for found in chosen:
            ctx.screen.line(f"/{found.name} {found.usage}".rstrip(), "head")
            ctx.screen.line(found.help)
            if found.aliases:
                ctx.screen.note(f"also {' '.join(f'/{alias}' for alias in found.aliases)}")
        return
    show_pairs(ctx.screen, [(" ".join(f"/{word}" for word in (c.name, *c.aliases[:1])), c.help) for c in chosen])
    ctx.screen.line()
    show_pairs(ctx.screen, _KEYS)
    ctx.screen.note("/help COMMAND shows its arguments and other names")
