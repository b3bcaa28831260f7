"""The user's control of the context: meter, preview, plan, undo, pins, search, and a summary on demand."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from dataclasses import replace

from swecli.agent.agent import Agent
from swecli.agent.fitted_request import StepPosition
from swecli.agent.turn import TurnRecord
from swecli.context.epochs import CONDENSE, SummarySpan
from swecli.context.fit import ReducedMessages, RequestReducer
from swecli.context.keyed_messages import strip_keys
from swecli.context.prepare import PreparedRequest, Segment, measure_messages, past_request
from swecli.context.replay.stored import stored_request
from swecli.models.api_message import call_id_of, text_of
from swecli.models.context import Epoch, Reduction, interaction_of, key_of
from swecli.models.counts import pluralize
from swecli.models.errors import BadInput
from swecli.models.events import Event
from swecli.models.json_value import JsonObject
from swecli.models.message import ApiMessage, Role
from swecli.models.session import Session
from swecli.models.window_spec import WindowSpec
from swecli.values import dataclass

_WHOLE_LOG = 1_000_000  # reductions: more than any session has
_GROWTH_AFTER_UNDO = 1.1  # of a request, before an optional reduction may follow


@dataclass(frozen=True, slots=True)
class ReductionPlan:
    """The next reduction."""

    how: str  # as in `Reduction`
    when: str
    removes: tuple[str, ...] = ()  # turns, such as T3, or call ids
    before: int = 0  # tokens of the request
    after: int | None = None  # tokens of the request; None: unknown
    why: str = ""  # why it is due; "": it is not yet
    is_made: bool = False  # the next request is already counted without what it removes


@dataclass(frozen=True, slots=True)
class Meter:
    """Token counts of the next request."""

    parts: tuple[tuple[str, int], ...]  # names and our counts
    residual: int  # what the provider counts more than we do
    total: int  # parts and residual
    limit: int | None  # of a request; None if the model's window is unknown
    reserve: int  # kept for the answer
    threshold: int | None  # where reductions begin; None: nowhere
    cached: int  # the part that was sent before
    counted: int = 0  # our count of the last request; 0 before it
    provider: int = 0  # the provider's count of the last request; 0 before it
    estimated: bool = False  # no token table was used
    window: int | None = None  # of the model; None if unknown


@dataclass(frozen=True, slots=True)
class WindowPreview:
    """The effect of another window on the next request."""

    before: int  # tokens, tools included
    after: int
    leaves: tuple[str, ...]  # turns that leave the request
    returns: tuple[str, ...]  # turns that return to it
    first: int  # first interaction in the window
    last: int


@dataclass(frozen=True, slots=True)
class PastPrompt:
    """The first request of an earlier turn, rebuilt from what is stored."""

    number: int  # of the turn
    epoch: Epoch
    keyed_messages: list[ApiMessage]
    first: int  # first interaction of the window: those before it are pinned
    segments: tuple[Segment, ...]
    tokens: int  # of the messages
    tools: int  # tokens of today's tools: the definitions of its own are not stored
    counted_tokens: int
    """Tokens that were counted when it was sent, tools included; 0 if none are stored, or in another encoding."""
    steps: int  # requests of the turn

    @property
    def messages(self) -> list[ApiMessage]:
        """The messages as they were sent."""
        return strip_keys(self.keyed_messages)


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

    def _open_for_change(self) -> Session:
        """Return the current session. Raises BadInput, also if it is not as this process has loaded it: what changes
        it would leave out what another process did there."""
        self._sessions.require_current()
        return self.session

    def undo(self) -> Reduction:
        """Undo the newest reduction. It is not repeated at once unless the request is too long without it."""
        session = self._open_for_change()
        agent = self._agent
        spec = agent.builder.conditions(session, agent.model).resolve(session.window)
        before = sum(row.before for row in self._sessions.context.log(session, 1))
        return self._sessions.undo_reduction(
            session.interactions + spec.slack + 1, round(before * _GROWTH_AFTER_UNDO)
        )

    def pin(self, interaction: int | None = None) -> int:
        """Pin an interaction (None: the newest). Returns its tokens. Raises BadInput if no request has room for it."""
        session = self._open_for_change()
        agent = self._agent
        agent.count_exactly()
        number = session.interactions if interaction is None else interaction
        before = session.context.pins
        self._sessions.context.pin(session, number)
        names = (f"pinned {number}", f"turn {number}")
        prepared = agent.prepare("").request
        limits = agent.make_fitter().limits
        tokens = sum(segment.tokens for segment in prepared.segments if segment.name in names)
        room = int(RequestReducer(limits, agent.counter).room(prepared.keyed_messages))
        if limits.limit and tokens > room:
            if number not in before:
                self._sessions.context.unpin(session, number)
            line = f"T{number} has {tokens:,} tokens; {room:,} fit besides tools and system prompt."
            raise BadInput(line, "It was not pinned. Ask for the part of it that matters.")
        return tokens

    def unpin(self, interaction: int | None = None) -> int:
        """Unpin an interaction (None: the newest pinned one). Returns its number."""
        session = self._open_for_change()
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
        tokens = fitter.measure(prepared.keyed_messages).tokens
        if epoch is None or prepared.epoch_row is not None:
            names = _unpinned(session, epoch.first if epoch else 1, prepared.window[0])
            before = fitter.measure(past_request(session)).tokens
            reason = prepared.epoch_row.detail if prepared.epoch_row else ""
            return ReductionPlan(
                "window", "with the next turn", names, before, tokens, reason, is_made=True
            )
        messages = prepared.keyed_messages
        next_step = StepPosition(interaction_of(messages[-1]), step=1, query="")
        reduction = fitter.next_reduction(messages, next_step)
        if reduction is not None:
            return _plan_reduction(reduction, messages, tokens)
        conditions = agent.builder.conditions(session, agent.model)
        spec = conditions.resolve(session.window)
        if spec.mode == "full":
            reason = "old results are cleared when the request reaches its threshold"
            return ReductionPlan("window", "with a window of all turns", (), tokens, why=reason)
        moves_at = max(epoch.first + conditions.max_interactions(spec), session.context.hold_turns)
        turns = pluralize(moves_at - session.interactions, "turn")
        names = _unpinned(session, epoch.first, moves_at - spec.size + 1)
        return ReductionPlan("window", f"in {turns}, or earlier after a long pause,", names, tokens)

    def past_prompt(self, number: int) -> PastPrompt:
        """Rebuild the first request of turn `number`. Raises BadInput if there is none, or nothing is stored that it
        was built from."""
        if not 1 <= number <= self.session.interactions:
            raise BadInput(f"There is no turn T{number} in this session.", "See /window.")
        self._agent.count_exactly()
        counter = self._agent.counter
        whole = self._sessions.read_whole()
        log = self._sessions.context.log(whole, _WHOLE_LOG)
        request = stored_request(whole, log, number)
        epoch = request.epoch
        if epoch is None:
            raise BadInput(
                f"The request of T{number} cannot be rebuilt: what it was made from is not stored.",
                "So it is in sessions that were imported from another tool.",
            )
        system, *window, query = request.keyed_messages
        text = str(system["content"])
        segments = [Segment("system", counter.count(text), text)]
        segments += measure_messages(epoch, window, query, counter)
        counted_tokens, encoding = self._sessions.context.counted_at_first(whole, number)
        return PastPrompt(
            number=number,
            epoch=epoch,
            keyed_messages=request.keyed_messages,
            first=epoch.first,
            segments=tuple(segments),
            tokens=counter.count_messages(strip_keys(request.keyed_messages)),
            tools=counter.count_tools(self._agent.specs()),
            counted_tokens=counted_tokens if encoding == counter.label else 0,
            steps=sum(
                message.interaction == number and message.role is Role.ASSISTANT
                for message in whole.messages
            ),
        )

    def preview(self, spec: WindowSpec | None = None) -> WindowPreview:
        """Compare the next request with the one under another window (None: no change). Nothing is stored."""
        agent = self._agent
        session = self._sessions.current_session
        agent.count_exactly()
        if spec is not None and session is not None:
            self._sessions.load_back_to(spec.first_kept(session.interactions, session.window_start))
            session = replace(session, window=spec)
        current = agent.prepare("").request
        other = agent.prepare("", session=session).request
        fitter = agent.make_fitter()
        turns = _past_turns(current)
        other_turns = _past_turns(other)
        return WindowPreview(
            before=fitter.measure(current.keyed_messages).tokens,
            after=fitter.measure(other.keyed_messages).tokens,
            leaves=tuple(f"T{number}" for number in turns if number not in other_turns),
            returns=tuple(f"T{number}" for number in other_turns if number not in turns),
            first=other.window[0],
            last=other.window[1],
        )

    def find_text(self, text: str) -> list[JsonObject]:
        """Find a text in this session, newest first. Returns JSON values: turn, where, excerpt, whether the next
        request contains it (`sent`), `by` which reduction it was removed, and the command to bring it `back`."""
        text = text.strip()
        if not text:
            raise BadInput("Missing text: /context why TEXT.")
        session = self.session
        request = past_request(session)
        log = self._sessions.context.log(session)
        places: list[JsonObject] = []
        for place in self._sessions.find(text):
            number = place.interaction
            messages = [message for message in request if interaction_of(message) == number]
            is_sent = any(
                text.casefold() in (text_of(message) or str(message)).casefold()
                for message in messages
            )
            row = None if is_sent else _find_reduction(number, bool(messages), log)
            removed_by = row and {
                "id": row.id,
                "how": row.how,
                "turn": row.interaction,
                "step": row.step,
            }
            places.append(
                {
                    "turn": number,
                    "where": place.place,
                    "excerpt": place.excerpt,
                    "sent": is_sent,
                    "by": removed_by,
                    "back": f"/pin T{number}" if removed_by else "",
                }
            )
        return places

    async def compact(self, focus: str = "") -> AsyncGenerator[Event, None]:
        """Summarise the whole request now; the user asks to `focus` on something, "" for nothing. Raises BadInput if
        there is nothing to summarise."""
        session = self._open_for_change()
        self._agent.count_exactly()
        fitter = self._agent.make_fitter()
        queries = [message.content for message in session.messages if message.role is Role.USER]
        past = past_request(session)
        if session.context.epoch is None:  # an imported session: no request was sent yet
            self._sessions.load_back_to(1)
            whole = replace(session, window=WindowSpec(mode="full"))
            past = self._agent.prepare("", session=whole).request.keyed_messages[:-1]
        position = StepPosition(
            session.interactions + 1, step=0, query=queries[-1] if queries else ""
        )
        effects = await fitter.compact(past, position, focus)
        if not effects:
            raise BadInput(
                "There is nothing to summarise: no request with earlier turns was made yet.",
                "Ask first.",
            )
        self._agent.observed = fitter.observed
        record = TurnRecord(self._sessions, self._agent.counter)
        for effect in effects:
            if isinstance(effect, Reduction):
                effect = replace(effect, interaction=session.interactions)
            event = record.store(effect)
            if event is not None:
                yield event

    def meter(self, query: str = "") -> Meter:
        """Measure the next request for a query. Nothing is stored."""
        agent = self._agent
        agent.count_exactly()
        fitter = agent.make_fitter()
        prepared = agent.prepare(query).request
        limits = fitter.limits
        parts = [("tools", agent.counter.count_tools(agent.specs()))]
        segments = (*prepared.segments, *prepared.brought_back)
        parts += [(segment.name, segment.tokens) for segment in segments]
        counted_tokens = prepared.tokens + parts[0][1]
        parts.append(("other", counted_tokens - sum(tokens for _, tokens in parts)))
        total = fitter.measure(prepared.keyed_messages).tokens
        past = [
            message
            for message in prepared.keyed_messages
            if interaction_of(message) < prepared.first_new
        ]
        context = fitter.session.context
        return Meter(
            parts=tuple(part for part in parts if part[1]),
            residual=total - counted_tokens,
            total=total,
            limit=limits.limit,
            reserve=limits.reserve or 0,
            threshold=min(filter(None, (limits.start, limits.limit)), default=None),
            cached=fitter.measure(past).tokens if past else 0,
            counted=context.asked_counted,
            provider=context.asked_prompt,
            estimated=agent.counter.estimated,
            window=limits.window,
        )


def _unpinned(session: Session, first: int, end: int) -> tuple[str, ...]:
    return tuple(f"T{number}" for number in range(first, end) if number not in session.context.pins)


def _past_turns(request: PreparedRequest) -> list[int]:
    """Return the past interactions that a request holds, in ascending order."""
    return sorted({interaction_of(message) for message in request.keyed_messages[1:-1]})


def _plan_reduction(
    reduction: ReducedMessages | SummarySpan, messages: list[ApiMessage], tokens: int
) -> ReductionPlan:
    """Return the plan of a reduction of the next request, which has these messages and tokens."""
    after = None
    if isinstance(reduction, SummarySpan):
        kind = CONDENSE
        names = [f"T{interaction_of(message)}" for message in reduction.source[1:]]
    else:
        kind = reduction.method
        after = reduction.after
        # calls whose results change, otherwise turns
        same = {key_of(message) for message in reduction.messages if message in messages}
        names = [
            call_id_of(message) or f"T{interaction_of(message)}"
            for message in messages
            if key_of(message) not in same
        ]
    return ReductionPlan(
        how=kind,
        when="with the next request",
        removes=tuple(dict.fromkeys(names)),
        before=tokens,
        after=after,
        why="it has reached its threshold",
    )


def _find_reduction(interaction: int, is_visible: bool, log: list[Reduction]) -> Reduction | None:
    """Return the reduction that removed an interaction's text: the newest that changed it, or else, if it is not
    visible, the first that moved the window past it. `log` has the newest first."""
    rows = [row for row in log if not row.undone]
    for row in rows:
        keys = (*row.edits.drop, *row.edits.replace)
        if any(key.lstrip("<").split(".")[0] == str(interaction) for key in keys):
            return row
    if is_visible:
        return None
    for row in reversed(rows):
        if row.epoch and row.epoch.first > interaction and interaction not in row.epoch.pins:
            return row
    return None
