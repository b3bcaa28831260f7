"""The one way to a model: its attempts, requests that are too long, usage, and the record of what was paid for."""

from __future__ import annotations

import logging
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Collection, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import field
from io import StringIO
from typing import Protocol

from swecli.context.tokens import TokenCounter
from swecli.llm.base import ChatModel
from swecli.llm.price_table import cost_of
from swecli.llm.reply import ReplyBuilder
from swecli.llm.retries import Retry, stream_with_retry
from swecli.models.api_message import calls_of
from swecli.models.errors import ContextFull, ContextOverflow
from swecli.models.events import Event, Notice, ReasoningDelta, StepRetried, TextDelta
from swecli.models.json_value import JsonObject
from swecli.models.message import ModelChunk, ModelReply, ModelRequest, RequestRecord, Usage
from swecli.models.request_parts import PartSizes
from swecli.values import dataclass

_log = logging.getLogger(__name__)
MAX_ATTEMPTS = 5  # of one request, the first included
_MAX_OVERFLOWS = 3  # times that a request refused as too long is reduced
_TOO_LONG = "the provider says the request is too long"

Keep = Callable[[RequestRecord], object]


@dataclass(frozen=True, slots=True)
class Outgoing:
    """A request to send."""

    request: ModelRequest
    counted_tokens: int | None = None
    """Our own count of its tokens, to be compared with the provider's. None: it is not compared."""
    parts: PartSizes = field(default_factory=dict)
    """What it consists of, in tokens by our own count; {}: it is not told."""
    reports: tuple[Event | RequestRecord, ...] = ()
    """What to report or to record before it is sent."""
    failure: ContextFull | None = None
    """Why it cannot be sent; raised after the reports."""


class RequestSource(Protocol):
    """Makes the request to send, and a smaller one if it was too long for the provider."""

    async def prepare(self, *, was_refused: bool) -> Outgoing:
        """Return the request. `was_refused`: the last one was too long. Raises ContextFull."""

    def record_refusal(self, error: ContextOverflow) -> None:
        """Note that the last request was too long."""

    def check(self, reply: ModelReply, usage: Usage | None) -> Sequence[str]:
        """Return lines for the user about an answer. Raises ContextOverflow if the provider read only a part."""


@dataclass(slots=True)
class Sending:
    """One request until it is answered. `reply` and `usage` are set when `run` has ended."""

    model: ChatModel
    counter: TokenCounter
    keep: Keep
    """Receives the record of each answered request before anything else happens."""
    interaction: int = 0
    step: int = 0
    used_ids: Collection[str] = frozenset()
    """Ids that no new call may have; the request's own are excluded too."""
    session_calls: Callable[[], Collection[str]] = tuple
    """Returns the ids of all calls of the session, also of those that are not sent any more."""
    attempts: int = MAX_ATTEMPTS
    max_characters: int | None = None
    """Of an answer; the rest of it is not read."""
    keeps_broken: bool = False
    """Whether an answer that was begun and not finished is recorded too."""
    outgoing: Outgoing | None = None
    received: StringIO = field(default_factory=StringIO)
    """The text of the answer so far. A string would be copied with each of the pieces, which may be 300,000."""
    reply: ModelReply = field(default_factory=ModelReply)
    usage: Usage = field(default_factory=Usage)
    _builder: ReplyBuilder = field(default_factory=ReplyBuilder)
    _has_begun: bool = False  # the answer of the request that was sent last

    @property
    def partial(self) -> str:
        """The text of the answer so far."""
        return self.received.getvalue()

    @property
    def estimated(self) -> bool:
        """Whether the usage is our own count."""
        return self.reply.usage is None or self.model.profile.estimates

    async def run(self, source: RequestSource) -> AsyncGenerator[Event, None]:
        """Send the source's request and stream its answer. One that is too long for the provider is reduced and sent
        again. Raises ProviderError after the last attempt, and ContextFull."""
        for overflows in range(_MAX_OVERFLOWS + 1):
            outgoing = await source.prepare(was_refused=overflows > 0)
            for report in outgoing.reports:
                if isinstance(report, RequestRecord):
                    self.keep(report)
                else:
                    yield report
            if outgoing.failure is not None:
                raise outgoing.failure
            was_answered = False
            try:
                async with self.receive(outgoing) as pieces:
                    async for piece in pieces:
                        for event in self.take(piece):
                            yield event
                        if self.is_long_enough:
                            break
                if self.model.profile.reads_written_calls:
                    # late: few servers leave calls in the text
                    from swecli.llm.written_calls import take_written_call

                    self.reply = take_written_call(self.reply, outgoing.request, self.session_calls)
                was_answered = self.reply.stop == "window_full"
                if was_answered:
                    raise ContextOverflow("The answer reached the end of the model's window.")
                for line in source.check(self.reply, self.reply.usage):
                    yield Notice(line, "warning")
                return
            except ContextOverflow as error:
                # an answer is paid for: one more, not three
                if overflows == _MAX_OVERFLOWS or (was_answered and overflows > 0):
                    raise
                source.record_refusal(error)
                if self.received.tell():
                    reason = "the answer was made without all of the request"
                    self.received = StringIO()
                    yield StepRetried(overflows + 1, 0.0, reason, True)
                reason = error.reported or _TOO_LONG
                yield Notice(f"{reason}: retrying with a smaller request", "warning")

    @asynccontextmanager
    async def receive(self, outgoing: Outgoing) -> AsyncIterator[AsyncIterator[ModelChunk | Retry]]:
        """Send one request, with attempts, and give the pieces of its answer, each of which `take` must get. At the end
        the answer is recorded. Raises ProviderError."""
        self.outgoing = outgoing
        request = outgoing.request
        sent_ids = (call["id"] for message in request.messages for call in calls_of(message))
        self._builder = ReplyBuilder(used_ids={*sent_ids, *self.used_ids})
        started = time.monotonic()
        finished = False
        self._has_begun = False
        try:
            async with aclosing(
                stream_with_retry(self.model, request, attempts=self.attempts)
            ) as pieces:
                yield pieces
            finished = True
        finally:
            if finished or (self._has_begun and self.keeps_broken):
                self.reply = self._builder.build()
                self._record(outgoing, round((time.monotonic() - started) * 1000))

    def take(self, piece: ModelChunk | Retry) -> list[Event]:
        """Add a piece to the answer, and return what to report of it."""
        if isinstance(piece, Retry):
            self._builder.reset()
            self.received = StringIO()
            if not piece.notice:
                return [StepRetried(piece.attempt, piece.wait, piece.reason, piece.restart)]
            return [Notice(piece.reason, "warning")] if piece.reason else []
        self._has_begun = True
        self._builder.add(piece)
        events: list[Event] = []
        if piece.reasoning:
            events.append(ReasoningDelta(piece.reasoning))
        if text := piece.text + piece.refusal:
            self.received.write(text)
            events.append(TextDelta(text))
        return events

    @property
    def is_long_enough(self) -> bool:
        """Whether the rest of the answer is not read."""
        return self.max_characters is not None and self.received.tell() > self.max_characters

    def _record(self, outgoing: Outgoing, duration_ms: int) -> None:
        """Record the usage, with our own token count if the provider counted too."""
        reply = self.reply
        request = outgoing.request
        self.usage = reply.usage or self._estimate(outgoing)
        if reply.cost is None:
            # estimated too, so that a cost limit is kept without usage of the service
            reply.cost = cost_of(self.usage, self.model.profile.price)
        extra: JsonObject = {}
        if outgoing.parts:
            extra["parts"] = dict(outgoing.parts)
        if (
            outgoing.counted_tokens is not None
            and not self.estimated
            and not self.counter.estimated
        ):
            extra |= {"counted": outgoing.counted_tokens, "encoding": self.counter.encoding}
        _log.debug(
            "T%d step %d (%s): %s answered after %d ms: %s, %d calls, %s",
            self.interaction,
            self.step,
            request.purpose,
            self.model.name,
            duration_ms,
            reply.stop,
            len(reply.calls),
            self.usage,
        )
        self.keep(
            RequestRecord(
                self.model.name,
                request.purpose,
                self.interaction,
                self.step,
                self.usage,
                reply.cost,
                duration_ms,
                extra,
            )
        )

    def _estimate(self, outgoing: Outgoing) -> Usage:
        """Count the request and its answer, for a service that does not."""
        reply = self.reply
        request = outgoing.request
        counter = self.counter
        counted_tokens = outgoing.counted_tokens
        if counted_tokens is None:
            counted_tokens = counter.count_messages(request.messages) + counter.count_tools(
                request.tools
            )
        arguments = "".join(str(call.parameters) for call in reply.calls)
        return Usage(
            input=counted_tokens, output=counter.count(reply.text + reply.reasoning + arguments)
        )


async def send(
    model: ChatModel,
    request: ModelRequest,
    keep: Keep,
    *,
    interaction: int = 0,
    attempts: int = MAX_ATTEMPTS,
    max_characters: int | None = None,
    keeps_broken: bool = False,
) -> ModelReply:
    """Send one request as it is, without events, and return its answer. `keep` receives its record; the other arguments
    are those of a `Sending`. Raises ProviderError."""
    sending = Sending(
        model,
        TokenCounter(model.profile.encoding, exact=False),
        keep,
        interaction,
        attempts=attempts,
        max_characters=max_characters,
        keeps_broken=keeps_broken,
    )
    async with sending.receive(Outgoing(request)) as pieces:
        async for piece in pieces:
            sending.take(piece)
            if sending.is_long_enough:
                break
    return sending.reply
