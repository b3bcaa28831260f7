"""`/context`, `/pin`, `/window`, `/prompt` and `swecli context`: show and change what a session's next request has."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, replace
from typing import TYPE_CHECKING

from swecli.actions.left_turns import WINDOW_WORDS, back, left
from swecli.actions.prompt import FULL, outline_next, show_prompt
from swecli.actions.turn_pieces import complete_turns
from swecli.models.action import Action, ActionResult, Family, Flag, Invocation, Need, Words
from swecli.models.context import BEGIN, UNDO
from swecli.models.counts import format_tokens, percent, pluralize
from swecli.models.errors import BadInput
from swecli.models.events import ContextReduced, Notice, to_json
from swecli.models.ids import parse_turn
from swecli.models.message import Usage
from swecli.models.money import format_dollars
from swecli.models.window_spec import WindowSpec

if TYPE_CHECKING:
    from swecli.agent.context_control import Meter, ReductionPlan, WindowPreview
    from swecli.app import Runtime
    from swecli.models.session import Session

_MAX_REDUCTIONS = 5  # that an outline names
_FORMER_NAMES = ("plan", "detail")  # of `show`
_SIZES = (
    ("5", "the last 5 turns"),
    ("5+3", "5 turns, growing to 8 before it is cut back"),
    ("full", "everything"),
    ("auto", "as many as fit the query"),
    ("left", "the turns that are not sent any more"),
    ("back", "T3: send that turn again, with the next request only"),
)


@Action(Need.CONTEXT, during_turn=True)
def show(runtime: Runtime, invocation: Invocation) -> ActionResult:
    """Outline of the next request: its parts with their sizes, what is left out and why"""
    control = runtime.context_control
    meter = control.meter()
    value = asdict(meter) | {
        "parts": [{"name": name, "tokens": count} for name, count in meter.parts]
    }
    lines = [_format_size(meter)]
    if meter.limit is not None:
        lines.append(_format_kept_free(meter))
    if meter.cached:
        lines.append(
            f"  {format_tokens(meter.cached)} were sent before and may be billed as cached"
        )
    session = runtime.session
    if session.interactions:
        next_cut = control.plan()
        value["next"] = asdict(next_cut)
        lines += [
            _format_turns(session, control.preview()),
            *_format_brought_back(session, meter),
            *_format_left_out(runtime, next_cut),
            *_format_plan(next_cut),
        ]
    rows = tuple(
        (name, f"{tokens:,}", content) for name, tokens, content in outline_next(runtime, meter)
    )
    note = f"{invocation.prefix}{_prompt_command(invocation)} full prints all of it"
    if _is_former(invocation):
        note = f"{invocation.prefix}context {invocation.name} is {invocation.prefix}context now\n{note}"
    return ActionResult(
        value, tuple(lines), head=("part", "tokens", "content"), rows=rows, note=note
    )


def _prompt_command(invocation: Invocation) -> str:
    return "prompt" if invocation.prefix == "/" else "context prompt"


def _is_former(invocation: Invocation) -> bool:
    return invocation.name in _FORMER_NAMES


def _format_size(meter: Meter) -> str:
    """Return the size of the next request, with its share of what the model takes."""
    total = f"{'about ' if meter.estimated else ''}{format_tokens(meter.total)}"
    if meter.limit is None:
        return f"{total} tokens (the model's limit is unknown)"
    bar = _format_bar(meter.total, meter.limit)
    share = percent(meter.total, meter.limit)
    return f"{bar} {total} of {format_tokens(meter.limit)} tokens ({share}%)"


def _format_kept_free(meter: Meter) -> str:
    """Return what of the model's window a request may not take."""
    answer = f"{format_tokens(meter.reserve)} for the answer"
    uncertain = (meter.window or 0) - (meter.limit or 0) - meter.reserve
    if meter.window is None or uncertain <= 0:
        return f"  kept free besides: {answer}"
    whole = format_tokens(meter.window)
    return f"  kept free of the model's {whole}: {answer}, {format_tokens(uncertain)} since counts are estimates"


def _format_bar(amount: int, total: int, width: int = 24) -> str:
    """Format a bar of `width` characters, filled by the share of `amount`; a share above 0 fills at least one."""
    filled = 0 if total <= 0 or amount <= 0 else min(width, max(1, round(width * amount / total)))
    return "█" * filled + "·" * (width - filled)


def _format_turns(session: Session, preview: WindowPreview) -> str:
    """Return how many turns the next request contains, and how many are only stored."""
    pinned = [number for number in session.context.pins if number < preview.first]
    sent_count = max(0, preview.last - preview.first + 1) + len(pinned)
    stored_count = session.interactions - sent_count
    line = f"{pluralize(sent_count, 'turn')} sent"
    if pinned:
        line += f" ({len(pinned)} pinned)"
    return f"{line}, {stored_count} stored" if stored_count else line


def _format_brought_back(session: Session, meter: Meter) -> Iterator[str]:
    """Yield which turns go with the next request again, with what they take there."""
    sizes = dict(meter.parts)
    for number in session.context.brought_back:
        if tokens := sizes.get(f"brought back {number}"):
            yield f"  T{number} goes with it again, this once: {format_tokens(tokens)} tokens"


def _format_left_out(runtime: Runtime, next_cut: ReductionPlan) -> Iterator[str]:
    """Yield what is not in the next request, and why: the turns before the window, and what was shortened."""
    rows = runtime.sessions.context.log(runtime.session, _MAX_REDUCTIONS)
    present = [row for row in rows if not row.undone and row.how not in (BEGIN, UNDO)]
    cuts = [row.detail for row in present if row.epoch is not None]
    reasons = [next_cut.why] if next_cut.removes and next_cut.is_made else cuts[:1]
    for reason in reasons:
        if reason:
            yield f"  left out because: {reason}. /window left shows which, /pin keeps one"
    for row in present:
        if row.epoch is None:
            size = f"{format_tokens(row.before)} → {format_tokens(row.after)} tokens"
            yield f"  shortened: {row.detail or row.how} ({size})"


def _format_plan(plan: ReductionPlan) -> tuple[str, ...]:
    """Return what is left out next, and how to keep it."""
    if not plan.removes or plan.is_made:
        return ("Nothing more is dropped next.",)
    turns = [name for name in plan.removes if name.startswith("T")]
    if not turns:
        count = pluralize(len(plan.removes), "old result")
        return (f"With the next request {count} are shortened: {plan.why}.",)
    oldest = "the oldest turn" if len(turns) == 1 else f"the oldest {len(turns)} turns"
    verb = "summarised" if plan.how == "condense" else "dropped"
    is_one = len(turns) == 1
    moment = f"{plan.when[0].upper()}{plan.when[1:]}"
    return (f"{moment} {oldest} {'is' if is_one else 'are'} {verb}. /pin keeps one.",)


@Action(Need.CONTEXT, Words("TEXT", "the text to search for", "+", is_text=True), during_turn=True)
def why(runtime: Runtime, invocation: Invocation) -> ActionResult:
    """Why a text is no longer sent"""
    occurrences = runtime.context_control.find_text(invocation.text)
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
def log(runtime: Runtime, invocation: Invocation) -> ActionResult:
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
def undo(runtime: Runtime, invocation: Invocation) -> ActionResult:
    """Undo the newest reduction"""
    reduction = runtime.context_control.undo()
    line = "The summary is undone: all its turns are sent again."
    if reduction.how != "condense":
        line = "Undone: what was left out last is sent again."
    return ActionResult({"undone": reduction.id, "how": reduction.how}, (line,))


_TURN = Words("[TURN]", "for example T7 (default: the newest)", "?")


@Action(Need.CONTEXT, _TURN, complete=complete_turns, is_command=True)
def pin(runtime: Runtime, invocation: Invocation) -> ActionResult:
    """Keep a turn in every request (default: the last one)"""
    control = runtime.context_control
    number = parse_turn(invocation.text) if invocation.words else None
    size = control.pin(number)
    pins = list(control.session.context.pins)
    line = f"pinned T{number or control.session.interactions} ({format_tokens(size)} tokens in every request)"
    note = f"all pinned turns: {', '.join(f'T{turn}' for turn in pins)}" if len(pins) > 1 else ""
    return ActionResult({"pinned": pins, "tokens": size}, (line,), note=note)


@Action(Need.CONTEXT, _TURN, complete=complete_turns, is_command=True)
def unpin(runtime: Runtime, invocation: Invocation) -> ActionResult:
    """Unpin a turn (default: the last one)"""
    number = runtime.context_control.unpin(
        parse_turn(invocation.text) if invocation.words else None
    )
    return ActionResult({"unpinned": number}, (f"unpinned T{number}: it may be left out again",))


_WINDOW = Words(
    "[N|N+S|full|auto] · preview N · left [T3] · back T3",
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
async def window(runtime: Runtime, invocation: Invocation) -> ActionResult:
    """Show or change how many past turns are sent

    In a session the word "preview" in front is the flag, and "left" and "back" are the actions of that name. Raises
    BadInput.
    """
    word, _, rest = invocation.text.partition(" ")
    if word in WINDOW_WORDS:
        action = WINDOW_WORDS[word]
        request = action.read(rest, word, invocation.folder)
        return await action.perform(
            runtime, replace(request, face=invocation.face, prefix=invocation.prefix)
        )
    is_preview = _PREVIEW.name in invocation.flags or invocation.text.startswith("preview")
    text = invocation.text.removeprefix("preview").strip()
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
    turns = _format_turns(runtime.session, preview)
    size = f"{format_tokens(preview.after)} tokens"
    lines = [f"window {spec or present}: {turns} ({size})"]
    if runtime.session.interactions:
        lines += [f"  {line}" for line in _format_plan(runtime.context_control.plan())]
    return ActionResult(value, tuple(lines))


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
        *complete_turns(runtime),
    ],
    is_command=True,
    during_turn=True,
)
def prompt(runtime: Runtime, invocation: Invocation) -> ActionResult:
    """Show the next request (for TEXT), or that of turn T7: one line a message, or exactly as it is sent (full)"""
    return show_prompt(runtime, invocation.text)


@Action(
    Need.ANSWER,
    Words("[FOCUS]", "the focus of the summary", is_text=True),
    aliases=("condense",),
    is_command=True,
)
async def compact(runtime: Runtime, invocation: Invocation) -> ActionResult:
    """Summarise the conversation (optional: what to focus on)"""
    result = ActionResult(None)
    with invocation.face.working("Summarising the conversation"):
        async for event in runtime.context_control.compact(invocation.text):
            if isinstance(event, Notice) and result.value is None:
                raise BadInput(f"{event.text[0].upper()}{event.text[1:]}.")
            invocation.face.show(event)
            if isinstance(event, ContextReduced):
                line = f"{event.before:,} → {event.after:,} tokens: {event.detail}"
                result = ActionResult(to_json(event), (line,))
    return result


# names of earlier versions, which go on answering
plan, detail = (
    replace(show, name=name, help="Former name of show", is_former=True) for name in _FORMER_NAMES
)
context = Family(
    "context",
    "Show what the next request contains and what was removed",
    (show, detail, plan, why, log, undo, left, back, pin, unpin, window, prompt, compact),
    default="show",
    aliases=("tokens",),
)
