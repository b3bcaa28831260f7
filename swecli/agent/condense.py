"""Asks a model for a summary of the conversation, on the very request that was sent last: its cache still holds it."""

from __future__ import annotations

from dataclasses import dataclass
from time import monotonic

from swecli.agent.turn import Sleep
from swecli.context.fit import CLEAR, SHRINK, TRUNCATE, RequestLimits, fit
from swecli.context.system_message import cache_marks
from swecli.context.tokens import TokenCounter
from swecli.llm.base import ChatModel
from swecli.llm.merge import ReplyBuilder
from swecli.llm.retry import stream_with_retry
from swecli.models.errors import ContextFull, SwecliError
from swecli.models.message import ApiMessage, ModelReply, ModelRequest, RequestRecord, ToolSpec, Usage

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
        """A summary of the messages, made in an interaction; a cancellation passes through.

        `limits` are those of the model that sums up, `wish` is what the user wants the summary to dwell on.
        """
        instruction = f"{self.instruction}\n\nThe user wishes above all: {wish}" if wish else self.instruction
        messages = [*asked, {"role": "user", "content": instruction}]
        try:  # smaller where this model takes less than the session's; what is left out whole is in no summary
            sent, _ = fit(messages, limits, self.counter, (CLEAR, SHRINK, TRUNCATE))
        except ContextFull:
            return Summary(failure=f"the conversation is too long for {self.model.name}")
        started = monotonic()
        try:
            name, marks = self.model.name, cache_marks(sent)
            reply = await self._reply(ModelRequest(name, sent, tools, limits.reserve, "condense", marks=marks))
        except SwecliError as error:
            return Summary(failure=error.message)
        usage = reply.usage or Usage(self.counter.count_messages(sent), output=0)
        spent = round((monotonic() - started) * 1000)
        record = RequestRecord(name, "condense", interaction, 0, usage, reply.cost, spent)
        if reply.calls:
            return Summary(failure="it answered with tool calls instead of a summary", record=record)
        text = reply.text.strip()
        return Summary(text, "" if text else "it answered with nothing", record)

    async def _reply(self, request: ModelRequest) -> ModelReply:
        builder = ReplyBuilder()
        chunks = stream_with_retry(
            self.model, request, sleep=self.sleep, on_retry=lambda _: builder.reset(), attempts=_ATTEMPTS
        )
        async for chunk in chunks:
            builder.add(chunk)
        return builder.build()
