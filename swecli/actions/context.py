"""Actions on the context of a session, shared by `/context` and `swecli context`.

A line of a result that begins with two spaces is a detail of the line above.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from typing import TYPE_CHECKING

from swecli.actions.prompt import show_prompt
from swecli.models.action import ActionResult
from swecli.models.context import WindowSpec
from swecli.models.counts import format_tokens, percent, pluralize
from swecli.models.errors import BadInput
from swecli.models.ids import parse_turn
from swecli.models.message import Usage
from swecli.models.money import format_dollars

if TYPE_CHECKING:
    from swecli.agent.context_control import ReductionPlan, WindowPreview
    from swecli.app import Runtime


def _show(runtime: Runtime, text: str = "detail") -> ActionResult:
    """Show the parts of the next request with their tokens, and the next reduction; with "" group similar parts."""
    found = runtime.context_control.meter()
    parts = list(found.parts) if text else found.grouped()
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
    if text:
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
    return _plan(runtime).lines if runtime.session.context.epoch is not None else ()


def _plan(runtime: Runtime, text: str = "") -> ActionResult:
    found = runtime.context_control.plan()
    line = f"next cut: {_describe_cut(found)} {found.when}"
    if found.after is not None:
        line += f", {format_tokens(found.before)} → {format_tokens(found.after)} tokens"
    if found.why:
        line += f" ({found.why})"
    lines = [line]
    if found.removes:
        lines.append("  /pin keeps a turn")
    return ActionResult(asdict(found), tuple(lines))


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


def _why(runtime: Runtime, text: str) -> ActionResult:
    found = runtime.context_control.why(text)
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


def _log(runtime: Runtime, text: str = "") -> ActionResult:
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


def _undo(runtime: Runtime, text: str = "") -> ActionResult:
    taken = runtime.context_control.undo()
    line = f"undid {taken.id} ({taken.how}): the next request contains what it removed"
    return ActionResult({"undone": taken.id, "how": taken.how}, (line,))


def _pin(runtime: Runtime, text: str = "") -> ActionResult:
    """Pin a turn ("": the newest), which keeps it in every request."""
    control = runtime.context_control
    number = parse_turn(text) if text else None
    size = control.pin(number)
    pins = list(control.session.context.pins)
    line = f"pinned T{number or control.session.interactions} ({format_tokens(size)} tokens in every request)"
    note = f"all pinned turns: {', '.join(f'T{n}' for n in pins)}" if len(pins) > 1 else ""
    return ActionResult({"pinned": pins, "tokens": size}, (line,), note=note)


def _unpin(runtime: Runtime, text: str = "") -> ActionResult:
    """Unpin a turn ("": the newest pinned one)."""
    number = runtime.context_control.unpin(parse_turn(text) if text else None)
    return ActionResult(
        {"unpinned": number}, (f"unpinned T{number}: the next reduction may remove it",)
    )


def _window(runtime: Runtime, text: str = "") -> ActionResult:
    """Show the window, set it to `text`, or preview the change if `text` begins with "preview". Raises BadInput."""
    is_preview = text.startswith("preview")
    wanted = text.removeprefix("preview").strip()
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


_Perform = Callable[["Runtime", str], ActionResult]
ACTIONS: dict[str, tuple[_Perform, str]] = {
    "show": (_show, "the parts of the next request with their tokens"),
    "plan": (_plan, "what the next cut leaves out"),
    "why": (_why, "why a text is no longer sent"),
    "log": (_log, "all reductions, newest first"),
    "undo": (_undo, "undo the newest reduction"),
    "pin": (_pin, "keep a turn in every request"),
    "unpin": (_unpin, "unpin a turn"),
    "window": (_window, "show or change how many turns are sent"),
    "prompt": (show_prompt, "the next request, or that of a turn (T7), in outline or in full"),
}
