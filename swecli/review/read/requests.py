"""The next request of a review, made to fit what the model takes."""

from __future__ import annotations

from swecli.context.fit import RequestLimits, fit, measure
from swecli.context.model_limits import ModelLimits
from swecli.context.system_message import cache_marks
from swecli.context.tokens import TokenCounter
from swecli.llm.base import ChatModel
from swecli.models.errors import ContextOverflow
from swecli.models.events import ContextMeasured, ContextReduced, Event
from swecli.models.message import ApiMessage, ModelRequest, ToolSpec
from swecli.review.read.extract import TOOL


class ReviewRequest:
    """Makes requests of the whole or windowed conversation. `sent` is the size of the last one, in tokens."""

    def __init__(
        self, model: ChatModel, specs: list[ToolSpec], counter: TokenCounter, max_tokens: int | None = None
    ) -> None:
        self.model, self.specs, self.counter, self.max_tokens = model, specs, counter, max_tokens
        self._tools = counter.count_tools(specs)
        self._known, self._shape = ModelLimits(), (model.name, self._tools, max_tokens)
        self.sent = 0

    def make(
        self, messages: list[ApiMessage], left: str, part: str = "", *, report_only: bool = False
    ) -> tuple[list[ApiMessage], ModelRequest, list[Event]]:
        """The conversation to go on with, the request, and the events to emit about it.

        A conversation whose beginning left by the window opens with a user message about that, with `left`: how far
        the review is, and with `part`, the text of the running part, where that has left too. This opening is no
        stored part of the conversation, and counts for no window. Raises ContextFull.
        """
        output, allowed = self._output, self._known.limits.get(self._shape)
        limits = RequestLimits(self.model.profile.window, output, allowed=allowed, tools_tokens=self._tools)
        opened = opening(messages, left, part)
        fitted, reduced = fit(opened, limits, self.counter)
        size = measure(fitted, limits, self.counter)
        self.sent = size.tokens
        specs = [spec for spec in self.specs if spec.name == TOOL or not report_only]
        events: list[Event] = [ContextReduced(r.how, r.before, r.after, r.detail) for r in reduced]
        events.append(ContextMeasured(size.tokens, size.limit, self.counter.estimated))
        if reduced:  # what was taken out stays out
            added = opened[1] if opened != messages else None
            messages = [message for message in fitted if message != added]
        request = ModelRequest(self.model.name, fitted, specs, output, "review", marks=cache_marks(fitted))
        return messages, request, events

    def refused(self, error: ContextOverflow) -> None:
        """The last request was too long after all: the next is smaller, by what the provider said or by a part."""
        self._known = self._known.refused(self._shape, self.sent, self._output, error)

    @property
    def _output(self) -> int:
        return self._known.answer(self.model.name, self.model.profile.reserve(self.max_tokens))


def opening(messages: list[ApiMessage], left: str, part: str = "") -> list[ApiMessage]:
    """The same with a user message in front, where the window took the one that was there or the running part."""
    missing = bool(part) and all(part not in str(message.get("content")) for message in messages)
    if len(messages) < 2 or (messages[1]["role"] == "user" and not missing):
        return messages
    note = f"(Earlier messages of this review were left out to save room; every finding is stored.) {left}"
    text = f"{note}\n\n{part}" if missing else note
    if messages[1]["role"] == "user":  # two of them in a row are more than some services take
        return [messages[0], {"role": "user", "content": f"{text}\n\n{messages[1]['content']}"}, *messages[2:]]
    return [messages[0], {"role": "user", "content": text}, *messages[1:]]
