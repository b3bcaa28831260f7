"""The next request of a review, made to fit what the model takes."""

from __future__ import annotations

from swecli.context.budget import request_limit
from swecli.context.fit import RequestLimits, fit, measure
from swecli.context.tokens import TokenCounter
from swecli.llm.base import ChatModel
from swecli.models.events import ContextMeasured, ContextReduced, Event
from swecli.models.message import ApiMessage, ModelRequest, ToolSpec

SMALLER = 0.75  # of what was refused, each time


class ReviewRequest:
    """Makes requests of the whole or windowed conversation. `sent` is the size of the last one, in tokens."""

    def __init__(
        self, model: ChatModel, specs: list[ToolSpec], counter: TokenCounter, max_tokens: int | None = None
    ) -> None:
        self.model, self.specs, self.counter, self.max_tokens = model, specs, counter, max_tokens
        self._tools = counter.count_tools(specs)
        self._proved: int | None = None
        self.sent = 0

    def make(self, messages: list[ApiMessage], left: str) -> tuple[list[ApiMessage], ModelRequest, list[Event]]:
        """The conversation to go on with, the request, and what there is to say about it.

        A conversation whose beginning left by the window opens with a user message that says so, with `left`: how
        far the review is. That line is no part of the conversation, and counts for no window. Raises ContextFull.
        """
        output = self.max_tokens or self.model.profile.max_output
        limits = RequestLimits(self.model.profile.window, output, allowed=self._proved, tools_tokens=self._tools)
        opened = opening(messages, left)
        fitted, reduced = fit(opened, limits, self.counter)
        size = measure(fitted, limits, self.counter)
        self.sent = size.tokens
        told: list[Event] = [ContextReduced(r.how, r.before, r.after, r.detail) for r in reduced]
        told.append(ContextMeasured(size.tokens, size.limit, self.counter.estimated))
        if reduced:  # what was taken out stays out
            added = opened[1] if len(opened) > len(messages) else None
            messages = [message for message in fitted if message != added]
        return messages, ModelRequest(self.model.name, fitted, self.specs, self.max_tokens, "review"), told

    def refused(self, said: int | None) -> None:
        """The last request was too long after all: the next is smaller, by what the provider said or by a part."""
        smaller = int(self.sent * SMALLER)
        limit = request_limit(said, self.max_tokens or self.model.profile.max_output)
        self._proved = min(smaller, limit) if limit else smaller


def opening(messages: list[ApiMessage], left: str) -> list[ApiMessage]:
    """The same with a user message in front, where the window took the one that was there."""
    if len(messages) < 2 or messages[1]["role"] == "user":
        return messages
    note = f"(Earlier messages of this review were left out to save room; every finding is stored.) {left}"
    return [messages[0], {"role": "user", "content": note}, *messages[1:]]
