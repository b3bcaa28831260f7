"""Asks a model for a summary of the conversation, on the very request that was sent last: its cache still holds it."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from time import monotonic

from swecli.agent.step import Sleep
from swecli.context.fit import fit
from swecli.context.tokens import TokenCounter
from swecli.llm.base import ChatModel
from swecli.llm.merge import ReplyBuilder
from swecli.llm.retry import stream_with_retry
from swecli.models.errors import ContextFull, SwecliError
from swecli.models.message import ApiMessage
from swecli.models.model_io import ModelReply, ModelRequest, RequestRecord, Usage
from swecli.models.tool import ToolSpec

ATTEMPTS = 2  # the turn waits meanwhile


class CondenseFailed(Exception):
    """No summary came of it; the text says why. `record` is what it cost, None when nothing was sent."""

    def __init__(self, reason: str, record: RequestRecord | None = None) -> None:
        super().__init__(reason)
        self.record = record


@dataclass(frozen=True, slots=True)
class Condensed:
    """A summary and what it cost."""

    summary: str
    record: RequestRecord


class Condenser:
    """Makes summaries with one model. `instruction` is what it is asked, as the last message."""

    def __init__(self, model: ChatModel, instruction: str, counter: TokenCounter, sleep: Sleep = asyncio.sleep) -> None:
        self.model, self.instruction, self._counter, self._sleep = model, instruction, counter, sleep

    async def ask(
        self,
        messages: list[ApiMessage],
        tools: list[ToolSpec],
        max_tokens: int | None,
        interaction: int,
        wish: str = "",
    ) -> Condensed:
        """A summary of these messages. `wish` is what the user wants it to dwell on.

        Raises:
            CondenseFailed: whatever went wrong; a cancellation passes through.
        """
        text = self.instruction if not wish else f"{self.instruction}\n\nThe user wishes above all: {wish}"
        request = self._fitting([*messages, {"role": "user", "content": text}], tools, max_tokens)
        started = monotonic()
        try:
            reply = await self._stream(request)
        except SwecliError as error:
            raise CondenseFailed(error.message) from error
        usage = reply.usage or Usage(self._counter.count_messages(request.messages), output=0)
        spent = round((monotonic() - started) * 1000)
        record = RequestRecord(self.model.name, "condense", interaction, 0, usage, reply.cost, spent)
        if reply.calls:
            raise CondenseFailed("it answered with tool calls instead of a summary", record)
        if not reply.text.strip():
            raise CondenseFailed("it answered with nothing", record)
        return Condensed(reply.text.strip(), record)

    def _fitting(self, messages: list[ApiMessage], tools: list[ToolSpec], max_tokens: int | None) -> ModelRequest:
        """The request; made smaller where the condensing model takes less than the session's."""
        weight = self._counter.count_tools(tools)
        output = max_tokens or self.model.max_output
        try:
            fitted = fit(messages, weight, self._counter, self.model.context_window, output)
        except ContextFull as error:
            raise CondenseFailed(f"the conversation is too long for {self.model.name}") from error
        return ModelRequest(self.model.name, fitted.messages, tools, max_tokens, purpose="condense")

    async def _stream(self, request: ModelRequest) -> ModelReply:
        builder = ReplyBuilder()
        restart = builder.reset
        chunks = stream_with_retry(
            self.model, request, sleep=self._sleep, on_retry=lambda _: restart(), attempts=ATTEMPTS
        )
        async for chunk in chunks:
            builder.add(chunk)
        return builder.build()
