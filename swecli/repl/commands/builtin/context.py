"""Commands that show and change what the next request contains, and the strategies that are learned for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from swecli.actions.context import ACTIONS
from swecli.models.action import ActionResult
from swecli.models.errors import BadInput, UsageError
from swecli.playbook.action import ACTIONS as PLAYBOOK_ACTIONS
from swecli.repl.commands.base import Command, CommandContext, Complete, command
from swecli.repl.input.question import Option

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
async def _context(ctx: CommandContext, args: str) -> None:
    """Show what the next request contains and what was removed"""
    word, _, rest = args.strip().partition(" ")
    if word not in ("", *dict(_VIEWS)) or (rest.strip() and word != "why"):
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
    groups = runtime.session.group_by_interaction(12)
    return [
        (f"T{group[0].interaction}", " ".join(group[0].content.split())[:50])
        for group in reversed(groups)
    ]


def _make_command(
    name: str, usage: str, help: str, complete: Complete, concurrent: str = ""
) -> Command:
    """Return the command that runs the action of its name."""

    async def run(ctx: CommandContext, args: str) -> None:
        _run_action(ctx, name, args)

    return Command(name, (), usage, help, run, complete, concurrent)


_WINDOW_USAGE, _TURN_USAGE = "[N|N+S|full|auto] · preview N", "[TURN]"
window = _make_command(
    "window", _WINDOW_USAGE, "Show or change how many past turns are sent", lambda _: _SIZES, "*"
)
pin = _make_command(
    "pin", _TURN_USAGE, "Keep a turn in every request (default: the last one)", _complete_turns
)
unpin = _make_command("unpin", _TURN_USAGE, "Unpin a turn (default: the last one)", _complete_turns)


@command(usage="[TEXT]", concurrent="*")
async def _prompt(ctx: CommandContext, args: str) -> None:
    """Show exactly what the next request would contain (optional: for TEXT)"""
    _run_action(ctx, "prompt", args)
    ctx.screen.note("swecli context prompt --json prints it for programs")


_CHOICES = tuple(
    (action.name, f"{action.usage}: {action.help}".lstrip(": "))
    for action in PLAYBOOK_ACTIONS.values()
)
# A number means the same as in an approval.
_DECISIONS = {
    "use": Option("yes, use it in prompts", "1", "y"),
    "remove": Option("no, remove it (can be undone)", "3", "n"),
    "later": Option("decide later", "l"),
    "stop": Option("stop here", "s"),
}


@command(
    aliases=("strategies",),
    usage="[show|why|add|edit|remove|undo|review]",
    complete=lambda runtime: _CHOICES,
    concurrent="*",
)
async def _playbook(ctx: CommandContext, args: str) -> None:
    """Show and change learned strategies"""
    word, _, rest = args.partition(" ")
    name = word.lower() or "list"
    if name.startswith("-"):
        name, rest = "list", args
    if name in ("good", "bad", "reflect"):
        raise UsageError(f"Unknown playbook action {word!r:.40}.", f"Use /{name}")
    result = ctx.runtime.learning.perform(name, rest.split(), folder=ctx.runtime.cwd)
    if result.questions:
        await _review(ctx, result)
    else:
        ctx.report(result)


async def _review(ctx: CommandContext, result: ActionResult) -> None:
    decisions = list(_DECISIONS)
    for question in result.questions:
        ctx.screen.line(f"{question.id}  {question.content}", "head")
        for line in question.sources:
            ctx.screen.detail(line)
        title = f"Use {question.id} in prompts? {question.reason}"
        picked = await ctx.asker.choose(title, list(_DECISIONS.values()), guarded=True)
        decision = "stop" if picked is None else decisions[picked]
        if decision == "stop":
            return
        if decision != "later":
            ctx.report(ctx.runtime.learning.perform("review", [question.id, decision]))


@command(usage="[T7|stop]")
async def _reflect(ctx: CommandContext, args: str) -> None:
    """Reflect on the last turn, or on turn T7, now; or stop reflecting"""
    if args.lower() == "stop":
        stopped = await ctx.background.cancel()
        ctx.screen.note(
            "stopped · it will be retried at the next start"
            if stopped
            else "nothing is being learned"
        )
        return
    number = ctx.runtime.session.resolve_turn(args)
    learning = ctx.runtime.learning
    if not learning.enabled:
        raise BadInput("Learning is off.", "Set learn = true in the configuration.")
    await ctx.wait_for_background()
    with ctx.renderer.working(f"Reflecting on T{number}"):
        events = await learning.learn(number, asked=True)
    answers = [line for event in events for line in getattr(event, "answer", ())]
    if not answers and not any(event.describe() for event in events):
        alone = "" if learning.reflector.model else " (by rules only; no model was asked)"
        ctx.screen.note(f"T{number}: nothing to learn{alone}")
    for line in answers:
        ctx.screen.detail(line)
    for event in events:
        ctx.renderer.show(event)


@command(usage="[WHY]")
async def _good(ctx: CommandContext, args: str) -> None:
    """Mark the last turn good; a model says which strategies helped"""
    await _mark(ctx, True, args)


@command(usage="[WHY]")
async def _bad(ctx: CommandContext, args: str) -> None:
    """Mark the last turn bad; a model says which strategies hurt"""
    await _mark(ctx, False, args)


async def _mark(ctx: CommandContext, is_good: bool, why: str) -> None:
    number = ctx.runtime.session.resolve_turn("")
    learning = ctx.runtime.learning
    due = learning.due_after_mark(is_good, why)
    events = await learning.mark(is_good, why)
    ctx.screen.note(f"T{number} is marked {'good' if is_good else 'bad'}")
    for event in events:
        ctx.renderer.show(event)
    ctx.background.react(learning, due)
