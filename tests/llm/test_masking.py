"""Test that our API key is never shown when a service quotes it."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from swecli.llm.masking import MASK, KeyFilter
from swecli.llm.reply import ReplyBuilder
from swecli.llm.retries import Retry, stream_with_retry
from swecli.models.errors import ProviderError
from tests.support.model_requests import model_at, request
from tests.support.strict_provider import Call, Refusal, Reply, StrictProvider, Wire

KEY = "sk-proj-Zq83hfKJd92hGsk/20dKqo"
PAGE = f"<html><body>{'padding ' * 25}<b>Incorrect API key provided: {KEY}</b></body></html>"


async def shown_by(answers: Iterable[Reply | Refusal], name: str = "openai/gpt-4.1") -> str:
    """Return all that a user sees of a service's answers: text, retries and the error."""
    builder, lines = ReplyBuilder(), []
    with StrictProvider(list(answers), key=KEY) as server:
        try:
            async for item in stream_with_retry(model_at(server, name), request(), attempts=1):
                if isinstance(item, Retry):
                    lines.append(item.reason)
                else:
                    builder.add(item)
        except ProviderError as error:
            lines.append(str(error))
    reply = builder.build()
    return " ".join([*lines, reply.text, reply.reasoning, reply.refusal, reply.note])


@pytest.mark.parametrize("name", ["openai/gpt-4.1", "anthropic/claude-haiku-4-5"])
@pytest.mark.parametrize(
    "answer",
    [
        Refusal(401, f"Incorrect API key provided: {KEY}. Find yours in the console."),
        Refusal(403, f"{'x' * 280} {KEY}"),
        Refusal(400, body=PAGE.encode()),
        Refusal(401, body=b'{"error": {"message": "bad: %b"}}' % KEY.replace("/", "\\/").encode()),
        Refusal(302, headers={"location": f"http://other.test/?key={KEY}"}),
        Reply(wire=Wire(body=b'data: {"error": {"message": "bad key %b"}}\n\n' % KEY.encode())),
        Reply(wire=Wire(body=b"no service here, key %b" % KEY.encode(), content_type="text/plain")),
        Reply(f"Incorrect API key provided: {KEY}"),
        Reply(f"Incorrect API key provided: {KEY}", piece=1),
        Reply("See.", reasoning=f"My key is {KEY}", piece=5),
    ],
)
async def test_a_key_that_a_service_quotes_is_masked(answer: Reply | Refusal, name: str) -> None:
    shown = await shown_by([answer], name)
    assert KEY not in shown
    assert KEY[:8] not in shown, "not a part of it either"
    assert MASK in shown or "x" * 280 in shown


async def test_the_arguments_of_a_call_are_not_masked() -> None:
    call = Call("write_file", {"path": ".env", "content": f"KEY={KEY}"})
    builder = ReplyBuilder()
    with StrictProvider([Reply(calls=(call,), piece=4)], key=KEY) as server:
        async for chunk in model_at(server, "openai/gpt-4.1").stream(request()):
            builder.add(chunk)
    assert builder.build().calls[0].parameters == {"path": ".env", "content": f"KEY={KEY}"}


@pytest.mark.parametrize("size", [1, 3, 100])
def test_a_key_split_anywhere_is_masked_and_other_text_is_kept(size: int) -> None:
    text = f"sk-pro {KEY}{KEY} sk-proj-Zq83 end {KEY[:-1]}"
    key_filter = KeyFilter(KEY)
    pieces = [text[at : at + size] for at in range(0, len(text), size)]
    shown = "".join(key_filter.feed(piece, is_last=False) for piece in pieces)
    shown += key_filter.feed("", is_last=True)
    assert shown == f"sk-pro {MASK}{MASK} sk-proj-Zq83 end {KEY[:-1]}"


def test_a_placeholder_for_a_key_is_not_masked() -> None:
    assert KeyFilter("ollama").feed("Start ollama.", is_last=True) == "Start ollama."
