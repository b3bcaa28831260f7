"""The user's control of the context: meter, preview, plan, undo, pins, search, and a summary on demand."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from dataclasses import dataclass, replace
from itertools import groupby

from swecli.agent.agent import Agent
from swecli.agent.fitted import StepPlace
from swecli.agent.turn import TurnRecord
from swecli.context.epochs import CONDENSE, SummaryCut
from swecli.context.fit import Ladder
from swecli.context.keyed import strip_keys
from swecli.context.prepare import Segment, measure_messages, past_request
from swecli.context.replay.stored import stored_request
from swecli.models.api_message import text_of
from swecli.models.context import Reduction, WindowSpec, interaction_of, key_of
from swecli.models.errors import BadInput
from swecli.models.events import Event
from swecli.models.json_value import JsonObject
from swecli.models.message import ApiMessage, Role
from swecli.models.session import Session

_WHOLE_LOG = 1_000_000  # reductions: more than any session has
_HOLD = 1.1  # growth of a request after an undo before an optional reduction may follow


@dataclass(frozen=True, slots=True)
class ReductionPlan:
    """The next reduction: its rung, when it happens, the turns (`T3`) or call ids that it removes, the request's tokens
    before and after (None: unknown), and `why` it is due, "" if it is not yet."""

    how: str
    when: str
    removes: tuple[str, ...] = ()
    before: int = 0
    after: int | None = None
    why: str = ""


@dataclass(frozen=True, slots=True)
class Meter:
    """Token counts of the next request.

    `parts` and `residual` sum up to `total`, which is scaled to the provider's count. `counted` and `provider` are our
    and the provider's count of the last request, 0 before it. `limit` is None if the model's window is unknown;
    reductions begin at `threshold`; `cached` is the part that was sent before."""

    parts: tuple[tuple[str, int], ...]
    residual: int
    total: int
    limit: int | None
    reserve: int
    threshold: int | None
    cached: int
    counted: int = 0
    provider: int = 0
    estimated: bool = False

    def grouped(self) -> list[tuple[str, int]]:
        """Return the parts with all interactions of the window merged into one."""
        kinds = {"interaction": "window", "pinned": "pins"}
        alike = groupby(self.parts, lambda part: kinds.get(part[0].split()[0]) or part[0])
        return [(kind, sum(tokens for _, tokens in parts)) for kind, parts in alike]


@dataclass(frozen=True, slots=True)
class WindowPreview:
    """The effect of another window: the next request's tokens before and after, tools included; the turns that leave it
    and that return; the first and last interaction in the window."""

    before: int
    after: int
    leaves: tuple[str, ...]
    returns: tuple[str, ...]
    first: int
    last: int


@dataclass(frozen=True, slots=True)
class PastPrompt:
    """The first request of an earlier turn, rebuilt from what is stored. The definitions of its tools are not stored:
    `tools` are the tokens of today's. `counted` are the tokens that were counted when it was sent, tools included; 0 if
    none are stored, or in another encoding. `steps` is the number of requests of the turn. `keyed` are the messages
    with their keys; interactions before `first` are pinned."""

    number: int
    keyed: list[ApiMessage]
    first: int
    segments: tuple[Segment, ...]
    tokens: int  # of the messages
    tools: int
    counted: int
    steps: int

    @property
    def messages(self) -> list[ApiMessage]:
        """The messages as they were sent."""
        return strip_keys(self.keyed)


class ContextControl:
    """Works on the current session. Every method may raise BadInput if there is none, or nothing to do."""

    def __init__(self, agent: Agent) -> None:
        self._agent = agent
        self._sessions = agent.sessions

    @property
    def session(self) -> Session:
        """The current session. Raises BadInput before its first turn."""
        session = self._sessions.current_session
        if session is None or not session.interactions:
            raise BadInput("Nothing has been sent in this session yet.", "Say something first.")
        return session

    def undo(self) -> Reduction:
        """Undo the newest reduction. It is not repeated at once unless the request is too long without it."""
        session = self.session
        agent = self._agent
        spec = agent.builder.conditions(session, agent.model).resolve(session.window)
        before = sum(row.before for row in self._sessions.context.log(session, 1))
        return self._sessions.undo_reduction(
            session.interactions + spec.slack + 1, round(before * _HOLD)
        )

    def pin(self, interaction: int | None = None) -> int:
        """Pin an interaction (None: the newest). Returns its tokens. Raises BadInput if no request has room for it."""
        session = self.session
        agent = self._agent
        agent.count_exactly()
        number = session.interactions if interaction is None else interaction
        before = session.context.pins
        self._sessions.context.pin(session, number)
        named = (f"pinned {number}", f"interaction {number}")
        prepared = agent.prepare("").request
        limits = agent.make_fitter().limits
        tokens = sum(part.tokens for part in prepared.segments if part.name in named)
        room = int(Ladder(limits, agent.counter).room(prepared.keyed))
        if limits.limit and tokens > room:
            if number not in before:
                self._sessions.context.unpin(session, number)
            line = f"T{number} has {tokens:,} tokens; {room:,} fit besides tools and system prompt."
            raise BadInput(line, "It was not pinned. Ask for the part of it that matters.")
        return tokens

    def unpin(self, interaction: int | None = None) -> int:
        """Unpin an interaction (None: the newest pinned one). Returns its number."""
        session = self.session
        if not session.context.pins:
            raise BadInput("Nothing is pinned.", "/pin keeps a turn.")
        number = session.context.pins[-1] if interaction is None else interaction
        self._sessions.context.unpin(session, number)
        return number

    def plan(self) -> ReductionPlan:
        """Return the next reduction exactly as it would happen now."""
        session = self.session
        agent = self._agent
        agent.count_exactly()
        prepared = agent.prepare("").request
        epoch = session.context.epoch
        fitter = agent.make_fitter()
        tokens = fitter.measure(prepared.keyed).tokens
        if epoch is None or prepared.opened is not None:
            names = _unpinned(session, epoch.first if epoch else 1, prepared.window[0])
            before = fitter.measure(past_request(session)).tokens
            why = prepared.opened.detail if prepared.opened else ""
            return ReductionPlan("window", "with the next turn", names, before, tokens, why)
        keyed = prepared.keyed
        when = "with the next request"
        why = "it has reached its threshold"
        found = fitter.next_rung(keyed, StepPlace(interaction_of(keyed[-1]), 1, ""))
        if isinstance(found, SummaryCut):
            older = dict.fromkeys(interaction_of(message) for message in found.asked[1:])
            names = tuple(f"T{number}" for number in older)
            return ReductionPlan(CONDENSE, when, names, tokens, why=why)
        if found is not None:
            # calls whose results change, otherwise turns
            same = {key_of(message) for message in found.messages if message in keyed}
            changed = (message for message in keyed if key_of(message) not in same)
            names = tuple(
                dict.fromkeys(
                    str(m.get("tool_call_id") or f"T{interaction_of(m)}") for m in changed
                )
            )
            return ReductionPlan(found.how, when, names, tokens, found.after, why)
        conditions = agent.builder.conditions(session, agent.model)
        spec = conditions.resolve(session.window)
        if spec.mode == "full":
            why = "old results are cleared when the request reaches its threshold"
            return ReductionPlan("window", "with a window of all turns", (), tokens, why=why)
        full = max(epoch.first + conditions.max_held(spec), session.context.hold_turns)
        left = full - session.interactions
        when = (
            f"after {left} more {'turn' if left == 1 else 'turns'}, or earlier after a long pause"
        )
        return ReductionPlan(
            "window", when, _unpinned(session, epoch.first, full - spec.size + 1), tokens
        )

    def past_prompt(self, number: int) -> PastPrompt:
        """Rebuild the first request of turn `number`. Raises BadInput if there is none, or nothing is stored that it
        was built from."""
        if not 1 <= number <= self.session.interactions:
            raise BadInput(f"There is no turn T{number} in this session.", "See /window.")
        self._agent.count_exactly()
        counter = self._agent.counter
        whole = self._sessions.read_whole()
        log = self._sessions.context.log(whole, _WHOLE_LOG)
        found = stored_request(whole, log, number)
        if found.epoch is None:
            raise BadInput(
                f"The request of T{number} cannot be rebuilt: what it was made from is not stored.",
                "So it is in sessions that were imported from another tool.",
            )
        system, *window, query = found.keyed
        text = str(system["content"])
        counted, encoding = self._sessions.context.counted_at_first(whole, number)
        replies = [
            message
            for message in whole.messages
            if message.interaction == number and message.role is Role.ASSISTANT
        ]
        return PastPrompt(
            number,
            found.keyed,
            found.epoch.first,
            (
                Segment("system", counter.count(text), text),
                *measure_messages(found.epoch, window, query, counter),
            ),
            tokens=counter.count_messages(strip_keys(found.keyed)),
            tools=counter.count_tools(self._agent.specs()),
            counted=counted if encoding == counter.label else 0,
            steps=len(replies),
        )

    def preview(self, spec: WindowSpec | None = None) -> WindowPreview:
        """Compare the next request with the one under another window (None: no change). Nothing is stored."""
        agent = self._agent
        session = self._sessions.current_session
        agent.count_exactly()
        if spec is not None and session is not None:
            self._sessions.load_back_to(spec.first_kept(session.interactions, session.window_start))
            session = replace(session, window=spec)
        requests = (agent.prepare("").request, agent.prepare("", session=session).request)
        fitter = agent.make_fitter()
        before, after = (fitter.measure(request.keyed).tokens for request in requests)
        now, then = (
            {interaction_of(message) for message in request.keyed[1:-1]} for request in requests
        )
        leaves, returns = (
            tuple(f"T{n}" for n in sorted(numbers)) for numbers in (now - then, then - now)
        )
        return WindowPreview(before, after, leaves, returns, *requests[1].window)

    def why(self, text: str) -> list[JsonObject]:
        """Find a text in this session, newest first. Returns JSON values: turn, where, excerpt, whether the next
        request contains it (`sent`), `by` which reduction it was removed, and the command to bring it `back`."""
        if not text.strip():
            raise BadInput("Missing text: /context why TEXT.")
        session = self.session
        request = past_request(session)
        log = self._sessions.context.log(session)[::-1]
        found = []
        for place in self._sessions.find(text.strip()):
            number = place.interaction
            messages = [message for message in request if interaction_of(message) == number]
            sent = any(
                text.strip().casefold() in (text_of(message) or str(message)).casefold()
                for message in messages
            )
            row = None if sent else _find_reduction(number, bool(messages), log)
            by = row and {"id": row.id, "how": row.how, "turn": row.interaction, "step": row.step}
            where = {"turn": number, "where": place.where, "excerpt": place.excerpt, "sent": sent}
            found.append(where | {"by": by, "back": f"/pin T{number}" if by else ""})
        return found

    async def compact(self, wish: str = "") -> AsyncGenerator[Event, None]:
        """Summarise the whole request now. Raises BadInput if there is nothing to summarise."""
        self._agent.count_exactly()
        session = self.session
        fitter = self._agent.make_fitter()
        query = next((m.content for m in reversed(session.messages) if m.role is Role.USER), "")
        past = past_request(session)
        if session.context.epoch is None:  # an imported session: no request was sent yet
            self._sessions.load_back_to(1)
            past = self._agent.prepare(
                "", session=replace(session, window=WindowSpec(mode="full"))
            ).request.keyed[:-1]
        effects = await fitter.compact(past, StepPlace(session.interactions + 1, 0, query), wish)
        if not effects:
            raise BadInput(
                "There is nothing to summarise: no request with earlier turns was made yet.",
                "Ask first.",
            )
        self._agent.observed = fitter.observed
        record = TurnRecord(self._sessions, self._agent.counter)
        for effect in effects:
            row = (
                replace(effect, interaction=session.interactions)
                if isinstance(effect, Reduction)
                else effect
            )
            if (event := record.store(row)) is not None:
                yield event

    def meter(self, query: str = "") -> Meter:
        """Measure the next request for a query. Nothing is stored."""
        agent = self._agent
        agent.count_exactly()
        fitter = agent.make_fitter()
        prepared = agent.prepare(query).request
        limits = fitter.limits
        parts = [("tools", agent.counter.count_tools(agent.specs()))]
        parts += [(segment.name, segment.tokens) for segment in prepared.segments]
        own = prepared.tokens + parts[0][1]
        parts.append(("other", own - sum(tokens for _, tokens in parts)))
        total = fitter.measure(prepared.keyed).tokens
        context = fitter.session.context
        return Meter(
            parts=tuple(part for part in parts if part[1]),
            residual=total - own,
            total=total,
            limit=limits.limit,
            reserve=limits.reserve or 0,
            threshold=min(filter(None, (limits.start, limits.limit)), default=None),
            # the query itself was never sent
            cached=0 if prepared.opened is not None else fitter.measure(prepared.keyed[:-1]).tokens,
            counted=context.asked_counted,
            provider=context.asked_prompt,
            estimated=agent.counter.estimated,
        )


def _unpinned(session: Session, first: int, end: int) -> tuple[str, ...]:
    return tuple(f"T{number}" for number in range(first, end) if number not in session.context.pins)


def _find_reduction(interaction: int, visible: bool, log: list[Reduction]) -> Reduction | None:
    """Return the reduction that removed an interaction's text: the newest that changed it, or that moved the window."""
    for row in reversed([row for row in log if not row.undone]):
        keys = (*row.edits.drop, *row.edits.replace)
        if any(key.lstrip("<").split(".")[0] == str(interaction) for key in keys):
            return row
    moved = [
        r
        for r in log
        if not r.undone and r.epoch and r.epoch.first > interaction not in r.epoch.pins
    ]
    return moved[0] if moved and not visible else None
