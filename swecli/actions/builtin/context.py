"""`/context`, `/pin`, `/window`, `/prompt` and `swecli context`: show and change what a session's next request has."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import TYPE_CHECKING

from swecli.actions.prompt import FULL, show_prompt
from swecli.models.action import Action, ActionResult, Family, Flag, Invocation, Need, Values, Words
from swecli.models.context import WindowSpec
from swecli.models.counts import format_tokens, percent, pluralize
from swecli.models.errors import BadInput
from swecli.models.events import ContextReduced, Notice, to_json
from swecli.models.ids import parse_turn
from swecli.models.message import Usage
from swecli.models.money import format_dollars

if TYPE_CHECKING:
    from swecli.agent.context_control import ReductionPlan, WindowPreview
    from swecli.app import Runtime

_MAX_TURNS = 12  # offered to complete a turn
_MAX_QUERY = 50  # characters of a turn's query beside its name
_SIZES = (
    ("5", "the last 5 turns"),
    ("5+3", "5 turns, growing to 8 before it is cut back"),
    ("full", "everything"),
    ("auto", "as many as fit the query"),
)


@Action(Need.CONTEXT, in_session=False)
def show(runtime: Runtime, asked: Invocation) -> ActionResult:
    """The parts of the next request with their tokens

    Also the next reduction. A line that names no action gets similar parts as one, and no details.
    """
    meter = runtime.context_control.meter()
    is_detailed = bool(asked.name)
    parts = list(meter.parts) if is_detailed else meter.grouped()
    if meter.residual:
        direction = "more" if meter.residual > 0 else "less"
        parts.append((f"the provider counts {direction}", meter.residual))
    rows = tuple((name, f"{count:,}", _format_bar(count, meter.total)) for name, count in parts)
    total = f"{'about ' if meter.estimated else ''}{format_tokens(meter.total)}"
    lines = [f"{total} tokens (window unknown: up to 500,000 characters are sent)"]
    if meter.limit is not None:
        bar = _format_bar(meter.total, meter.limit)
        share = percent(meter.total, meter.limit)
        lines = [f"{bar} {total} of {format_tokens(meter.limit)} tokens ({share}%)"]
    if is_detailed:
        lines.append(
            f"  {format_tokens(meter.cached)} were sent before (cached), "
            f"{format_tokens(meter.reserve)} are reserved for the answer"
        )
        if meter.counted:
            counts = f"{meter.counted:,} tokens by our count, {meter.provider:,} by the provider's"
            lines.append(f"  last request: {counts} ({meter.provider - meter.counted:+,})")
        if meter.threshold is not None:
            threshold = format_tokens(meter.threshold)
            lines.append(
                f"  above {threshold} it is reduced: old results, then a summary, then truncation"
            )
    lines += _next_reduction(runtime)
    value = asdict(meter) | {
        "parts": [{"name": name, "tokens": count} for name, count in meter.parts]
    }
    return ActionResult(value, tuple(lines), head=("part", "tokens", "share"), rows=rows)


def _format_bar(amount: int, total: int, width: int = 24) -> str:
    """Format a bar of `width` characters, filled by the share of `amount`; a share above 0 fills at least one."""
    filled = 0 if total <= 0 or amount <= 0 else min(width, max(1, round(width * amount / total)))
    return "█" * filled + "·" * (width - filled)


def _next_reduction(runtime: Runtime) -> tuple[str, ...]:
    """Return what the next reduction does, () if no request was prepared yet."""
    if runtime.session.context.epoch is None:
        return ()
    return _format_plan(runtime.context_control.plan())


@Action(Need.CONTEXT, during_turn=True)
def plan(runtime: Runtime, asked: Invocation) -> ActionResult:
    """What the next cut leaves out"""
    reduction = runtime.context_control.plan()
    return ActionResult(asdict(reduction), _format_plan(reduction))


def _format_plan(plan: ReductionPlan) -> tuple[str, ...]:
    """Return what the next reduction does, and how to keep a turn; a line that begins with two spaces is a detail."""
    line = f"next cut: {_describe_cut(plan)} {plan.when}"
    if plan.after is not None:
        line += f", {format_tokens(plan.before)} → {format_tokens(plan.after)} tokens"
    if plan.why:
        line += f" ({plan.why})"
    return (line, "  /pin keeps a turn") if plan.removes else (line,)


def _describe_cut(plan: ReductionPlan) -> str:
    """Return what a reduction does, and to which turns."""
    turns = [name for name in plan.removes if name.startswith("T")]
    if not plan.removes:
        return "leaves out nothing"
    if not turns:
        return f"shortens {pluralize(len(plan.removes), 'old result')}"
    verb = "sums up" if plan.how == "condense" else "leaves out"
    last = f" to {turns[-1]}" if len(turns) > 1 else ""
    return f"{verb} {turns[0]}{last}"


@Action(Need.CONTEXT, Words("TEXT", "the text to search for", "+", is_text=True), during_turn=True)
def why(runtime: Runtime, asked: Invocation) -> ActionResult:
    """Why a text is no longer sent"""
    occurrences = runtime.context_control.find_text(asked.text)
    lines = []
    for occurrence in occurrences:
        lines.append(f"T{occurrence['turn']} · {occurrence['where']}: {occurrence['excerpt']}")
        if occurrence["sent"]:
            lines.append("  in the next request, word for word")
        elif occurrence["by"]:
            reduction = "{id} ({how}, in T{turn})".format(**occurrence["by"])
            lines.append(f"  removed by {reduction} · {occurrence['back']} restores it")
        else:
            lines.append("  never sent in this form")
    return ActionResult(occurrences, tuple(lines) or ("not found in this session",))


@Action(Need.CONTEXT, during_turn=True)
def log(runtime: Runtime, asked: Invocation) -> ActionResult:
    """All reductions, newest first"""
    reductions = runtime.sessions.context.log(runtime.context_control.session)
    fields = ("id", "how", "interaction", "step", "before", "after", "detail", "undone")
    rows = tuple(
        (
            row.id,
            f"T{row.interaction}" + (f".{row.step}" if row.step else ""),
            f"{row.how} (undone)" if row.undone else row.how,
            f"{format_tokens(row.before)} → {format_tokens(row.after)}",
            row.detail,
        )
        for row in reductions
    )
    value = [{name: getattr(row, name) for name in fields} for row in reductions]
    return ActionResult(value, head=("id", "turn", "how", "tokens", "why"), rows=rows)


@Action(Need.CONTEXT)
def undo(runtime: Runtime, asked: Invocation) -> ActionResult:
    """Undo the newest reduction"""
    reduction = runtime.context_control.undo()
    line = f"undid {reduction.id} ({reduction.how}): the next request contains what it removed"
    return ActionResult({"undone": reduction.id, "how": reduction.how}, (line,))


def _complete_turns(runtime: Runtime) -> Values:
    """Return the names of the newest turns, each with the beginning of its query on one line."""
    newest = reversed(runtime.session.group_by_interaction(_MAX_TURNS))
    queries = [messages[0] for messages in newest]
    return [
        (f"T{query.interaction}", " ".join(query.content.split())[:_MAX_QUERY]) for query in queries
    ]


_TURN = Words("[TURN]", "for example T7 (default: the newest)", "?")


@Action(Need.CONTEXT, _TURN, complete=_complete_turns, is_command=True)
def pin(runtime: Runtime, asked: Invocation) -> ActionResult:
    """Keep a turn in every request (default: the last one)"""
    control = runtime.context_control
    number = parse_turn(asked.text) if asked.words else None
    size = control.pin(number)
    pins = list(control.session.context.pins)
    line = f"pinned T{number or control.session.interactions} ({format_tokens(size)} tokens in every request)"
    note = f"all pinned turns: {', '.join(f'T{turn}' for turn in pins)}" if len(pins) > 1 else ""
    return ActionResult({"pinned": pins, "tokens": size}, (line,), note=note)


@Action(Need.CONTEXT, _TURN, complete=_complete_turns, is_command=True)
def unpin(runtime: Runtime, asked: Invocation) -> ActionResult:
    """Unpin a turn (default: the last one)"""
    number = runtime.context_control.unpin(parse_turn(asked.text) if asked.words else None)
    return ActionResult(
        {"unpinned": number}, (f"unpinned T{number}: the next reduction may remove it",)
    )


_WINDOW = Words(
    "[N|N+S|full|auto] · preview N",
    "the new window (default: show the present one)",
    "?",
    shell_name="N|N+S|full|auto",
)
_PREVIEW = Flag("--preview", "only show what would be removed, in tokens")


@Action(
    Need.CONTEXT,
    _WINDOW,
    (_PREVIEW,),
    complete=lambda runtime: _SIZES,
    is_command=True,
    during_turn=True,
)
def window(runtime: Runtime, asked: Invocation) -> ActionResult:
    """Show or change how many past turns are sent

    In a session the word "preview" in front is the flag. Raises BadInput.
    """
    is_preview = _PREVIEW.name in asked.flags or asked.text.startswith("preview")
    text = asked.text.removeprefix("preview").strip()
    present = runtime.session.window
    spec = _parse_window(text) if text else None
    if spec is not None and not is_preview:
        runtime.sessions.set_window(spec)
    preview = runtime.context_control.preview(spec)
    value = {
        "window": str(spec or present),
        "first": preview.first,
        "last": preview.last,
        "tokens": preview.after,
        "tokens_now": preview.before,
        "leaves": list(preview.leaves),
        "returns": list(preview.returns),
    }
    if is_preview:
        title = f"window {present} → {spec or present}"
        return ActionResult(value, _format_preview(runtime, title, preview))
    return ActionResult(value, (f"window {spec or present}", *_format_window(runtime, preview)))


def _format_preview(runtime: Runtime, title: str, preview: WindowPreview) -> tuple[str, str]:
    """Return what a change of the window would change, and what the next request would then take."""
    changes: list[str] = []
    if preview.leaves:
        changes.append(f"{', '.join(preview.leaves)} would be left out")
    if preview.returns:
        changes.append(f"{', '.join(preview.returns)} would come back")
    size = f"{format_tokens(preview.before)} → {format_tokens(preview.after)} tokens"
    size += _format_cost_change(runtime, preview.before, preview.after)
    return f"{title}: {'; '.join(changes) or 'no change'}", f"  the next request: {size}"


def _format_window(runtime: Runtime, preview: WindowPreview) -> tuple[str, ...]:
    """Return which turns the next request contains, and what the next reduction would remove."""
    pins = [f"T{number}" for number in runtime.session.context.pins if number < preview.first]
    sent: list[str] = []
    if preview.last == preview.first:
        sent.append(f"turn {preview.last}")
    elif preview.last > preview.first:
        sent.append(f"turns {preview.first} to {preview.last}")
    if pins:
        sent.append(f"pinned {', '.join(pins)}")
    if not sent:
        return ("  the next request contains no earlier turns",)
    line = f"  the next request contains {' and '.join(sent)} ({format_tokens(preview.after)} tokens in all)"
    older = preview.first - 1 - len(pins)
    if older:
        line += f"; {pluralize(older, 'older turn')} not sent, but stored"
    return line, *_next_reduction(runtime)


def _parse_window(text: str) -> WindowSpec:
    try:
        return WindowSpec.parse(text)
    except ValueError as error:
        raise BadInput(f"{error}.") from error


def _format_cost_change(runtime: Runtime, before: int, after: int) -> str:
    """Return the prices of so many tokens, "" if the model's price is unknown."""
    # late: reads the price table
    from swecli.llm.price_table import cost_of

    price = runtime.agent.model.profile.price
    cost_before = cost_of(Usage(input=before), price)
    cost_after = cost_of(Usage(input=after), price)
    if cost_before is None or cost_after is None:
        return ""
    return f", {format_dollars(cost_before)} → {format_dollars(cost_after)} uncached"


@Action(
    Need.CONTEXT,
    Words(
        "[full] [TEXT | T7]",
        "the query, or T7 for the request of that turn; `full` in front prints all",
        shell_name="TEXT",
        is_text=True,
    ),
    complete=lambda runtime: [
        (FULL, "all of it: every call, result and tool"),
        *_complete_turns(runtime),
    ],
    is_command=True,
    during_turn=True,
)
def prompt(runtime: Runtime, asked: Invocation) -> ActionResult:
    """Show the next request (for TEXT), or that of turn T7: one line a message, or exactly as it is sent (full)"""
    return show_prompt(runtime, asked.text)


@Action(
    Need.ANSWER,
    Words("[FOCUS]", "the focus of the summary", is_text=True),
    aliases=("condense",),
    is_command=True,
)
async def compact(runtime: Runtime, asked: Invocation) -> ActionResult:
    """Summarise the conversation (optional: what to focus on)"""
    result = ActionResult(None)
    with asked.face.working("Summarising the conversation"):
        async for event in runtime.context_control.compact(asked.text):
            if isinstance(event, Notice) and result.value is None:
                raise BadInput(f"{event.text[0].upper()}{event.text[1:]}.")
            asked.face.show(event)
            if isinstance(event, ContextReduced):
                line = f"{event.before:,} → {event.after:,} tokens: {event.detail}"
                result = ActionResult(to_json(event), (line,))
    return result


detail = replace(
    show,
    name="detail",
    help="Every part, and the provider's token count next to ours",
    in_shell=False,
    in_session=True,
    during_turn=True,
)
context = Family(
    "context",
    "Show what the next request contains and what was removed",
    (show, detail, plan, why, log, undo, pin, unpin, window, prompt, compact),
    default="show",
    aliases=("tokens",),
)
