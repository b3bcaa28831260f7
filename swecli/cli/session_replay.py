"""`swecli sessions replay`: a stored session once more through today's turns, and where its requests would differ."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher, unified_diff
from typing import Any

from swecli.cli.learn import instructions_in
from swecli.cli.subcommands import configuration_of, open_sessions
from swecli.context.replay.history import PastTurn, as_sent
from swecli.context.replay.run import Assumed, prices_of
from swecli.models.errors import BadInput
from swecli.models.events import Event, StepStarted, TextDelta, ToolFinished, TurnFailed, TurnStarted, WindowApplied
from swecli.models.learning_events import event_line
from swecli.models.message import ApiMessage
from swecli.playbook.action import ActionResult
from swecli.redact import redact_value

_Change = tuple[tuple[str, ...], tuple[str, ...]]


def replay_session(args: argparse.Namespace) -> ActionResult:
    """The session as it happens today, or with `args.diff` how its requests differ, and then as exit code 1.

    Raises BadInput: there is no such session, or nothing to compare.
    """
    # late: the agent and the tools are loaded after all that can be wrong with the arguments
    from swecli.agent.replay import ASSUMED_WINDOW, read_past, replay_turns  # noqa: PLC0415

    with open_sessions(args) as sessions:
        session = sessions.resume(args.session, "", window_hint=1)
        sessions.load_back_to(1)
        log = sessions.context.log(session, 1_000_000)
    settings, prices = configuration_of(args).settings, prices_of(session.model)
    window = prices.context_window or ASSUMED_WINDOW
    history = as_sent(read_past(session, settings, window, instructions_in(session.working_directory)), log)
    if args.diff and not any(turn.stored for turn in history.turns):
        raise BadInput("What this session sent is not stored: another tool made it.", "Replay it without --diff.")
    assumed = Assumed(prices, session.window, window, settings.cache_minutes * 60)
    turns, sizes = replay_turns(history, assumed, settings), list[int]()
    tools, seen, different = history.counter.count_tools(history.texts.tools), set[_Change](), 0
    lines, values = list[str](), list[dict[str, Any]]()
    for past, (sent, events) in zip(history.turns, turns, strict=True):
        sizes += (each := [tools + history.counter.count_messages(request.messages) for request in sent.requests])
        value: dict[str, Any] = {"turn": past.number, "query": past.query, "requests": each}
        if args.diff:
            today = next((request.messages for request in sent.requests if not request.condense), [])
            changes = list(_changes(past.stored, today))
            different += bool(changes)
            before, after = map(history.counter.count_messages, (past.stored, today))
            names = (f"T{past.number} then, {before:,} tokens", f"T{past.number} today, {after:,} tokens")
            value |= {"tokens": [before, after], "diff": [line for change in changes for line in _diff(names, change)]}
            lines += _report(past, names, changes, seen)
        else:
            steps = [size for size, request in zip(each, sent.requests, strict=True) if not request.condense]
            lines += _lines(past, events, steps)
        values.append(value)
    outcome = f"{different} of {len(turns)} turns send something else" if different else "the requests are the same"
    sums = f"{len(turns)} turns, {len(sizes)} requests, {sum(sizes):,} tokens"
    ends = [*([outcome] if args.diff else []), f"{sums}; nothing was sent, no tool ran."]
    whole = redact_value({"session_id": session.id, "turns": values})
    return ActionResult(whole, (*lines, ": ".join(ends)), code=int(different > 0))


def _lines(past: PastTurn, events: Sequence[Event], sizes: Sequence[int]) -> Iterator[str]:
    """What happened in a turn, a line each; an answer as it is."""
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
            case StepStarted() if event.n <= len(sizes):  # else the turn ended before it was sent
                yield f"  request {event.n}: {sizes[event.n - 1]:,} tokens"
            case WindowApplied():
                yield f"  window: {event.removed} turns left, {event.kept} are kept"
            case ToolFinished():
                given = json.dumps(event.call.parameters, ensure_ascii=False)
                first, *more = event.result.for_model.strip().splitlines() or ["nothing"]
                yield f"  {event.call.name} {given} -> {first}" + (f" (+{len(more)} lines)" if more else "")
            case TurnFailed():
                yield f"  {event.error}"
            case _:
                if line := event_line(event):
                    yield f"  {line}"
    if text:
        yield f"  {text}"


def _changes(stored: Sequence[ApiMessage], today: Sequence[ApiMessage]) -> Iterator[_Change]:
    """Where the messages of a turn's first request differ, none where they are not stored."""
    then, now = [_text(message) for message in stored], [_text(message) for message in today]
    for kind, a, b, c, d in SequenceMatcher(None, then, now, autojunk=False).get_opcodes() if stored else ():
        if kind != "equal":
            yield tuple(then[a:b]), tuple(now[c:d])


def _text(message: ApiMessage) -> str:
    calls = "".join(f"\n{json.dumps(call, ensure_ascii=False)}" for call in message.get("tool_calls") or ())
    return f"{message['role']}: {message.get('content') or ''}{calls}"


def _report(past: PastTurn, names: tuple[str, str], changes: Sequence[_Change], seen: set[_Change]) -> Iterator[str]:
    """The changes that no earlier turn had; a line for the others."""
    for change in changes:
        if change not in seen:
            yield from _diff(names, change)
    if before := sum(change in seen for change in changes):
        yield f"T{past.number}: {before} of {len(changes)} differences as before"
    seen.update(changes)
    if not past.stored:
        yield f"T{past.number}: what it sent is not stored"


def _diff(names: tuple[str, str], change: _Change) -> Iterator[str]:
    then, now = ("\n".join(side).splitlines() for side in change)
    return unified_diff(then, now, *names, lineterm="", n=1)
