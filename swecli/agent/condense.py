"""Asks a model for a summary of the conversation, on the very request that was sent last: its cache still holds it."""

from __future__ import annotations

from dataclasses import dataclass

from swecli.agent.turn import ModelStep, Sleep
from swecli.context.fit import CLEAR, SHRINK, TRUNCATE, RequestLimits, fit
from swecli.context.system_message import cache_marks
from swecli.context.tokens import TokenCounter
from swecli.llm.base import ChatModel
from swecli.models.errors import ContextFull, SwecliError
from swecli.models.message import ApiMessage, ModelRequest, RequestRecord, ToolSpec, Usage

_ATTEMPTS = 2  # the turn waits meanwhile


@dataclass(frozen=True, slots=True)
class Summary:
    """What came of asking: a text, or why there is none; `record` is what it cost, None when nothing was sent."""

    text: str = ""
    failure: str = ""
    record: RequestRecord | None = None


@dataclass(frozen=True, slots=True)
class Summariser:
    """Which model sums up, and what it is asked, as the last message."""

    model: ChatModel
    instruction: str
    counter: TokenCounter
    sleep: Sleep

    async def sum_up(
        self, asked: list[ApiMessage], tools: list[ToolSpec], limits: RequestLimits, interaction: int, wish: str = ""
    ) -> Summary:
        """A summary of the messages, made in an interaction; a cancellation passes through. `limits` are those of the
        model that sums up, `wish` is what the user wants the summary to dwell on."""
        instruction = f"{self.instruction}\n\nThe user wishes above all: {wish}" if wish else self.instruction
        messages = [*asked, {"role": "user", "content": instruction}]
        try:  # smaller where this model takes less than the session's; what is left out whole is in no summary
            sent, _ = fit(messages, limits, self.counter, (CLEAR, SHRINK, TRUNCATE))
        except ContextFull:
            return Summary(failure=f"the conversation is too long for {self.model.name}")
        name, marks = self.model.name, cache_marks(sent)
        request = ModelRequest(name, sent, tools, limits.reserve, "condense", marks=marks)
        step = ModelStep(self.model, request, self.sleep, attempts=_ATTEMPTS)
        try:
            async for _ in step.run():
                pass
        except SwecliError as error:
            return Summary(failure=error.message)
        reply = step.reply
        usage = reply.usage or Usage(self.counter.count_messages(sent), output=0)
        record = RequestRecord(name, "condense", interaction, 0, usage, reply.cost, step.duration_ms)
        if reply.calls:
            return Summary(failure="it answered with tool calls instead of a summary", record=record)
        text = reply.text.strip()
        return Summary(text, "" if text else "it answered with nothing", record)
