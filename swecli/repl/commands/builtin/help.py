"""`/help`: commands, prefixes and keys."""

from __future__ import annotations

from swecli.repl.commands.base import CommandContext, command, show_pairs

_KEYS = (
    ("Enter", "send; while the agent works, queue (↑ edits the queue)"),
    ("Ctrl+T", "send the line to the running turn"),
    ("Alt+Enter, Ctrl+J, \\ Enter", "new line"),
    ("Esc", "interrupt; queued lines wait for Enter"),
    ("Ctrl+C", "clear the line, then the queue, then interrupt; twice to quit"),
    ("Shift+Tab", "switch mode: ask, edits, plan, auto"),
    ("Ctrl+O", "show the last tool's full output"),
    ("Ctrl+R, ↑", "search history, previous line"),
    ("Ctrl+G", "edit the line in $EDITOR"),
    ("Ctrl+L, Ctrl+D", "redraw, quit"),
    ("@file", "attach a file"),
    ("!command, !!command", "run in the shell; ! shares the output with the model, !! does not"),
)


@command("help", aliases=("h", "?"), usage="[COMMAND]", beside="*")
async def show_help(ctx: CommandContext, args: str) -> None:
    """List the commands and keys"""
    wanted = args.removeprefix("/").lower()
    chosen = [c for c in ctx.commands if not wanted or wanted in (c.name, *c.aliases)]
    if not chosen:
        ctx.screen.error(f"Unknown command /{wanted}.", "Type /help for the list.")
        return
    if wanted:
        for found in chosen:
            ctx.screen.line(f"/{found.name} {found.usage}".rstrip(), "head")
            ctx.screen.line(found.help)
            if found.aliases:
                ctx.screen.note(f"aliases: {' '.join(f'/{alias}' for alias in found.aliases)}")
        return
    show_pairs(ctx.screen, [(" ".join(f"/{word}" for word in (c.name, *c.aliases[:1])), c.help) for c in chosen])
    ctx.screen.line()
    show_pairs(ctx.screen, _KEYS)
    ctx.screen.note("/help COMMAND for its arguments and aliases")
