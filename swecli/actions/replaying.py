"""Run a stored session again with today's code: nothing is sent, and no tool runs."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from difflib import SequenceMatcher, unified_diff
from typing import Any

from swecli.actions.conversation import format_call
from swecli.agent.replay import read_past, replay_turns
from swecli.config.settings import Settings
from swecli.context.replay.history import ASSUMED_WINDOW, History, PastTurn
from swecli.context.replay.requests import Assumptions, ReplayedTurn
from swecli.context.tokens import TokenCounter
from swecli.llm.price_table import row_of, sizes_of
from swecli.models.action import ActionResult
from swecli.models.counts import pluralize
from swecli.models.errors import BadInput
from swecli.models.events import (
    Event,
    StepStarted,
    TextDelta,
    ToolFinished,
    TurnFailed,
    TurnStarted,
    WindowApplied,
)
from swecli.models.message import ToolSpec
from swecli.redact import redact_value
from swecli.store.session_manager import SessionManager
from swecli.values import dataclass

_Change = tuple[tuple[str, ...], tuple[str, ...]]  # neighbouring messages then, and today


@dataclass(frozen=True, slots=True)
class Recording:
    """A stored session, and what its requests depend on beside it."""

    sessions: SessionManager  # in that session
    settings: Settings
    instructions: str  # of the session's folder, "" if that is gone

    def read(self) -> tuple[History, Assumptions]:
        """Return all turns with their stored requests, and what is assumed of the model. Raises BadInput if there are
        no turns."""
        session = self.sessions.session
        self.sessions.load_back_to(1)
        log = self.sessions.context.log(session, 1_000_000)
        model_window, max_output = sizes_of(row_of(session.model))
        window = model_window or ASSUMED_WINDOW
        history = read_past(session, window, self.instructions).with_stored_requests(log)
        ttl = self.settings.cache_minutes * 60
        return history, Assumptions(session.window, window, max_output, ttl=ttl)


def replay_recording(recording: Recording, *, differences_only: bool) -> ActionResult:
    """Return the events of all turns, or only how their requests differ from the stored ones, with exit code 1 if any
    does. Raises BadInput."""
    history, assumptions = recording.read()
    if differences_only and not any(turn.stored_messages for turn in history.turns):
        raise BadInput(
            "The requests of this session are not stored: it was imported from another tool.",
            "Replay it without --diff.",
        )
    report = _ReplayReport(history.counter, history.tools)
    replayed = replay_turns(history, assumptions, recording.settings)
    for past, (turn, events) in zip(history.turns, replayed, strict=True):
        report.add_turn(past, turn)
        if differences_only:
            report.add_differences(past, turn)
        else:
            report.add_events(past, turn, events)
    totals = f"{report.totals()}; nothing was sent, no tool ran."
    if report.different_turns:
        totals = f"something else is sent in {report.different_turns} of {len(report.values)} turns: {totals}"
    elif differences_only:
        totals = f"the requests are the same: {totals}"
    value = redact_value({"session_id": history.session.id, "turns": report.values})
    code = 1 if report.different_turns else 0
    return ActionResult(value, (*report.lines, totals), code=code)


class _ReplayReport:
    """Collects what is printed of the turns of a replay, as lines and as values."""

    def __init__(self, counter: TokenCounter, tools: Sequence[ToolSpec]) -> None:
        self.lines: list[str] = []
        self.values: list[dict[str, Any]] = []
        self.different_turns = 0
        self._shown_changes: set[_Change] = set()
        self._counter = counter
        self._tool_tokens = counter.count_tools(tools)

    def totals(self) -> str:
        """Return how many turns, requests and tokens there were."""
        sizes = [size for value in self.values for size in value["requests"]]
        counts = [
            pluralize(len(self.values), "turn"),
            pluralize(len(sizes), "request"),
            pluralize(sum(sizes), "token"),
        ]
        return ", ".join(counts)

    def add_turn(self, past: PastTurn, turn: ReplayedTurn) -> None:
        """Begin a turn, with the tokens of its requests."""
        sizes = [
            self._tool_tokens + self._counter.count_messages(request.messages)
            for request in turn.requests
        ]
        self.values.append({"turn": past.number, "query": past.query, "requests": sizes})

    def add_differences(self, past: PastTurn, turn: ReplayedTurn) -> None:
        """Add how the first request of the turn differs from the stored one, if it is stored."""
        today = next((request.messages for request in turn.requests if not request.condense), [])
        changes = list(_compare_messages(past.stored_messages, today))
        self.different_turns += bool(changes)
        sizes = [
            self._counter.count_messages(messages) for messages in (past.stored_messages, today)
        ]
        titles = (
            f"T{past.number} then, {sizes[0]:,} tokens",
            f"T{past.number} today, {sizes[1]:,} tokens",
        )
        diffs = [list(_diff(titles, change)) for change in changes]
        self.values[-1] |= {"tokens": sizes, "diff": [line for diff in diffs for line in diff]}
        for change, diff in zip(changes, diffs, strict=True):
            if change not in self._shown_changes:
                self.lines += diff
        if repeated := sum(change in self._shown_changes for change in changes):
            self.lines.append(
                f"T{past.number}: {repeated} of {len(changes)} differences were already shown"
            )
        self._shown_changes.update(changes)
        if not past.stored_messages:
            self.lines.append(f"T{past.number}: its requests are not stored")

    def add_events(self, past: PastTurn, turn: ReplayedTurn, events: Sequence[Event]) -> None:
        """Add the events of the turn; the answer is unchanged."""
        sizes = [
            size
            for size, request in zip(self.values[-1]["requests"], turn.requests, strict=True)
            if not request.condense
        ]
        self.lines += _format_turn(past, events, sizes)


def _format_turn(past: PastTurn, events: Sequence[Event], sizes: Sequence[int]) -> Iterator[str]:
    """Yield a line for each event of a turn; `sizes` are the tokens of its requests."""
    for event in events:
        match event:
            case TurnStarted():
                yield f"T{past.number} {past.query}"
            case TextDelta():
                yield f"  {event.text}"
            # a request of a larger number was not sent: the turn ended before it
            case StepStarted() if event.n <= len(sizes):
                yield f"  request {event.n}: {sizes[event.n - 1]:,} tokens"
            case WindowApplied():
                yield f"  window: {pluralize(event.removed, 'turn')} left out, {event.kept} kept"
            case ToolFinished():
                yield format_call(event.call.name, event.call.parameters, event.result.for_model)
            case TurnFailed():
                yield f"  {event.error}"
            case _:
                if line := event.describe():
                    yield f"  {line}"


def _compare_messages(
    stored_messages: Sequence[Mapping[str, Any]], today: Sequence[Mapping[str, Any]]
) -> Iterator[_Change]:
    """Yield the differences between the stored and today's first request; none if it is not stored."""
    if not stored_messages:
        return
    before = [_message_text(message) for message in stored_messages]
    after = [_message_text(message) for message in today]
    matcher = SequenceMatcher(None, before, after, autojunk=False)
    for kind, start, end, new_start, new_end in matcher.get_opcodes():
        if kind != "equal":
            yield tuple(before[start:end]), tuple(after[new_start:new_end])


def _message_text(message: Mapping[str, Any]) -> str:
    calls = "".join(
        f"\n{json.dumps(call, ensure_ascii=False)}" for call in message.get("tool_calls") or ()
    )
    return f"{message['role']}: {message.get('content') or ''}{calls}"


def _diff(titles: tuple[str, str], change: _Change) -> Iterator[str]:
    before, after = ("\n".join(messages).splitlines() for messages in change)
    return unified_diff(before, after, *titles, lineterm="", n=1)
