"""`/help`, `/exit`, `/steer`: the program and its running turn."""

from __future__ import annotations

from swecli.models.errors import UsageError
from swecli.repl.commands.base import CommandContext, command

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
    ctx.screen.pairs([(" ".join(f"/{word}" for word in (c.name, *c.aliases[:1])), c.help) for c in chosen])
    ctx.screen.line()
    ctx.screen.pairs(_KEYS)
    ctx.screen.note("/help COMMAND for its arguments and aliases")


@command("exit", aliases=("quit", "q"))
async def leave(ctx: CommandContext, args: str) -> None:
    """Quit (`swecli -c` continues this session)"""
    ctx.program.leave()


@command(usage="TEXT", beside="*")
async def steer(ctx: CommandContext, args: str) -> None:
    """Send a line to the running turn (same as Ctrl+T)"""
    if not args.strip():
        raise UsageError("There is nothing to send.", "Use /steer TEXT, or type a line and press Ctrl+T.")
    ctx.program.steer(args.strip())
