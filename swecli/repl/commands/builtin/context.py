"""`/context`, `/window`, `/compact`, `/pin`, `/unpin`, `/prompt`: show and change what the next request contains."""

from __future__ import annotations

from typing import TYPE_CHECKING

from swecli.models.errors import UsageError
from swecli.repl.actions.context import ACTIONS
from swecli.repl.commands.base import CommandContext, command

if TYPE_CHECKING:
    from swecli.app import Runtime

_VIEWS = (
    ("detail", "every part, and the provider's token count next to ours"),
    *((name, ACTIONS[name][1]) for name in ("plan", "undo", "why", "log")),
)
_SIZES = (
    ("5", "the last 5 turns"),
    ("5+3", "5 turns, growing to 8 before it is cut back"),
    ("full", "everything"),
    ("auto", "as many as fit the query"),
)


@command(
    aliases=("tokens",),
    usage="[detail | plan | undo | why TEXT | log]",
    complete=lambda runtime: _VIEWS,
    concurrent="detail plan why log",
)
async def context(ctx: CommandContext, args: str) -> None:
    """Show what the next request contains and what was removed"""
    word, _, rest = args.strip().partition(" ")
    if word not in ("", *dict(_VIEWS)) or (rest.strip() and word != "why"):
        raise UsageError(f"Unknown option {args.strip()!r}.", "Use /context [detail | plan | undo | why TEXT | log]")
    if word in ("", "detail"):
        _run_action(ctx, "show", word)
    else:
        _run_action(ctx, word, rest)


def _run_action(ctx: CommandContext, action: str, text: str) -> None:
    ctx.report(ACTIONS[action][0](ctx.runtime, text.strip()))


@command(usage="[N|N+S|full|auto] · preview N", complete=lambda runtime: _SIZES, concurrent="*")
async def window(ctx: CommandContext, args: str) -> None:
    """Show or change how many past turns are sent"""
    _run_action(ctx, "window", args)


@command(aliases=("condense",), usage="[FOCUS]")
async def compact(ctx: CommandContext, args: str) -> None:
    """Summarise the conversation (optional: what to focus on)"""
    async for event in ctx.runtime.context_control.compact(args.strip()):
        ctx.renderer.show(event)
        if event.type == "context_reduced":
            ctx.screen.note("/context undo restores it · /pin a turn beforehand to keep it word for word")


def _complete_turns(runtime: Runtime) -> list[tuple[str, str]]:
    groups = runtime.session.group_by_interaction(12)
    return [(f"T{group[0].interaction}", " ".join(group[0].content.split())[:50]) for group in reversed(groups)]


@command(usage="[TURN]", complete=_complete_turns)
async def pin(ctx: CommandContext, args: str) -> None:
    """Keep a turn in every request (default: the last one)"""
    _run_action(ctx, "pin", args)


@command(usage="[TURN]", complete=_complete_turns)
async def unpin(ctx: CommandContext, args: str) -> None:
    """Unpin a turn (default: the last one)"""
    _run_action(ctx, "unpin", args)


@command(usage="[TEXT]", concurrent="*")
async def prompt(ctx: CommandContext, args: str) -> None:
    """Show exactly what the next request would contain (optional: for TEXT)"""
    _run_action(ctx, "prompt", args)
    ctx.screen.note("swecli context prompt --json prints it for programs")
