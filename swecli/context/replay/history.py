"""Reads a stored session as a history of requests: when each was sent, and its reply."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from swecli.context.budget import MAX_CHARACTERS
from swecli.context.keyed import strip_keys
from swecli.context.replay.stored import stored_request
from swecli.context.situation import Situation
from swecli.context.system_message import load_prompt
from swecli.context.tokens import CHARACTERS_PER_TOKEN, TokenCounter
from swecli.models.context import Reduction, WindowSpec
from swecli.models.errors import BadInput
from swecli.models.message import ApiMessage, ChatMessage, Image, Role, ToolSpec
from swecli.models.notes import SituationNote
from swecli.models.playbook import Bullet
from swecli.models.session import Session

ASSUMED_WINDOW = (
    MAX_CHARACTERS // CHARACTERS_PER_TOKEN
)  # tokens, for a model whose window is unknown


@dataclass(frozen=True, slots=True)
class PastStep:
    """One request: when it was sent (seconds since 1970), its reply with the results of its calls (None: the turn ended
    before it), and the lines that the user then sent to the running turn."""

    at: float
    reply: ChatMessage | None = None
    steered: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PastTurn:
    """One interaction of at least one step: the query as typed, with its @files as sent, and its pictures.
    `window` is the setting then, and `stored` the turn's first request as sent, if known."""

    number: int
    query: str
    sent: str
    steps: tuple[PastStep, ...]
    images: tuple[Image, ...] = ()
    window: WindowSpec | None = None
    stored: tuple[ApiMessage, ...] = ()
    situation: tuple[SituationNote, ...] = ()  # what held when it began


@dataclass(frozen=True, slots=True)
class History:
    """A session's history. `bullets` are sorted by creation; `prompt` and `tools` begin every request; `instructions`
    are the project's."""

    session: Session
    turns: tuple[PastTurn, ...]
    bullets: tuple[Bullet, ...]
    counter: TokenCounter
    prompt: str
    tools: Sequence[ToolSpec] = ()
    instructions: str = ""

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
        now = float("-inf")
        turns: list[PastTurn] = []
        situation = Situation()
        for number, group in enumerate(session.group_by_interaction(), 1):
            turn = _read_turn(group[0].interaction or number, group, now)
            situation.follow(group[0].notes)
            turns.append(replace(turn, situation=situation.notes()))
            now = max(turns[-1].steps[-1].at, _end_time(group[-1]))
        if not turns:
            raise BadInput(
                "This session has no turns to replay.", "See /sessions or `swecli sessions list`."
            )
        live = sorted(
            (b for b in session.playbook.bullets.values() if b.is_live),
            key=lambda b: (b.created_at, b.number),
        )
        prompt = load_prompt("system", context_window)
        return cls(session, tuple(turns), tuple(live), TokenCounter(), prompt, tools, instructions)

    def bullets_at(self, turn: PastTurn) -> tuple[Bullet, ...]:
        return tuple(
            bullet for bullet in self.bullets if bullet.created_at.timestamp() <= turn.steps[0].at
        )

    def output(self, reply: ChatMessage | None) -> int:
        """Count the tokens of an answer, with its reasoning, which is not sent again."""
        counter = self.counter
        return (
            counter.count_message(reply.to_api()[0]) + counter.count(reply.reasoning)
            if reply
            else 0
        )

    def with_stored_requests(self, log: Sequence[Reduction]) -> History:
        """Add to each turn its first request, rebuilt from the session's reductions, also from those undone later."""
        turns: list[PastTurn] = []
        for turn in self.turns:
            found = stored_request(self.session, log, turn.number)
            window = None
            if found.epoch is not None and found.epoch.spec:
                window = WindowSpec.parse(found.epoch.spec)
            stored = tuple(strip_keys(found.keyed))
            turns.append(replace(turn, window=window, stored=stored))
        return replace(self, turns=tuple(turns))


def _read_turn(number: int, group: Sequence[ChatMessage], now: float) -> PastTurn:
    """Read a turn from its messages; its query is the first."""
    query, steps = group[0], list[PastStep]()
    at = max(now, query.created_at.timestamp())
    for message in group[1:]:
        last = steps[-1] if steps else None
        if message.role is Role.USER and last is not None:
            steps[-1] = PastStep(last.at, last.reply, (*last.steered, message.content))
        elif message.role is Role.ASSISTANT and (message.content.strip() or message.tool_calls):
            if (
                last is not None
                and last.reply is not None
                and not (last.reply.tool_calls or last.steered)
            ):
                # one answer stored in parts
                text = "\n\n".join(filter(None, (last.reply.content, message.content)))
                message = replace(
                    message,
                    content=text,
                    reasoning=last.reply.reasoning + message.reasoning,
                    blocks=None,
                )
                at = steps.pop().at
            steps.append(PastStep(at, message))
            at = max(at, _end_time(message))
    sent = query.content if query.sent is None else query.sent
    return PastTurn(
        number, query.content, sent, tuple(steps) or (PastStep(at),), tuple(query.images or ())
    )


def _end_time(message: ChatMessage) -> float:
    """Return when all calls of a message were done, in seconds since 1970."""
    return (
        message.created_at.timestamp()
        + sum(max(0, call.duration_ms or 0) for call in message.tool_calls) / 1000
    )
