"""Asks a model for a summary of the conversation, on the very request that was sent last: its cache still holds it."""

from __future__ import annotations

from dataclasses import dataclass
from time import monotonic

from swecli.agent.step import Sleep
from swecli.context.fit import CLEAR, SHRINK, TRUNCATE, RequestLimits, fit
from swecli.context.system_message import cache_marks
from swecli.context.tokens import TokenCounter
from swecli.llm.base import ChatModel
from swecli.llm.merge import ReplyBuilder
from swecli.llm.retry import stream_with_retry
from swecli.models.errors import ContextFull, SwecliError
from swecli.models.message import ApiMessage, ModelReply, ModelRequest, RequestRecord, ToolSpec, Usage

ATTEMPTS = 2  # the turn waits meanwhile


@dataclass(frozen=True, slots=True)
class Summariser:
    """Which model sums up, and what it is asked, as the last message."""

    model: ChatModel
    instruction: str
    sleep: Sleep


@dataclass(frozen=True, slots=True)
class CondenseRequest:
    """What is to be summed up in `interaction`; `limits` are the model's that sums up, `wish` is what the user wants
    the summary to dwell on."""

    messages: list[ApiMessage]
    tools: list[ToolSpec]
    limits: RequestLimits
    interaction: int
    wish: str = ""


@dataclass(frozen=True, slots=True)
class Condensed:
    """A summary and what it cost."""

    summary: str
    record: RequestRecord


@dataclass(frozen=True, slots=True)
class CondenseFailed:
    """No summary came of it, and why. `record` is what it cost, None when nothing was sent."""

    reason: str
    record: RequestRecord | None = None


async def condense(asked: CondenseRequest, by: Summariser, counter: TokenCounter) -> Condensed | CondenseFailed:
    """A summary of the messages, or why there is none; a cancellation passes through."""
    model = by.model
    instruction = f"{by.instruction}\n\nThe user wishes above all: {asked.wish}" if asked.wish else by.instruction
    messages = [*asked.messages, {"role": "user", "content": instruction}]
    try:  # smaller where this model takes less than the session's; what is left out whole is in no summary
        sent, _ = fit(messages, asked.limits, counter, (CLEAR, SHRINK, TRUNCATE))
    except ContextFull:
        return CondenseFailed(f"the conversation is too long for {model.name}")
    started = monotonic()
    try:
        request = ModelRequest(model.name, sent, asked.tools, asked.limits.reserve, "condense", marks=cache_marks(sent))
        reply = await _reply(model, request, by.sleep)
    except SwecliError as error:
        return CondenseFailed(error.message)
    usage = reply.usage or Usage(counter.count_messages(sent), output=0)
    spent = round((monotonic() - started) * 1000)
    record = RequestRecord(model.name, "condense", asked.interaction, 0, usage, reply.cost, spent)
    if reply.calls:
        return CondenseFailed("it answered with tool calls instead of a summary", record)
    if not reply.text.strip():
        return CondenseFailed("it answered with nothing", record)
    return Condensed(reply.text.strip(), record)


async def _reply(model: ChatModel, request: ModelRequest, sleep: Sleep) -> ModelReply:
    builder = ReplyBuilder()
    restart = builder.reset
    async for chunk in stream_with_retry(model, request, sleep=sleep, on_retry=lambda _: restart(), attempts=ATTEMPTS):
        builder.add(chunk)
    return builder.build()
