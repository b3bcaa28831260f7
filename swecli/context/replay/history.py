"""A stored session as the requests it was made of: what each was answered, and when it was sent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path

from swecli.context.prepare import first_request
from swecli.context.query import environment_notes, with_notes, without_notes
from swecli.context.tokens import PER_MESSAGE, PER_REQUEST, TokenCounter
from swecli.models.context import UNDO, ContextState, Reduction
from swecli.models.errors import BadInput
from swecli.models.message import IMAGES, ApiMessage, ChatMessage, Image, Role, ToolSpec
from swecli.models.playbook import Bullet, render_bullets
from swecli.models.session import Session
from swecli.models.window import WindowSpec


@dataclass(frozen=True, slots=True)
class PastStep:
    """One request: when it was sent (seconds since 1970), its reply with the results of its calls (None: the turn ended
    before it), and the lines that the user then put into the running turn."""

    at: float
    reply: ChatMessage | None = None
    steered: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PastTurn:
    """One interaction of at least one step: the query as typed, and as it was sent, without its notes, with its
    pictures. Where they are known, `window` is the setting then, and `stored` the turn's first request as sent."""

    number: int
    query: str
    sent: str
    steps: tuple[PastStep, ...]
    images: tuple[Image, ...] = ()
    window: WindowSpec | None = None
    stored: tuple[ApiMessage, ...] = ()


@dataclass(frozen=True, slots=True)
class History:
    """All that a replay needs of a session; `bullets` in the order they came. Every request opens with `prompt` and
    `tools`; `condense` asks for a summary; `instructions` are the project's."""

    session: Session
    turns: tuple[PastTurn, ...]
    bullets: tuple[Bullet, ...]
    counter: TokenCounter
    prompt: str
    condense: str
    tools: Sequence[ToolSpec] = ()
    instructions: str = ""

    def known_at(self, turn: PastTurn) -> tuple[Bullet, ...]:
        """The strategies that there were when a turn began."""
        return tuple(bullet for bullet in self.bullets if bullet.created_at.timestamp() <= turn.steps[0].at)

    def system(self, turn: PastTurn | None = None) -> ApiMessage:
        """The plain system message, with the playbook as it was when a turn began (None: without)."""
        known = render_bullets(self.known_at(turn)) if turn else ""
        return {"role": "system", "content": self.prompt + known}

    def query(self, turn: PastTurn) -> ApiMessage:
        """A turn's query as it is sent, with where and when it was asked."""
        day = date.fromtimestamp(turn.steps[0].at)
        notes = environment_notes(Path(self.session.working_directory), day)
        images = {IMAGES: list(turn.images)} if turn.images else {}
        return {"role": "user", "content": with_notes(turn.sent, notes), **images}

    @property
    def fixed(self) -> int:
        """Tokens that every request begins with, whatever else is in it."""
        counter = self.counter
        return PER_REQUEST + counter.count_tools(self.tools) + PER_MESSAGE + counter.count(self.prompt)

    def output(self, reply: ChatMessage | None) -> int:
        """Tokens of an answer, its reasoning too, which is not sent again."""
        counter = self.counter
        return counter.count_message(reply.to_api()[0]) + counter.count(reply.reasoning) if reply else 0


def read_history(
    session: Session, counter: TokenCounter, prompt: str, condense: str, tools: Sequence[ToolSpec] = ()
) -> History:
    """Cut a session, all of it loaded, into turns; time never runs back. Raises BadInput when it has none."""
    now, turns = float("-inf"), list[PastTurn]()
    for number, group in enumerate(session.group_by_interaction(), 1):
        turns.append(_turn(group[0].interaction or number, group, now))
        now = max(turns[-1].steps[-1].at, _end(group[-1]))
    if not turns:
        raise BadInput("There is no turn in this session to replay.", "See: swecli sessions list")
    live = sorted((b for b in session.playbook.bullets.values() if b.is_live), key=lambda b: (b.created_at, b.number))
    return History(session, tuple(turns), tuple(live), counter, prompt, condense, tools)


def as_sent(history: History, log: Sequence[Reduction]) -> History:
    """The same with what each turn sent, rebuilt from the session's reductions, those too that were undone later."""
    undone = {row.detail: row.interaction for row in log if row.how == UNDO}
    rows, turns = sorted(log, key=lambda row: row.number), list[PastTurn]()
    for turn in history.turns:
        state, messages = ContextState(), [m for m in history.session.messages if m.interaction <= turn.number]
        for row in rows:  # step 1 is what was done to make its first request fit
            if (row.interaction, row.step) <= (turn.number, 1) and undone.get(row.id, turn.number) >= turn.number:
                state.add(row)
        asked = next(message for message in messages if message.interaction == turn.number)
        before = [message for message in messages if message.interaction < turn.number]
        then = replace(history.session, messages=before, interactions=turn.number - 1, context=state)
        stored = first_request(then, asked)
        window = WindowSpec.parse(state.epoch.spec) if state.epoch and state.epoch.spec else None
        turns.append(replace(turn, window=window, stored=tuple(stored)))
    return replace(history, turns=tuple(turns))


def after(step: PastStep) -> list[ApiMessage]:
    """What a step adds to the request after it."""
    messages = step.reply.to_api() if step.reply else []
    return [*messages, *({"role": "user", "content": line} for line in step.steered)]


def _turn(number: int, group: Sequence[ChatMessage], now: float) -> PastTurn:
    """A turn of the messages from its query on."""
    query, steps = group[0], list[PastStep]()
    at = max(now, query.created_at.timestamp())
    for message in group[1:]:
        last = steps[-1] if steps else None
        if message.role is Role.USER and last is not None:
            steps[-1] = PastStep(last.at, last.reply, (*last.steered, message.content))
        elif message.role is Role.ASSISTANT and (message.content.strip() or message.tool_calls):
            if last is not None and last.reply is not None and not (last.reply.tool_calls or last.steered):
                # one answer that was stored in pieces
                text = "\n\n".join(filter(None, (last.reply.content, message.content)))
                message = replace(
                    message, content=text, reasoning=last.reply.reasoning + message.reasoning, blocks=None
                )
                at = steps.pop().at
            steps.append(PastStep(at, message))
            at = max(at, _end(message))
    sent = query.content if query.sent is None else without_notes(query.sent)
    return PastTurn(number, query.content, sent, tuple(steps) or (PastStep(at),), tuple(query.images or ()))


def _end(message: ChatMessage) -> float:
    """When all of a message's calls were done, in seconds since 1970."""
    return message.created_at.timestamp() + sum(max(0, call.duration_ms or 0) for call in message.tool_calls) / 1000
