"""Replay a stored session: compare the cost of context policies (`swecli context replay`), or run its turns with
today's code and compare the requests (`swecli sessions replay`)."""

from __future__ import annotations

import argparse
import json
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from difflib import SequenceMatcher, unified_diff
from pathlib import Path
from typing import Any

from swecli.cli.flags import Parser
from swecli.cli.playbook import instructions_in
from swecli.cli.subcommands import configuration_of, format_call, format_table, open_sessions, positive_int, write_file
from swecli.context.replay.history import ASSUMED_WINDOW, History, PastTurn
from swecli.context.replay.run import (
    MINIMUM_PREFIX,
    OURS,
    POLICIES,
    TTL,
    Assumptions,
    PolicyUsage,
    Prices,
    TurnUsage,
    plot,
    svg,
)
from swecli.models.context import WindowSpec
from swecli.models.errors import BadInput
from swecli.models.events import Event, StepStarted, TextDelta, ToolFinished, TurnFailed, TurnStarted, WindowApplied
from swecli.models.message import ApiMessage
from swecli.playbook.action import ActionResult
from swecli.redact import redact_value

_HEAD = ("policy", "requests", "input tokens", "cached", "cost", "mean visible", "peak tokens")
_TURN_HEAD = ("turn", "policy", "requests", "input tokens", "cached", "cost", "visible", "peak tokens")
_POLICIES = (*POLICIES, OURS)
_Change = tuple[tuple[str, ...], tuple[str, ...]]


def add_replay(parser: Parser) -> None:
    about = "compare what each policy would have sent and cost; nothing is sent"
    add = parser.action("replay", _replay_policies, about).add_argument
    add("session", nargs="?", metavar="SESSION", help="id, prefix of one, or title (default: the last one here)")
    add("--policy", action="append", choices=_POLICIES, help="only this one (repeat for more; default: all)")
    add("--window", type=_window, default=WindowSpec(5, 3), metavar="N+S", help="size and slack (default: 5+3)")
    add("--model", metavar="PROVIDER/NAME", help="model for prices and window (default: the session's)")
    add("--context-window", type=positive_int, metavar="TOKENS", help="the model's window, if the table is wrong")
    add("--ttl", type=positive_int, default=TTL, metavar="SECONDS", help="how long a cache is kept (default: 300)")
    add("--turns", action="store_true", help="also print each turn")
    add("--plot", action="store_true", help="plot tokens by turn")
    add("--svg", type=Path, metavar="FILE", help="write the plot as SVG")


def _window(text: str) -> WindowSpec:
    try:
        spec = WindowSpec.parse(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error
    if spec.mode != "fixed":
        raise argparse.ArgumentTypeError(f"{text!r} is not a window size (give N or N+S, for example 5+3)")
    return spec


def _replay_policies(args: argparse.Namespace) -> ActionResult:
    # late: usage errors need neither agent nor tools
    from swecli.agent.replay import read_past, replay_turns  # noqa: PLC0415

    with open_sessions(args) as sessions:
        session = sessions.resume(args.session, str(Path.cwd()), window_hint=1)
        sessions.load_back_to(1)
    settings, prices = configuration_of(args).settings, Prices.of(args.model or session.model)
    window = args.context_window or prices.context_window or ASSUMED_WINDOW
    assumed, history = Assumptions(prices, args.window, window, args.ttl), read_past(session, settings, window)
    replays = []
    for name in dict.fromkeys(args.policy or _POLICIES):
        ours = name == OURS
        turns = [t for t, _ in replay_turns(history, assumed, settings)] if ours else POLICIES[name](history, assumed)
        replays.append(PolicyUsage.compute(name, turns, history, assumed))
    if args.svg:
        write_file(args.svg, svg(replays, f"Replay of {session.title or session.id}"), "Give --svg another file.")
    totals = {replayed.policy: replayed.totals() for replayed in replays}
    rows = tuple((name, *_format_cells(total, assumed)) for name, total in totals.items())
    lines = _format_turns(replays, assumed) if args.turns else []
    lines += ["", *plot(replays, shutil.get_terminal_size().columns)] if args.plot else []
    lines += ["", *_list_notes(history, replays[0], totals, assumed)]
    whose = "as given" if args.context_window else "from the local table" if prices.context_window else ""
    lines.append(f"The model's window is {whose or 'unknown and was assumed'}; --context-window sets it.")
    lines += [f"Wrote {args.svg}."] if args.svg else []
    return ActionResult(_to_json(history, replays, assumed, args.turns), tuple(lines), _HEAD, rows)


def _format_cells(figures: TurnUsage, assumed: Assumptions) -> tuple[str, ...]:
    cost = f"${figures.cost:,.4f}" if assumed.prices.unit == "USD" else f"{figures.cost:,.0f} units"
    visible = f"{figures.visible:{'g' if figures.turn else '.1f'}}"
    share, peak = f"{figures.cached_share:.1%}", f"{figures.peak:,}"
    return f"{figures.requests:,}", f"{figures.input:,}", share, cost, visible, peak


def _format_turns(replays: list[PolicyUsage], assumed: Assumptions) -> list[str]:
    rows = [
        (f"T{turn.turn}", replayed.policy, *_format_cells(turn, assumed))
        for turns in zip(*(replayed.turns for replayed in replays), strict=True)
        for replayed, turn in zip(replays, turns, strict=True)
    ]
    return ["", *format_table(_TURN_HEAD, rows)]


def _list_notes(history: History, first: PolicyUsage, totals: dict[str, TurnUsage], assumed: Assumptions) -> list[str]:
    """Compare our policy with the others and list the assumptions, one line each."""
    counter, cold = history.counter, sum(turn.cold for turn in first.turns[1:])
    how = f"counted with {counter.encoding}" if not counter.estimated else "estimated from characters"
    over = ", ".join(f"{name} {total.over:,}" for name, total in totals.items() if total.over)
    return [
        *_compare_costs({name: total.cost for name, total in totals.items()}),
        f"A simulation over the {len(first.turns):,} stored turns of {history.session.id}: nothing was sent to a "
        f"model. Tokens are {how}.",
        _describe_prices(assumed),
        f"Cache: kept {assumed.ttl:g} s after a request, from {MINIMUM_PREFIX:,} tokens on; "
        f"{cold:,} turns began later.",
        f"Model's window {assumed.context_window:,} tokens; reflection window {assumed.window}; "
        f"a summary is assumed to have {assumed.summary_tokens:,} tokens.",
        *([f"Requests larger than the model's window, which it would refuse: {over}."] if over else []),
        "Left out: project instructions and the cost of learning. full and compact90 have no playbook.",
    ]


def _describe_prices(assumed: Assumptions) -> str:
    prices = assumed.prices
    each = ", ".join(f"{name.replace('_', ' ')} {price:g}" for name, price in prices.per_million().items())
    if prices.unit == "USD":
        return f"Prices of {prices.model} in litellm's local table, USD per million tokens: {each}."
    named = f"No price is known for {prices.model!r}" if prices.model else "The session names no model"
    return f"{named}: cost in relative units, for a token of {each}."


def _compare_costs(costs: dict[str, float]) -> list[str]:
    own, others = costs.get(OURS), [(name, cost) for name, cost in costs.items() if name != OURS and cost]
    if own is None or not others:
        return []
    less = (f"{abs(1 - own / c):.1%} {'less' if own <= c else 'more'} than {name}" for name, c in others)
    return [f"ours costs {', '.join(less)}."]


def _to_json(history: History, replays: list[PolicyUsage], assumed: Assumptions, each_turn: bool) -> dict[str, Any]:
    found = []
    for replayed in replays:
        totals = replayed.totals()
        turns = {"by_turn": [asdict(turn) for turn in replayed.turns]} if each_turn else {}
        own = {name: value for name, value in asdict(totals).items() if name not in ("turn", "cold", "visible")}
        own |= {"mean_visible": totals.visible, "cached_share": totals.cached_share}
        found.append({"policy": replayed.policy, **own, **turns})
    prices = assumed.prices
    return {
        "simulation": True,
        "session_id": history.session.id,
        "turns": len(replays[0].turns),
        "window": str(assumed.window),
        "model": prices.model,
        "cost_unit": prices.unit,
        "prices": prices.per_million() if prices.unit == "USD" else prices.row,
        "context_window": assumed.context_window,
        "ttl": assumed.ttl,
        "tokens_estimated": history.counter.estimated,
        "policies": found,
    }


def replay_session(args: argparse.Namespace) -> ActionResult:
    """Replay the session with today's code; with `args.diff`, print the differences between the requests and return
    exit code 1 if there are any. Raises BadInput."""
    # late: usage errors need neither agent nor tools
    from swecli.agent.replay import read_past, replay_turns  # noqa: PLC0415

    with open_sessions(args) as sessions:
        session = sessions.resume(args.session, "", window_hint=1)
        sessions.load_back_to(1)
        log = sessions.context.log(session, 1_000_000)
    settings, prices = configuration_of(args).settings, Prices.of(session.model)
    window = prices.context_window or ASSUMED_WINDOW
    history = read_past(session, settings, window, instructions_in(session.working_directory))
    history = history.with_stored_requests(log)
    if args.diff and not any(turn.stored for turn in history.turns):
        raise BadInput(
            "The requests of this session are not stored: it was imported from another tool.",
            "Replay it without --diff.",
        )
    assumed = Assumptions(prices, session.window, window, settings.cache_minutes * 60)
    turns, sizes = replay_turns(history, assumed, settings), list[int]()
    tools, seen, different = history.counter.count_tools(history.tools), set[_Change](), 0
    lines, values = list[str](), list[dict[str, Any]]()
    for past, (sent, events) in zip(history.turns, turns, strict=True):
        sizes += (each := [tools + history.counter.count_messages(request.messages) for request in sent.requests])
        value: dict[str, Any] = {"turn": past.number, "query": past.query, "requests": each}
        if args.diff:
            today = next((request.messages for request in sent.requests if not request.condense), [])
            changes = list(_compare_messages(past.stored, today))
            different += bool(changes)
            before, after = map(history.counter.count_messages, (past.stored, today))
            names = (f"T{past.number} then, {before:,} tokens", f"T{past.number} today, {after:,} tokens")
            value |= {"tokens": [before, after], "diff": [line for change in changes for line in _diff(names, change)]}
            lines += _new_changes(past, names, changes, seen)
        else:
            steps = [size for size, request in zip(each, sent.requests, strict=True) if not request.condense]
            lines += _format_turn(past, events, steps)
        values.append(value)
    outcome = f"{different} of {len(turns)} turns send something else" if different else "the requests are the same"
    sums = f"{len(turns)} turns, {len(sizes)} requests, {sum(sizes):,} tokens"
    ends = [*([outcome] if args.diff else []), f"{sums}; nothing was sent, no tool ran."]
    whole = redact_value({"session_id": session.id, "turns": values})
    return ActionResult(whole, (*lines, ": ".join(ends)), code=int(different > 0))


def _format_turn(past: PastTurn, events: Sequence[Event], sizes: Sequence[int]) -> Iterator[str]:
    """Describe the events of a turn, one line each; the answer is unchanged."""
    text = ""
    for event in events:
        if isinstance(event, TextDelta):
            text += event.text
            continue
        if text:
            yield f"  {text}"
            text = ""
        match event:
            case TurnStarted():
                yield f"T{past.number} {past.query}"
            case StepStarted() if event.n <= len(sizes):  # otherwise the turn ended before it was sent
                yield f"  request {event.n}: {sizes[event.n - 1]:,} tokens"
            case WindowApplied():
                yield f"  window: {event.removed} turns removed, {event.kept} kept"
            case ToolFinished():
                yield format_call(event.call.name, event.call.parameters, event.result.for_model)
            case TurnFailed():
                yield f"  {event.error}"
            case _:
                if line := event.describe():
                    yield f"  {line}"
    if text:
        yield f"  {text}"


def _compare_messages(stored: Sequence[ApiMessage], today: Sequence[ApiMessage]) -> Iterator[_Change]:
    """Yield the differences between the stored and today's first request; none if it is not stored."""
    then, now = [_message_text(message) for message in stored], [_message_text(message) for message in today]
    for kind, a, b, c, d in SequenceMatcher(None, then, now, autojunk=False).get_opcodes() if stored else ():
        if kind != "equal":
            yield tuple(then[a:b]), tuple(now[c:d])


def _message_text(message: ApiMessage) -> str:
    calls = "".join(f"\n{json.dumps(call, ensure_ascii=False)}" for call in message.get("tool_calls") or ())
    return f"{message['role']}: {message.get('content') or ''}{calls}"


def _new_changes(past: PastTurn, names: tuple[str, str], changes: list[_Change], seen: set[_Change]) -> Iterator[str]:
    """Yield diffs of the changes not seen in earlier turns, and a line that counts the others."""
    for change in changes:
        if change not in seen:
            yield from _diff(names, change)
    if before := sum(change in seen for change in changes):
        yield f"T{past.number}: {before} of {len(changes)} differences were already shown"
    seen.update(changes)
    if not past.stored:
        yield f"T{past.number}: its requests are not stored"


def _diff(names: tuple[str, str], change: _Change) -> Iterator[str]:
    then, now = ("\n".join(side).splitlines() for side in change)
    return unified_diff(then, now, *names, lineterm="", n=1)
