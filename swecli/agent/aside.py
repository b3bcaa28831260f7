"""Answers a question beside the conversation: with the request that the conversation would send next, and without a
trace in it. No tool runs."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from dataclasses import replace

from swecli.agent.sender import Keep, Outgoing, Sending
from swecli.context.repair import normalize
from swecli.context.tokens import TokenCounter
from swecli.llm.base import ChatModel
from swecli.models.aside import Aside
from swecli.models.events import Event, UsageReported
from swecli.models.message import (
    ChatMessage,
    ModelReply,
    ModelRequest,
    RequestRecord,
    Role,
)
from swecli.values import dataclass

INSTRUCTION = (
    "[The user asks this beside the conversation, which will hold neither the question nor your answer. Answer in "
    "text, from what is said so far. No tool runs for it.]"
)
_REFUSAL = (
    "No tool runs for a question beside the conversation. Answer it in text, from what is there."
)
_MAX_REQUESTS = 2  # the second one if a model has called a tool although none runs


@dataclass(frozen=True, slots=True)
class AsideRequest:
    """A question with the request that asks it."""

    question: str  # as typed
    request: ModelRequest
    model: ChatModel
    interaction: int  # the newest one of the conversation; 0: it has none yet
    notices: tuple[str, ...] = ()  # for the user, such as of files that were not read

    async def answer(self, counter: TokenCounter, keep: Keep) -> AsyncGenerator[Event, None]:
        """Stream the answer, and report what each request took. `keep` receives the record of each, with question and
        answer. Raises ProviderError."""
        request = self.request
        for attempt in range(1, _MAX_REQUESTS + 1):
            records: list[RequestRecord] = []
            sending = Sending(
                self.model, counter, records.append, self.interaction, keeps_broken=True
            )
            is_asked_again = False
            try:
                async with sending.receive(Outgoing(request)) as pieces:
                    async for piece in pieces:
                        for event in sending.take(piece):
                            yield event
                has_only_calls = bool(sending.reply.calls) and not sending.partial.strip()
                is_asked_again = has_only_calls and attempt < _MAX_REQUESTS
            finally:  # also of an answer that the user stopped
                for record in records:
                    keep(record if is_asked_again else self._with_texts(record, sending.partial))
            yield UsageReported(sending.usage, sending.reply.cost, estimated=sending.estimated)
            if not is_asked_again:
                return
            request = _refuse_calls(request, sending.reply)

    def _with_texts(self, record: RequestRecord, answer: str) -> RequestRecord:
        texts = Aside(self.question, answer.strip()).to_extra()
        return replace(record, extra=record.extra | texts)


def beside(request: ModelRequest, question: ChatMessage) -> ModelRequest:
    """Return the request that asks a question after all that another one says: it begins with the same bytes."""
    return replace(
        request,
        messages=normalize([*request.messages, *question.to_api()]),
        purpose="aside",
        schema=None,
    )


def _refuse_calls(request: ModelRequest, reply: ModelReply) -> ModelRequest:
    """Return the request that says of each call in a reply that it does not run."""
    for call in reply.calls:
        call.result = _REFUSAL
    call_message = ChatMessage(Role.ASSISTANT, reply.text, reply.calls, blocks=reply.blocks)
    return replace(request, messages=normalize([*request.messages, *call_message.to_api()]))
