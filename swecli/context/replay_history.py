"""A stored session as the pieces its requests were made of, each message counted once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from swecli.context.notes import with_notes
from swecli.context.tokens import PER_MESSAGE, PER_REQUEST, TokenCounter
from swecli.models.errors import BadInput
from swecli.models.message import ApiMessage, ChatMessage, Role, ToolSpec
from swecli.models.playbook import Bullet, SessionPlaybook, quoted
from swecli.models.session import Session

# What a cleared result leaves behind: a line with the id to read it back by.
STUB_TOKENS = 30
# Results not much longer than that line are left alone.
WORTH_CLEARING = 3 * STUB_TOKENS


@dataclass(frozen=True, slots=True, eq=False)
class Piece:
    """A message as it is sent, in tokens. Messages of the same text are the same object: `is` compares them.

    `stub` is what a tool result becomes when it is cleared; None for what is never cleared.
    """

    tokens: int
    stub: Piece | None = None


@dataclass(frozen=True, slots=True)
class Step:
    """One request of a turn: when it was sent (seconds since 1970), and what it brought.

    `reply` is None where the turn ended before an answer; `output` counts the reasoning too, which is never sent
    again.
    """

    at: float
    reply: Piece | None
    results: tuple[Piece, ...]
    output: int


@dataclass(frozen=True, slots=True)
class Turn:
    """One interaction. `learned` is how many of the playbook's strategies there were when it began."""

    number: int
    query: Piece
    steps: tuple[Step, ...]
    learned: int

    @property
    def pieces(self) -> list[Piece]:
        """All of it, as a later request holds it."""
        parts = [self.query]
        for step in self.steps:
            parts += [*([step.reply] if step.reply else ()), *step.results]
        return parts


class Playbook:
    """The strategies in the order they came, and what the head and the notes of a request weigh with them."""

    def __init__(self, bullets: Iterable[Bullet], counter: TokenCounter, max_strategies: int) -> None:
        self.bullets = sorted((b for b in bullets if b.live), key=lambda b: (b.created_at, b.number))
        self._counter = counter
        self._most = max_strategies
        self._snapshots: dict[int, Piece] = {}
        self._texts: dict[str, Piece] = {}

    def known_at(self, moment: float, from_count: int = 0) -> int:
        """How many there were at that time; the search goes on from an earlier answer."""
        count = from_count
        while count < len(self.bullets) and self.bullets[count].created_at.timestamp() <= moment:
            count += 1
        return count

    def snapshot(self, learned: int) -> Piece:
        """The first `learned` strategies as they stand in the head."""
        if learned not in self._snapshots:
            book = SessionPlaybook({bullet.id: bullet for bullet in self.bullets[:learned]})
            text = book.as_context(self._most)
            self._snapshots[learned] = self._texts.setdefault(text, Piece(self._counter.count(text)))
        return self._snapshots[learned]

    def notes(self, told: int, learned: int) -> int:
        """Tokens of the note that tells of the strategies after the first `told`."""
        lines = [f"New strategy [{b.id}] {quoted(b.content)}" for b in self.bullets[told:learned]]
        return self._counter.count(with_notes("", lines)) if lines else 0


@dataclass(frozen=True, slots=True)
class History:
    """All that a replay needs of a session. `tools` and `system` open every request, whatever the policy."""

    tools: Piece
    system: Piece
    instruction: Piece
    playbook: Playbook
    turns: list[Turn]


def read_history(
    session: Session,
    counter: TokenCounter,
    *,
    system_prompt: str,
    condense_prompt: str,
    tools: Sequence[ToolSpec] = (),
    max_strategies: int = 30,
) -> History:
    """Cut a session, all of it loaded, into pieces.

    Counts stored with messages are taken as they are (they leave out results, which come later); all else is
    counted here, once.

    Raises:
        BadInput: the session has no turn.
    """
    playbook = Playbook(session.playbook.bullets.values(), counter, max_strategies)
    reader = _Reader(counter)
    turns: list[Turn] = []
    learned = 0
    for number, group in enumerate(session.by_interaction(), 1):
        query, steps = reader.turn(group)
        learned = playbook.known_at(steps[0].at, learned)
        turns.append(Turn(group[0].interaction or number, query, steps, learned))
    if not turns:
        raise BadInput("There is no turn in this session to replay.", "See: swecli sessions list")
    return History(
        tools=Piece(PER_REQUEST + counter.count_tools(tools)),
        system=Piece(PER_MESSAGE + counter.count(system_prompt)),
        instruction=Piece(PER_MESSAGE + counter.count(condense_prompt)),
        playbook=playbook,
        turns=turns,
    )


class _Reader:
    """Makes pieces, the same object for the same message."""

    def __init__(self, counter: TokenCounter) -> None:
        self._counter = counter
        self._made: dict[object, Piece] = {}
        self._now = float("-inf")

    def turn(self, group: Sequence[ChatMessage]) -> tuple[Piece, tuple[Step, ...]]:
        """The user's message, and the requests that followed it: at least one."""
        query = self._message(group[0], group[0].to_api()[0])
        steps: list[Step] = []
        at = self._passed(group[0].created_at.timestamp())
        for message in group[1:]:
            if message.role is not Role.ASSISTANT:
                continue
            reply, *results = message.to_api()
            piece = self._message(message, reply)
            output = piece.tokens + self._counter.count(message.reasoning)
            steps.append(Step(at, piece, tuple(self._result(result) for result in results), output))
            took = sum(max(0, call.duration_ms or 0) for call in message.tool_calls) / 1000
            at = self._passed(message.created_at.timestamp() + took)
        return query, tuple(steps) or (Step(at, None, (), 0),)

    def _passed(self, moment: float) -> float:
        """That moment; never before an earlier one, whatever the clocks said."""
        self._now = max(self._now, moment)
        return self._now

    def _message(self, message: ChatMessage, api: ApiMessage) -> Piece:
        calls = tuple((c["id"], c["function"]["name"], c["function"]["arguments"]) for c in api.get("tool_calls", ()))
        key = (api["role"], api["content"], calls)
        if key not in self._made:
            tokens = self._counter.count_message(api) if message.tokens is None else max(0, message.tokens)
            self._made[key] = Piece(tokens)
        return self._made[key]

    def _result(self, api: ApiMessage) -> Piece:
        key = (api["tool_call_id"], api["content"])
        if key not in self._made:
            tokens = self._counter.count_message(api)
            self._made[key] = Piece(tokens, Piece(STUB_TOKENS) if tokens > WORTH_CLEARING else None)
        return self._made[key]
