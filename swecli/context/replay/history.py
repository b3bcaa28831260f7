"""Reads a stored session as a history of requests: when each was sent, and its reply."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from operator import attrgetter

from swecli.context.budget import MAX_CHARACTERS
from swecli.context.keyed_messages import strip_keys
from swecli.context.replay.stored import stored_request
from swecli.context.situation import Situation
from swecli.context.system_message import load_prompt
from swecli.context.tokens import CHARACTERS_PER_TOKEN, TokenCounter
from swecli.models.context import Reduction
from swecli.models.errors import BadInput
from swecli.models.message import ApiMessage, ChatMessage, Image, Role, ToolSpec
from swecli.models.notes import BroughtBackNote, SituationNote
from swecli.models.playbook import Bullet
from swecli.models.session import Session
from swecli.models.window_spec import WindowSpec
from swecli.values import dataclass

# Tokens, for a model whose window is unknown.
ASSUMED_WINDOW = MAX_CHARACTERS // CHARACTERS_PER_TOKEN


@dataclass(frozen=True, slots=True)
class PastStep:
    """One request and its answer."""

    sent_at: float  # seconds since 1970
    reply: ChatMessage | None = (
        None  # with the results of its calls; None: the turn ended before it
    )
    steered: tuple[str, ...] = ()  # the lines that the user then sent to the running turn


@dataclass(frozen=True, slots=True)
class PastTurn:
    """One interaction of at least one step."""

    number: int
    query: str  # as typed
    sent_text: str  # the query with its @files
    steps: tuple[PastStep, ...]
    images: tuple[Image, ...] = ()  # of the query
    window: WindowSpec | None = None  # the setting then; None: unknown
    stored_messages: tuple[ApiMessage, ...] = ()  # the first request as sent; (): unknown
    situation: tuple[SituationNote, ...] = ()  # what held when it began
    brought_back: tuple[int, ...] = ()  # earlier turns that its query quotes


@dataclass(frozen=True, slots=True)
class History:
    """A session's history."""

    session: Session
    turns: tuple[PastTurn, ...]
    bullets: tuple[Bullet, ...]  # sorted by creation
    counter: TokenCounter
    prompt: str  # the static prompt of every request
    tools: Sequence[ToolSpec] = ()  # of every request
    instructions: str = ""  # of the project

    @classmethod
    def read(
        cls,
        session: Session,
        context_window: int,
        tools: Sequence[ToolSpec],
        instructions: str = "",
    ) -> History:
        """Split a completely loaded session into turns with ascending times, for a model with that window in tokens.
        Raises BadInput if it has no turn."""
        ended_at = float("-inf")
        turns: list[PastTurn] = []
        situation = Situation()
        for number, messages in enumerate(session.group_by_interaction(), 1):
            turn = _read_turn(messages[0].interaction or number, messages, ended_at)
            situation.follow(messages[0].notes)
            turns.append(replace(turn, situation=situation.notes()))
            ended_at = max(turn.steps[-1].sent_at, _end_time(messages[-1]))
        if not turns:
            raise BadInput(
                "This session has no turns to replay.", "See /sessions or `swecli sessions list`."
            )
        live = [bullet for bullet in session.playbook.bullets.values() if bullet.is_live]
        live.sort(key=attrgetter("created_at", "number"))
        prompt = load_prompt("system", context_window)
        return cls(session, tuple(turns), tuple(live), TokenCounter(), prompt, tools, instructions)

    def bullets_at(self, turn: PastTurn) -> tuple[Bullet, ...]:
        began_at = turn.steps[0].sent_at
        return tuple(bullet for bullet in self.bullets if bullet.created_at.timestamp() <= began_at)

    def count_output(self, reply: ChatMessage | None) -> int:
        """Count the tokens of an answer (None: 0), with its reasoning, which is not sent again."""
        if reply is None:
            return 0
        counter = self.counter
        return counter.count_message(reply.to_api()[0]) + counter.count(reply.reasoning)

    def with_stored_requests(self, log: Sequence[Reduction]) -> History:
        """Add to each turn its first request, rebuilt from the session's reductions, also from those undone later."""
        turns: list[PastTurn] = []
        for turn in self.turns:
            request = stored_request(self.session, log, turn.number)
            window = None
            if request.epoch is not None and request.epoch.spec:
                window = WindowSpec.parse(request.epoch.spec)
            stored_messages = tuple(strip_keys(request.keyed_messages))
            turns.append(replace(turn, window=window, stored_messages=stored_messages))
        return replace(self, turns=tuple(turns))


def _read_turn(number: int, messages: Sequence[ChatMessage], not_before: float) -> PastTurn:
    """Read a turn from its messages, the first of which is its query. Its times are at least `not_before`."""
    query = messages[0]
    steps: list[PastStep] = []
    now = max(not_before, query.created_at.timestamp())
    for message in messages[1:]:
        last = steps[-1] if steps else None
        if message.role is Role.USER and last is not None:
            steps[-1] = replace(last, steered=(*last.steered, message.content))
        elif message.role is Role.ASSISTANT and (message.content.strip() or message.tool_calls):
            reply = last.reply if last is not None and not last.steered else None
            if reply is not None and not reply.tool_calls:
                # one answer stored in parts
                message = replace(
                    message,
                    content="\n\n".join(filter(None, (reply.content, message.content))),
                    reasoning=reply.reasoning + message.reasoning,
                    blocks=None,
                )
                now = steps.pop().sent_at
            steps.append(PastStep(now, message))
            now = max(now, _end_time(message))
    return PastTurn(
        number=number,
        query=query.content,
        sent_text=query.content if query.sent is None else query.sent,
        steps=tuple(steps) or (PastStep(now),),
        images=tuple(query.images or ()),
        brought_back=tuple(note.turn for note in query.notes if isinstance(note, BroughtBackNote)),
    )


def _end_time(message: ChatMessage) -> float:
    """Return when all calls of a message were done, in seconds since 1970."""
    duration_ms = sum(max(0, call.duration_ms or 0) for call in message.tool_calls)
    return message.created_at.timestamp() + duration_ms / 1000
