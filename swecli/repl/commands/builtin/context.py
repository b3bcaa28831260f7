"""Commands that show and change what the next request contains."""

from __future__ import annotations

from typing import TYPE_CHECKING

from swecli.actions.context import ACTIONS
from swecli.actions.prompt import FULL, show_prompt
from swecli.models.errors import UsageError
from swecli.repl.commands.base import Command, CommandContext, Complete, command
from swecli.repl.render.excerpt import lines_of

if TYPE_CHECKING:
    from swecli.app import Runtime
    from swecli.models.message import ChatMessage

_VIEWS = (
    ("detail", "every part, and the provider's token count next to ours"),
    *((name, ACTIONS[name][1]) for name in ("plan", "undo", "why", "log")),
)
_MAX_TURNS = 12  # offered to complete a turn
_MAX_QUERY = 50  # characters of a turn's query beside its name
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
async def _context(ctx: CommandContext, args: str) -> None:
    """Show what the next request contains and what was removed"""
    word, _, rest = args.strip().partition(" ")
    is_known = word == "" or word in dict(_VIEWS)
    has_surplus = bool(rest.strip()) and word != "why"
    if not is_known or has_surplus:
        raise UsageError(
            f"Unknown option {args.strip()!r}.",
            "Use /context [detail | plan | undo | why TEXT | log]",
        )
    if word in ("", "detail"):
        _run_action(ctx, "show", word)
    else:
        _run_action(ctx, word, rest)


def _run_action(ctx: CommandContext, action: str, text: str) -> None:
    ctx.report(ACTIONS[action][0](ctx.runtime, text.strip()))


@command(aliases=("condense",), usage="[FOCUS]")
async def _compact(ctx: CommandContext, args: str) -> None:
    """Summarise the conversation (optional: what to focus on)"""
    with ctx.renderer.working("Summarising the conversation"):
        async for event in ctx.runtime.context_control.compact(args.strip()):
            ctx.renderer.show(event)
            if event.type == "context_reduced":
                ctx.screen.note(
                    "/context undo restores it · /pin a turn beforehand to keep it word for word"
                )


def _complete_turns(runtime: Runtime) -> list[tuple[str, str]]:
    newest = reversed(runtime.session.group_by_interaction(_MAX_TURNS))
    return [_describe_turn(group[0]) for group in newest]


def _describe_turn(query: ChatMessage) -> tuple[str, str]:
    """Return the turn's name and the beginning of its query, on one line."""
    words = " ".join(query.content.split())
    return f"T{query.interaction}", words[:_MAX_QUERY]


def _make_command(
    name: str, usage: str, help: str, complete: Complete, concurrent: str = ""
) -> Command:
    """Return the command that runs the action of its name."""

    async def run(ctx: CommandContext, args: str) -> None:
        _run_action(ctx, name, args)

    return Command(name, (), usage, help, run, complete, concurrent)


_WINDOW_USAGE = "[N|N+S|full|auto] · preview N"
_TURN_USAGE = "[TURN]"
window = _make_command(
    "window", _WINDOW_USAGE, "Show or change how many past turns are sent", lambda _: _SIZES, "*"
)
pin = _make_command(
    "pin", _TURN_USAGE, "Keep a turn in every request (default: the last one)", _complete_turns
)
unpin = _make_command("unpin", _TURN_USAGE, "Unpin a turn (default: the last one)", _complete_turns)


def _complete_prompt(runtime: Runtime) -> list[tuple[str, str]]:
    return [(FULL, "all of it: every call, result and tool"), *_complete_turns(runtime)]


@command(usage="[full] [TEXT | T7]", complete=_complete_prompt, concurrent="*")
async def _prompt(ctx: CommandContext, args: str) -> None:
    """Show the next request (for TEXT), or that of turn T7: one line a message, or exactly as it is sent (full)"""
    # late: not needed to declare a command
    from rich.text import Text

    result = show_prompt(ctx.runtime, args)
    lines = (line for text in result.lines for line in lines_of(text))
    await ctx.screen.print_in_portions(Text(line) for line in lines)
    if args.split()[:1] != [FULL]:
        ctx.screen.note(f"/prompt {' '.join([FULL, args])}".rstrip() + " prints all of it")
    command = f"swecli context prompt {args}".rstrip()
    ctx.screen.note(f"{command} --json prints it for programs")
