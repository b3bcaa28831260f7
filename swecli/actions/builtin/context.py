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
    from swecli.models.message import ChatMessage

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
    found = runtime.context_control.meter()
    is_detailed = bool(asked.name)
    parts = list(found.parts) if is_detailed else found.grouped()
    if found.residual:
        parts.append(
            (
                "the provider counts more" if found.residual > 0 else "the provider counts less",
                found.residual,
            )
        )
    rows = tuple((name, f"{count:,}", _format_bar(count, found.total)) for name, count in parts)
    total = f"{'about ' if found.estimated else ''}{format_tokens(found.total)}"
    lines = [f"{total} tokens (window unknown: up to 500,000 characters are sent)"]
    if found.limit is not None:
        share = percent(found.total, found.limit)
        lines = [
            f"{_format_bar(found.total, found.limit)} {total} of {format_tokens(found.limit)} tokens ({share}%)"
        ]
    if is_detailed:
        lines.append(
            f"  {format_tokens(found.cached)} were sent before (cached), "
            f"{format_tokens(found.reserve)} are reserved for the answer"
        )
        if found.counted:
            by = f"{found.counted:,} tokens by our count, {found.provider:,} by the provider's"
            lines.append(f"  last request: {by} ({found.provider - found.counted:+,})")
        if found.threshold is not None:
            above = format_tokens(found.threshold)
            lines.append(
                f"  above {above} it is reduced: old results, then a summary, then truncation"
            )
    value = asdict(found) | {
        "parts": [{"name": name, "tokens": count} for name, count in found.parts]
    }
    return ActionResult(
        value, (*lines, *_next_reduction(runtime)), ("part", "tokens", "share"), rows
    )


def _format_bar(part: int, whole: int, width: int = 24) -> str:
    """Format a bar of `width` characters, filled by the share of `part`; a share above 0 fills at least one."""
    filled = 0 if whole <= 0 or part <= 0 else min(width, max(1, round(width * part / whole)))
    return "█" * filled + "·" * (width - filled)


def _next_reduction(runtime: Runtime) -> tuple[str, ...]:
    return (
        _format_plan(runtime.context_control.plan())
        if runtime.session.context.epoch is not None
        else ()
    )


@Action(Need.CONTEXT, during_turn=True)
def plan(runtime: Runtime, asked: Invocation) -> ActionResult:
    """What the next cut leaves out"""
    found = runtime.context_control.plan()
    return ActionResult(asdict(found), _format_plan(found))


def _format_plan(found: ReductionPlan) -> tuple[str, ...]:
    """Return what the next reduction does, and how to keep a turn; a line that begins with two spaces is a detail."""
    line = f"next cut: {_describe_cut(found)} {found.when}"
    if found.after is not None:
        line += f", {format_tokens(found.before)} → {format_tokens(found.after)} tokens"
    if found.why:
        line += f" ({found.why})"
    lines = [line]
    if found.removes:
        lines.append("  /pin keeps a turn")
    return tuple(lines)


def _describe_cut(plan: ReductionPlan) -> str:
    """Return what a reduction does, and to which turns."""
    turns = [name for name in plan.removes if name.startswith("T")]
    if not plan.removes:
        return "leaves out nothing"
    if not turns:
        return f"shortens {pluralize(len(plan.removes), 'old result')}"
    does = "sums up" if plan.how == "condense" else "leaves out"
    last = f" to {turns[-1]}" if len(turns) > 1 else ""
    return f"{does} {turns[0]}{last}"


@Action(Need.CONTEXT, Words("TEXT", "the text to search for", "+", is_text=True), during_turn=True)
def why(runtime: Runtime, asked: Invocation) -> ActionResult:
    """Why a text is no longer sent"""
    found = runtime.context_control.why(asked.text)
    lines = []
    for one in found:
        lines.append(f"T{one['turn']} · {one['where']}: {one['excerpt']}")
        if one["sent"]:
            lines.append("  in the next request, word for word")
        elif one["by"]:
            by = "{id} ({how}, in T{turn})".format(**one["by"])
            lines.append(f"  removed by {by} · {one['back']} restores it")
        else:
            lines.append("  never sent in this form")
    return ActionResult(found, tuple(lines) or ("not found in this session",))


@Action(Need.CONTEXT, during_turn=True)
def log(runtime: Runtime, asked: Invocation) -> ActionResult:
    """All reductions, newest first"""
    found = runtime.sessions.context.log(runtime.context_control.session)
    fields = ("id", "how", "interaction", "step", "before", "after", "detail", "undone")
    rows = tuple(
        (
            row.id,
            f"T{row.interaction}" + (f".{row.step}" if row.step else ""),
            f"{row.how} (undone)" if row.undone else row.how,
            f"{format_tokens(row.before)} → {format_tokens(row.after)}",
            row.detail,
        )
        for row in found
    )
    value = [{name: getattr(row, name) for name in fields} for row in found]
    return ActionResult(value, head=("id", "turn", "how", "tokens", "why"), rows=rows)


@Action(Need.CONTEXT)
def undo(runtime: Runtime, asked: Invocation) -> ActionResult:
    """Undo the newest reduction"""
    taken = runtime.context_control.undo()
    line = f"undid {taken.id} ({taken.how}): the next request contains what it removed"
    return ActionResult({"undone": taken.id, "how": taken.how}, (line,))


def _complete_turns(runtime: Runtime) -> Values:
    newest = reversed(runtime.session.group_by_interaction(_MAX_TURNS))
    return [_describe_turn(group[0]) for group in newest]


def _describe_turn(query: ChatMessage) -> tuple[str, str]:
    """Return the turn's name and the beginning of its query, on one line."""
    words = " ".join(query.content.split())
    return f"T{query.interaction}", words[:_MAX_QUERY]


_TURN = Words("[TURN]", "for example T7 (default: the newest)", "?")


@Action(Need.CONTEXT, _TURN, complete=_complete_turns, is_command=True)
def pin(runtime: Runtime, asked: Invocation) -> ActionResult:
    """Keep a turn in every request (default: the last one)"""
    control = runtime.context_control
    number = parse_turn(asked.text) if asked.words else None
    size = control.pin(number)
    pins = list(control.session.context.pins)
    line = f"pinned T{number or control.session.interactions} ({format_tokens(size)} tokens in every request)"
    note = f"all pinned turns: {', '.join(f'T{n}' for n in pins)}" if len(pins) > 1 else ""
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
    wanted = asked.text.removeprefix("preview").strip()
    now = runtime.session.window
    spec = _parse_window(wanted) if wanted else None
    if spec is not None and not is_preview:
        runtime.sessions.set_window(spec)
    then = runtime.context_control.preview(spec)
    value = {
        "window": str(spec or now),
        "first": then.first,
        "last": then.last,
        "tokens": then.after,
        "tokens_now": then.before,
        "leaves": list(then.leaves),
        "returns": list(then.returns),
    }
    if is_preview:
        title = f"window {now} → {spec or now}"
        return ActionResult(value, _format_preview(runtime, title, then))
    title = f"window {spec or now}"
    return ActionResult(value, (title, *_format_window(runtime, then)))


def _format_preview(runtime: Runtime, title: str, then: WindowPreview) -> tuple[str, str]:
    """Return what a change of the window would change, and what the next request would then take."""
    changes: list[str] = []
    if then.leaves:
        changes.append(f"{', '.join(then.leaves)} would be left out")
    if then.returns:
        changes.append(f"{', '.join(then.returns)} would come back")
    size = f"{format_tokens(then.before)} → {format_tokens(then.after)} tokens"
    size += _format_cost_change(runtime, then.before, then.after)
    return f"{title}: {'; '.join(changes) or 'no change'}", f"  the next request: {size}"


def _format_window(runtime: Runtime, then: WindowPreview) -> tuple[str, ...]:
    """Return which turns the next request contains, and what the next reduction would remove."""
    pins = [f"T{number}" for number in runtime.session.context.pins if number < then.first]
    sent: list[str] = []
    if then.last == then.first:
        sent.append(f"turn {then.last}")
    elif then.last > then.first:
        sent.append(f"turns {then.first} to {then.last}")
    if pins:
        sent.append(f"pinned {', '.join(pins)}")
    if not sent:
        return ("  the next request contains no earlier turns",)
    line = f"  the next request contains {' and '.join(sent)} ({format_tokens(then.after)} tokens in all)"
    older = then.first - 1 - len(pins)
    if older:
        line += f"; {pluralize(older, 'older turn')} not sent, but stored"
    return line, *_next_reduction(runtime)


def _parse_window(text: str) -> WindowSpec:
    try:
        return WindowSpec.parse(text)
    except ValueError as error:
        raise BadInput(f"{error}.") from error


def _format_cost_change(runtime: Runtime, before: int, after: int) -> str:
    # late: reads the price table
    from swecli.llm.price_table import cost_of

    price = runtime.agent.model.profile.price
    now = cost_of(Usage(input=before), price)
    then = cost_of(Usage(input=after), price)
    if now is None or then is None:
        return ""
    return f", {format_dollars(now)} → {format_dollars(then)} uncached"


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
    async for event in runtime.context_control.compact(asked.text):
        if isinstance(event, ContextReduced):
            line = f"{event.before:,} → {event.after:,} tokens: {event.detail}"
            return ActionResult(to_json(event), (line,))
        if isinstance(event, Notice):
            raise BadInput(f"{event.text[0].upper()}{event.text[1:]}.")
    return ActionResult(None)


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
