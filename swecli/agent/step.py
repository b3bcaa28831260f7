"""One request to the model: sent, retried where that may help, merged into a whole reply."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Collection

from swecli.llm.base import ChatModel
from swecli.llm.merge import ReplyBuilder
from swecli.llm.retry import Retry, stream_with_retry
from swecli.models.events import Event, Notice, ReasoningDelta, StepRetried, TextDelta
from swecli.models.message import ModelChunk, ModelReply, ModelRequest

Sleep = Callable[[float], Awaitable[object]]


class ModelStep:
    """One request and its reply. `partial` is what came so far; `reply` is set when `run` has ended; `duration_ms` is
    wall time. No new call gets one of the ids in `taken`, nor one that stands in the request."""

    def __init__(
        self,
        model: ChatModel,
        request: ModelRequest,
        sleep: Sleep = asyncio.sleep,
        taken: Collection[str] = frozenset(),
    ) -> None:
        self._model, self._request, self._sleep, self._taken = model, request, sleep, taken
        self.partial = ""
        self.reply = ModelReply()
        self.duration_ms = 0

    async def run(self) -> AsyncGenerator[Event, None]:
        """Stream the reply.

        Raises:
            ProviderError: when it failed for good.
        """
        started = time.monotonic()
        builder = ReplyBuilder(taken=call_ids(self._request) | set(self._taken))
        happened: asyncio.Queue[ModelChunk | Retry | None] = asyncio.Queue()
        task = asyncio.create_task(self._pump(happened))
        task.add_done_callback(lambda _: happened.put_nowait(None))
        try:
            while (item := await happened.get()) is not None:
                if isinstance(item, Retry):
                    builder.reset()
                    self.partial = ""
                    if not item.notice:
                        yield StepRetried(item.attempt, item.wait, item.reason, item.restart)
                    elif item.reason:
                        yield Notice(item.reason, "warning")
                    continue
                builder.add(item)
                if item.reasoning:
                    yield ReasoningDelta(item.reasoning)
                if shown := item.text + item.refusal:
                    self.partial += shown
                    yield TextDelta(shown)
            await task
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
        self.reply = builder.build()
        self.duration_ms = round((time.monotonic() - started) * 1000)

    async def _pump(self, happened: asyncio.Queue[ModelChunk | Retry | None]) -> None:
        """Chunks and retries in one line: a retry must be seen while it waits, not after."""
        chunks = stream_with_retry(self._model, self._request, sleep=self._sleep, on_retry=happened.put_nowait)
        async for chunk in chunks:
            happened.put_nowait(chunk)


def call_ids(request: ModelRequest) -> set[str]:
    """The call ids a request already holds: a new call must not have one of them."""
    return {call["id"] for message in request.messages for call in message.get("tool_calls") or ()}
