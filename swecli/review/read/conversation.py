"""The messages of a review: they grow with every reply, and are shortened to fit the model's window."""

from __future__ import annotations

from dataclasses import field
from typing import NamedTuple

from swecli.context.budget import RequestLimits
from swecli.context.fit import RequestReducer
from swecli.context.tokens import TokenCounter
from swecli.context.truncate import loop_window
from swecli.models.events import ContextMeasured, ContextReduced, Event
from swecli.models.message import ApiMessage, ChatMessage, Role, ToolCall
from swecli.values import dataclass

_LEFT_OUT = "(Earlier messages of this review were left out to save room; every finding is stored.)"


class LoopWindow(NamedTuple):
    """Seed 000's window: after this many loops, of more than so many messages the last ones stay."""

    after_loop: int
    more_than: int
    keep_last: int


@dataclass(frozen=True, slots=True)
class FittedMessages:
    """Messages that fit, their size in tokens, and the events about it."""

    messages: list[ApiMessage]
    tokens: int
    events: tuple[Event, ...]


@dataclass(slots=True)
class Conversation:
    """The messages of the next request, the system message first."""

    messages: list[ApiMessage]
    closed_parts: list[str] = field(default_factory=list)  # a line for each

    @classmethod
    def begin(cls, prompt: str) -> Conversation:
        """Begin a conversation with its system message."""
        return cls([{"role": "system", "content": prompt}])

    def add_user_text(self, text: str) -> None:
        """Append a text of the user's, to the last message if that is the user's too: some services refuse two in a
        row."""
        *before, last = self.messages
        if last["role"] == "user":
            self.messages = before
            text = f"{last['content']}\n\n{text}"
        self.messages = [*self.messages, {"role": "user", "content": text}]

    def hear(self, text: str, calls: list[ToolCall]) -> None:
        """Append a reply and the results of its calls."""
        self.messages = [*self.messages, *ChatMessage(Role.ASSISTANT, text, calls).to_api()]

    def close_part(self, line: str) -> None:
        """Leave out the messages of a part that is closed; a line says what became of it."""
        self.closed_parts = [*self.closed_parts, line]
        self.messages = [
            self.messages[0],
            {"role": "user", "content": "\n".join(self.closed_parts)},
        ]

    def forget(self, loop: int, window: LoopWindow) -> int:
        """Apply seed 000's window to a long part. Returns how many messages went."""
        messages = loop_window(self.messages, loop, *window)
        removed = len(self.messages) - len(messages)
        if removed:
            self.messages = messages
        return removed

    def fit(self, question: str, limits: RequestLimits, counter: TokenCounter) -> FittedMessages:
        """Return the messages to send. `question`, what the model has to do, is restored if the window removed it.
        Raises ContextFull."""
        system, *rest = self.messages
        if all(question not in str(message.get("content")) for message in rest):
            rest = _restore(question, rest)
        messages, reduced = RequestReducer(limits, counter).fit([system, *rest])
        if reduced:  # what was removed does not come back
            self.messages = messages
        size = limits.measure(messages, counter)
        reports = [
            ContextReduced(reduction.method, reduction.before, reduction.after, reduction.detail)
            for reduction in reduced
        ]
        measured = ContextMeasured(size.tokens, size.limit, counter.estimated)
        return FittedMessages(messages, size.tokens, (*reports, measured))


def _restore(question: str, rest: list[ApiMessage]) -> list[ApiMessage]:
    """Put what the model has to do before the other messages, into the first one if that is the user's."""
    merged = rest[:1] if rest and rest[0]["role"] == "user" else []
    texts = [str(message["content"]) for message in merged]
    text = "\n\n".join([_LEFT_OUT, question, *texts])
    return [{"role": "user", "content": text}, *rest[len(merged) :]]
