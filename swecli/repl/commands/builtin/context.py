"""`/context`, `/compact`, `/pin`: what the next request is made of, and what leaves it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from swecli.models.errors import UsageError
from swecli.models.ids import turn_number
from swecli.repl.commands.base import CommandContext, command
from swecli.repl.render.formatting import bar, percent, tokens

if TYPE_CHECKING:
    from swecli.agent.context_control import Meter
    from swecli.app import Runtime

_VIEWS = (
    ("detail", "every part, and the provider's token count next to ours"),
    ("plan", "what the next reduction would remove"),
    ("undo", "undo the last reduction"),
    ("why", "why a text is no longer sent"),
    ("log", "all reductions of this session"),
)


@command(
    aliases=("tokens",),
    usage="[detail | plan | undo | why TEXT | log]",
    complete=lambda runtime: _VIEWS,
    beside="detail plan why log",
)
async def context(ctx: CommandContext, args: str) -> None:
    """Show what the next request contains and what was removed"""
    word, _, rest = args.strip().partition(" ")
    if word not in ("", "why", *SHOWN) or (rest.strip() and word != "why"):
        raise UsageError(f"Unknown option {args.strip()!r}.", "Use /context [detail | plan | undo | why TEXT | log]")
    if word == "why":
        _show_why(ctx, rest)
    elif word in SHOWN:
        SHOWN[word](ctx)
    else:
        _show_meter(ctx, detail=False)


def _show_meter(ctx: CommandContext, *, detail: bool) -> None:
    """The parts with their tokens, the bar, and the rung that comes next."""
    found = ctx.runtime.context_control.meter()
    parts = list(found.parts) if detail else found.grouped()
    if found.residual:
        parts.append(("provider counts", found.residual))
    whole = found.limit or found.total
    ctx.screen.table(("part", "tokens", "share"), [(name, f"{count:,}", bar(count, whole)) for name, count in parts])
    about = "about " if found.estimated else ""
    if found.limit is None:
        ctx.screen.line(f"{about}{tokens(found.total)} tokens (window unknown: up to 500,000 characters are sent)")
    else:
        share = percent(found.total, found.limit)
        ctx.screen.line(
            f"{bar(found.total, found.limit)} {about}{tokens(found.total)} of {tokens(found.limit)} tokens ({share}%)"
        )
    if detail:
        _show_detail(ctx, found)
    session = ctx.runtime.sessions.current_session
    if session is not None and session.context.epoch is not None:
        _show_plan(ctx)


def _show_detail(ctx: CommandContext, found: Meter) -> None:
    """What stands behind the figures."""
    ctx.screen.note(
        f"{tokens(found.cached)} were sent before (cached), {tokens(found.reserve)} are reserved for the answer"
    )
    if found.counted:
        ctx.screen.note(
            f"last request: {found.counted:,} tokens by our count, {found.provider:,} by the provider's "
            f"({found.provider - found.counted:+,})"
        )
    if found.threshold is not None:
        ctx.screen.note(f"above {tokens(found.threshold)} it is reduced: old results, then a summary, then truncation")


def _show_plan(ctx: CommandContext) -> None:
    """What the next reduction takes out, and when."""
    plan = ctx.runtime.context_control.plan()
    after = f", {tokens(plan.before)} → {tokens(plan.after)} tokens" if plan.after is not None else ""
    ctx.screen.line(f"next: {plan.how} {plan.when}{after}")
    if plan.removes:
        ctx.screen.note(f"would remove {', '.join(plan.removes)} · /pin keeps a turn")


def _show_undo(ctx: CommandContext) -> None:
    """Take the newest reduction back."""
    taken = ctx.runtime.context_control.undo()
    ctx.screen.line(f"undid {taken.id} ({taken.how}): the next request contains what it removed")


def _show_why(ctx: CommandContext, text: str) -> None:
    """Where a text is, and the command that brings it back."""
    found = ctx.runtime.context_control.why(text)
    if not found:
        ctx.screen.line("not found in this session")
    for one in found:
        ctx.screen.line(f"T{one.place.interaction} · {one.place.where}: {one.place.excerpt}")
        if one.sent:
            ctx.screen.note("in the next request, word for word")
        elif one.by is not None:
            ctx.screen.note(
                f"removed by {one.by.id} ({one.by.how}, in T{one.by.interaction}) · {one.back} brings it back"
            )
        else:
            ctx.screen.note("never sent in this form")


def _show_log(ctx: CommandContext) -> None:
    """All reductions, newest first."""
    session = ctx.runtime.context_control.session
    rows = ctx.runtime.sessions.context.log(session)
    table = [
        (
            row.id,
            f"T{row.interaction}" + (f".{row.step}" if row.step else ""),
            f"{row.how} (undone)" if row.undone else row.how,
            f"{tokens(row.before)} → {tokens(row.after)}",
            row.detail,
        )
        for row in rows
    ]
    ctx.screen.table(("id", "turn", "how", "tokens", "why"), table)


SHOWN: dict[str, Callable[[CommandContext], None]] = {
    "detail": lambda ctx: _show_meter(ctx, detail=True),
    "plan": _show_plan,
    "undo": _show_undo,
    "log": _show_log,
}


@command(aliases=("condense",), usage="[FOCUS]")
async def compact(ctx: CommandContext, args: str) -> None:
    """Summarise the conversation (optional: what to focus on)"""
    async for event in ctx.runtime.context_control.compact(args.strip()):
        ctx.show(event)
        if event.type == "context_reduced":
            ctx.screen.note("/context undo restores it · /pin a turn beforehand to keep it word for word")


def _turns(runtime: Runtime) -> list[tuple[str, str]]:
    """The newest turns with their questions, to choose from."""
    session = runtime.sessions.current_session
    groups = list(session.by_interaction())[-12:] if session else []
    return [(f"T{group[0].interaction}", " ".join(group[0].content.split())[:50]) for group in reversed(groups)]


@command(usage="[TURN]", complete=_turns)
async def pin(ctx: CommandContext, args: str) -> None:
    """Keep a turn in every request (default: the last one)"""
    control = ctx.runtime.context_control
    number = turn_number(args) if args.strip() else None
    size = control.pin(number)
    session = control.session
    ctx.screen.line(f"pinned T{number or session.interactions} ({tokens(size)} tokens in every request)")
    if len(session.context.pins) > 1:
        ctx.screen.note(f"all pinned turns: {', '.join(f'T{n}' for n in session.context.pins)}")


@command(usage="[TURN]", complete=_turns)
async def unpin(ctx: CommandContext, args: str) -> None:
    """Unpin a turn (default: the last one)"""
    number = ctx.runtime.context_control.unpin(turn_number(args) if args.strip() else None)
    ctx.screen.line(f"unpinned T{number}: the next reduction may remove it")
