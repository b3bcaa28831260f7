"""What the user sees and changes of what is sent: plan, undo, why, pins, a summary on demand."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from dataclasses import asdict, dataclass, replace
from typing import Any

from swecli.agent.agent import Agent
from swecli.agent.fitting import Fitting
from swecli.agent.reducing import CONDENSE, cut_for_summary
from swecli.context.epochs import sized
from swecli.context.fit import CLEAR, TRUNCATE, Fit
from swecli.context.keyed import interaction_of, key_of
from swecli.context.prepare import Prepared, past_request
from swecli.models.context import Reduction
from swecli.models.errors import BadInput
from swecli.models.events import ContextReduced, Event, Notice
from swecli.models.message import ApiMessage
from swecli.models.session import Session
from swecli.store.records import Place

GROWN = 1.1  # after an undo, how much larger a request must be before it is reduced without need


@dataclass(frozen=True, slots=True)
class Plan:
    """The next reduction: which rung, when, what it takes out (`T3`, or ids of calls), and the tokens of the request
    before and after it, where they are known by now."""

    how: str
    when: str
    removes: tuple[str, ...] = ()
    before: int = 0
    after: int | None = None

    def to_json(self) -> dict[str, Any]:
        """All fields as plain JSON values."""
        return asdict(self) | {"removes": list(self.removes)}


@dataclass(frozen=True, slots=True)
class Whereabouts:
    """Where a text was said and what became of it: `sent` word for word in the next request, or taken out by `by`;
    `back` is the command that brings it back, "" when nothing has to be done."""

    place: Place
    sent: bool
    by: Reduction | None = None
    back: str = ""

    def to_json(self) -> dict[str, Any]:
        """All fields as plain JSON values."""
        row = {"turn": self.place.interaction, "where": self.place.where, "excerpt": self.place.excerpt}
        by = (
            {"id": self.by.id, "how": self.by.how, "turn": self.by.interaction, "step": self.by.step}
            if self.by
            else None
        )
        return row | {"sent": self.sent, "by": by, "back": self.back}


class Outlook:
    """Works on the current session of an agent. Every function may raise BadInput: there is no session, or nothing to
    do."""

    def __init__(self, agent: Agent) -> None:
        self._agent, self._sessions = agent, agent.sessions

    @property
    def session(self) -> Session:
        """The session in use, which has begun."""
        session = self._sessions.current_session
        if session is None or session.context.epoch is None:
            raise BadInput("Nothing has been sent in this session yet.", "Say something first.")
        return session

    def undo(self) -> Reduction:
        """Take the newest reduction back. It is not made again at once, unless the request is too long without it."""
        session, agent = self.session, self._agent
        spec = sized(session.window, "", agent.settings.window_min, agent.settings.window_max)
        newest = next(iter(self._sessions.context.log(session, 1)), None)
        before = newest.before if newest else 0
        return self._sessions.undo_reduction(session.interactions + spec.slack + 1, round(before * GROWN))

    def pin(self, interaction: int | None = None) -> int:
        """Let an interaction stay (None: the newest). Returns its tokens."""
        session = self._begun()
        number = session.interactions if interaction is None else interaction
        self._sessions.context.pin(session, number)
        named = (f"pinned {number}", f"interaction {number}")
        return sum(part.tokens for part in self._agent.prepare("").prepared.segments if part.name in named)

    def unpin(self, interaction: int | None = None) -> int:
        """Let an interaction leave like any other (None: the newest pinned one). Returns its number."""
        session = self._begun()
        if not session.context.pins:
            raise BadInput("Nothing is pinned.", "/pin keeps a turn.")
        number = session.context.pins[-1] if interaction is None else interaction
        self._sessions.context.unpin(session, number)
        return number

    def plan(self) -> Plan:
        """The next reduction, as things stand: what it does is exactly this."""
        session, agent = self.session, self._agent
        prepared = agent.prepare("").prepared
        epoch = session.context.epoch
        assert epoch is not None, "the session has begun"
        fitting = agent.fitting()
        if prepared.opens is not None:
            gone = range(epoch.first, prepared.window[0])
            names = tuple(f"T{number}" for number in gone if number not in session.context.pins)
            when = f"with the next turn: {prepared.opens.detail}"
            return Plan("window", when, names, prepared.opens.before, prepared.opens.after)
        measured = fitting.measure(prepared.keyed)
        return self._rung_plan(prepared, fitting, measured) or self._window_plan(session, measured.tokens)

    def _rung_plan(self, prepared: Prepared, fitting: Fitting, measured: Fit) -> Plan | None:
        """The rung that the next request would take; None where it needs none."""
        keyed, when = prepared.keyed, "with the next request: it has reached its threshold"
        if not measured.over:
            return None
        if taken := fitting.measure(keyed, CLEAR).reduced:
            return Plan(CLEAR, when, _changed(keyed, taken[0].messages), measured.tokens, taken[0].after)
        cut = cut_for_summary(keyed, interaction_of(keyed[-1]), self.session.context.pins)
        if cut is not None and fitting.may_condense(measured):
            older = dict.fromkeys(interaction_of(message) for message in cut.asked[1:])
            return Plan(CONDENSE, when, tuple(f"T{number}" for number in older), measured.tokens)
        if not measured.fits and (taken := fitting.measure(keyed, TRUNCATE).reduced):
            return Plan(TRUNCATE, when, _changed(keyed, taken[0].messages), measured.tokens, taken[0].after)
        return None

    def _window_plan(self, session: Session, now: int) -> Plan:
        epoch, settings = session.context.epoch, self._agent.settings
        assert epoch is not None, "the session has begun"
        spec = sized(session.window, "", settings.window_min, settings.window_max)
        if spec.mode == "full":
            when = "never by itself: the window is full; old results go when the request reaches its threshold"
            return Plan("window", when, (), now)
        full = max(epoch.first + spec.size + spec.slack, session.context.hold_turns)
        left = full - session.interactions
        names = tuple(f"T{n}" for n in range(epoch.first, full - spec.size + 1) if n not in session.context.pins)
        turns = "turn" if left == 1 else "turns"
        return Plan("window", f"after {left} more {turns}, or earlier after a long pause", names, now)

    def why(self, text: str) -> list[Whereabouts]:
        """Where a text was said in this session, newest first, and whether the next request holds it."""
        if not text.strip():
            raise BadInput("/context why needs a text to look for.")
        session = self.session
        request = past_request(session)
        log = self._sessions.context.log(session)[::-1]
        found = []
        for place in self._sessions.find(text.strip()):
            theirs = [message for message in request if interaction_of(message) == place.interaction]
            sent = any(text.strip().casefold() in str(m.get("content") or m).casefold() for m in theirs)
            by = None if sent else _taker(place.interaction, bool(theirs), log)
            back = "" if sent or by is None else f"/pin T{place.interaction}"
            found.append(Whereabouts(place, sent, by, back))
        return found

    async def compact(self, wish: str = "") -> AsyncGenerator[Event, None]:
        """Have all that is sent summed up now. Raises BadInput when there is nothing to sum up."""
        session, fitting = self.session, self._agent.fitting()
        number = session.interactions + 1
        outcome = await fitting.summing_up.attempt(
            session, past_request(session), number, lambda messages: fitting.measure(messages).tokens, wish
        )
        if outcome is None:
            raise BadInput("There is nothing to sum up: the next request holds no earlier turn.")
        for record in outcome.records:
            self._sessions.record_request(record)
        if outcome.row is None:
            yield Notice(f"the conversation was not condensed: {outcome.error}", "warning")
            return
        row = self._sessions.context.add(session, replace(outcome.row, interaction=session.interactions))
        yield ContextReduced(row.how, row.before, row.after, row.detail)

    def _begun(self) -> Session:
        session = self._sessions.current_session
        if session is None or not session.interactions:
            raise BadInput("There is no turn in this session yet.", "Say something first.")
        return session


def _changed(before: list[ApiMessage], after: list[ApiMessage]) -> tuple[str, ...]:
    """What is not the same afterwards: ids of calls whose results go, else the turns."""
    same = {key_of(message) for message in after if message in before}
    gone = (message for message in before if key_of(message) not in same)
    return tuple(dict.fromkeys(str(m.get("tool_call_id") or f"T{interaction_of(m)}") for m in gone))


def _taker(interaction: int, visible: bool, log: list[Reduction]) -> Reduction | None:
    """The reduction that took an interaction's text out: the newest that changed it, else the one that moved the window
    past it."""
    for row in reversed([row for row in log if not row.undone]):
        touched = any(
            key.lstrip("<").split(".")[0] == str(interaction) for key in (*row.edits.drop, *row.edits.replace)
        )
        if touched:
            return row
    moved = [r for r in log if not r.undone and r.epoch and r.epoch.first > interaction not in r.epoch.pins]
    return moved[0] if moved and not visible else None
