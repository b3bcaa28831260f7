"""Test requests that a service rejects as too long: the turn continues, and the next request is accepted."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest

from swecli.app import Runtime
from swecli.llm.registry import make_model
from swecli.models.events import Event, Notice, TurnFailed
from swecli.models.window_spec import WindowSpec
from tests.support.runtime import make_runtime, make_start, run_turn
from tests.support.strict_provider import Received, Refusal, Reply, StrictProvider, Tokens, Wire
from tests.support.strict_provider.script import Answer
from tests.support.strict_provider.server import ANTHROPIC_MODEL, OPENAI_MODEL

pytestmark = pytest.mark.slow

LOCAL = "qwen3-coder"
OVERFLOW = "exceed_context_size_error"
_LENGTH = "This model's maximum context length is {window} tokens. However, "


def make_refusal(
    error: dict[str, Any], *, bare: bool = False, **beside: Any
) -> Callable[[dict[str, int]], Answer]:
    """Return a refusal with that error object and its figures filled in; with `bare`, without an enclosing object."""

    def answer(sizes: dict[str, int]) -> Answer:
        filled = {
            key: value.format(**sizes) if isinstance(value, str) else value
            for key, value in error.items()
        }
        filled = {key: sizes.get(str(value), value) for key, value in filled.items()}
        return Refusal(
            400, body=json.dumps(filled if bare else beside | {"error": filled}).encode()
        )

    return answer


def openai_error(message: str, **more: Any) -> Callable[[dict[str, int]], Answer]:
    error = {
        "message": message,
        "type": "invalid_request_error",
        "param": "messages",
        "code": "context_length_exceeded",
    }
    return make_refusal(error | more)


def anthropic_error(message: str) -> Callable[[dict[str, int]], Answer]:
    return make_refusal(
        {"type": "invalid_request_error", "message": message},
        type="error",
        request_id="req_011CVjx",
    )


def llama_cpp_error(message: str) -> Callable[[dict[str, int]], Answer]:
    error = {
        "code": 400,
        "message": message,
        "type": OVERFLOW,
        "n_prompt_tokens": "prompt",
        "n_ctx": "window",
    }
    return make_refusal(error)


def llama_cpp_stream_error(sizes: dict[str, int]) -> Answer:
    """Older servers answer 200 and send the error as a separate field of the stream."""
    words = "the request exceeds the available context size. try increasing the context size or enable context shift"
    error = {"code": 400, "message": words, "type": OVERFLOW}
    error |= {"n_prompt_tokens": sizes["prompt"], "n_ctx": sizes["window"]}
    return Reply("", wire=Wire(body=f"error: {json.dumps(error)}\n\n".encode()))


def truncate_silently(sizes: dict[str, int]) -> Answer:
    """The server truncates the request without an error."""
    return Reply("I saw a part.", usage=Tokens(input=sizes["window"]))


@dataclass(frozen=True)
class Service:
    """A service that reads `window` tokens. With `sums`, the requested output counts too; `names` is the limit in its
    error message."""

    model: str
    answer: Callable[[dict[str, int]], Answer]
    window: int = 15_000
    sums: bool = False
    names: bool = True


SERVICES = {
    "OpenAI": Service(
        OPENAI_MODEL,
        openai_error(_LENGTH + "your messages resulted in {prompt} tokens. Please reduce the length of the messages."),
    ),
    "OpenAI, with tools": Service(
        OPENAI_MODEL,
        openai_error(
            _LENGTH + "your messages resulted in {prompt} tokens ({prompt} in the messages, 95 in the functions). "
            "Please reduce the length of the messages or functions."
        ),
    ),
    "OpenAI, with the answer": Service(
        OPENAI_MODEL,
        openai_error(
            _LENGTH + "you requested {total} tokens ({prompt} in the messages, {output} in the completion). Please "
            "reduce the length of the messages or completion."
        ),
        window=44_000,
        sums=True,
    ),
    "OpenAI, without a figure": Service(
        OPENAI_MODEL,
        openai_error(
            "Your input exceeds the context window of this model. Please adjust your input and try again.",
            param="input",
        ),
        names=False,
    ),
    "Anthropic": Service(ANTHROPIC_MODEL, anthropic_error("prompt is too long: {prompt} tokens > {window} maximum")),
    "Anthropic, with the answer": Service(
        ANTHROPIC_MODEL,
        anthropic_error(
            "input length and `max_tokens` exceed context limit: {prompt} + {output} > {window}, decrease input "
            "length or `max_tokens` and try again"
        ),
        window=44_000,
        sums=True,
    ),
    "llama.cpp": Service(
        LOCAL,
        llama_cpp_error(
            "request ({prompt} tokens) exceeds the available context size ({window} tokens), try increasing it"
        ),
    ),
    "llama.cpp, figures beside the words": Service(
        LOCAL, llama_cpp_error("the request exceeds the available context size, try increasing it")
    ),
    "llama.cpp, in the stream": Service(LOCAL, llama_cpp_stream_error),
    "vLLM before 0.11": Service(
        LOCAL,
        make_refusal({
            "object": "error",
            "message": _LENGTH + "you requested {total} tokens ({prompt} in the messages, {output} in the completion). "
            "Please reduce the length of the messages or completion.",
            "type": "BadRequestError", "param": None, "code": 400,
        }, bare=True),
        sums=True,
    ),
    "vLLM": Service(
        LOCAL,
        make_refusal({
            "message": _LENGTH + "you requested {output} output tokens and your prompt contains at least {prompt} "
            "input tokens, for a total of at least {total} tokens. Please reduce the length of the input prompt or "
            "the number of requested output tokens. (parameter=input_tokens, value={prompt})",
            "type": "BadRequestError", "param": "input_tokens", "code": 400,
        }),
        sums=True,
    ),
    "vLLM, longer than the model": Service(
        LOCAL,
        make_refusal({
            "message": "The decoder prompt (length {prompt}) is longer than the maximum model length of {window}. "
            "Make sure that `max_model_len` is no smaller than the number of text tokens.",
            "type": "BadRequestError", "param": None, "code": 400,
        }),
    ),
    "vLLM, the answer too large": Service(
        LOCAL,
        make_refusal({
            "message": "'max_tokens' or 'max_completion_tokens' is too large: {output}. This model's maximum context "
            "length is {window} tokens and your request has {prompt} input tokens ({output} > {window} - {prompt}).",
            "type": "BadRequestError", "param": "max_tokens", "code": 400,
        }),
        window=12_000,
        sums=True,
    ),
    "in silence": Service(LOCAL, truncate_silently, names=False),
}  # fmt: skip


@dataclass
class LimitedServer:
    """A loopback server that counts the bytes of each request and refuses those that are too long."""

    service: Service
    refused: list[int] = field(default_factory=list)
    sent: list[dict[str, Any]] = field(default_factory=list)

    def __call__(self, request: Received) -> Answer:
        body = request.body
        prompt = len(request.raw) // 4
        output = body.get("max_tokens") or body.get("max_completion_tokens") or 0
        sizes = {
            "prompt": prompt,
            "output": output,
            "total": prompt + output,
            "window": self.service.window,
        }
        self.sent.append(body)
        if prompt + output * self.service.sums > self.service.window:
            self.refused.append(len(self.sent) - 1)
            return self.service.answer(sizes)
        return Reply(f"That is answer {len(self.sent)}.", usage=Tokens(input=prompt))


def make_service_runtime(server: StrictProvider, service: Service) -> Runtime:
    provider = "anthropic" if service.model == ANTHROPIC_MODEL else "openai"
    model = make_model(
        f"{provider}/{service.model}", make_start().settings, {**os.environ, **server.environ()}
    )
    return make_runtime(model, learn=False, window=WindowSpec(mode="full"))


def notice_texts(events: list[Event]) -> list[str]:
    return [event.text for event in events if isinstance(event, Notice)]


def last_query(body: dict[str, Any]) -> str:
    """Return the text of the last user message."""
    return str(
        [message["content"] for message in body["messages"] if message["role"] == "user"][-1]
    )


async def ask_question(runtime: Runtime, number: int) -> list[Event]:
    events = await run_turn(runtime, f"question {number}: " + "word " * 1_400, learn=False)
    assert [event.error for event in events if isinstance(event, TurnFailed)] == []
    return events


@pytest.mark.parametrize("name", SERVICES)
async def test_a_request_refused_as_too_long_is_retried_smaller_and_later_requests_fit(
    name: str,
) -> None:
    service = SERVICES[name]
    line = LimitedServer(service)
    with StrictProvider(line, models=(OPENAI_MODEL, ANTHROPIC_MODEL, LOCAL)) as server:
        runtime = make_service_runtime(server, service)
        number, events = 0, list[Event]()
        while not any("retrying with a smaller request" in text for text in notice_texts(events)):
            number += 1
            events = await ask_question(runtime, number)
        assert number < 10, "no overflow happened"
        assert f"question {number}: word" in last_query(line.sent[-1]), (
            "the query itself is not cut"
        )
        refused, prompt = len(line.refused), len(json.dumps(line.sent[-1]["messages"]))
        if service.names:
            figure = f"{service.window:,}".replace(",", "")
            assert (
                str(runtime.agent.make_fitter().observed.windows[runtime.agent.model.name])
                == figure
            )
        assert len(json.dumps(line.sent[line.refused[-1]]["messages"])) > prompt or service.sums
        before = len(line.sent)
        await run_turn(runtime, "short", learn=False)
        assert len(line.refused) == refused, "the learned limit is used"
        assert "short" in last_query(line.sent[-1])
        sent = json.dumps(line.sent[before:])
        assert f"question {number}" in sent, "the previous turn is sent, or summarised"
        for later in range(number + 1, number + 4):
            assert not any(
                "retrying with a smaller request" in text
                for text in notice_texts(await ask_question(runtime, later))
            )
        session = runtime.sessions.current_session
        assert session is not None
        kept = json.dumps([message.content for message in session.messages])
        assert all(f"question {n}:" in kept for n in range(1, number + 4)), "nothing stored is lost"
        assert server.refusals == []
        runtime.close()


async def test_a_reported_limit_is_discarded_with_a_new_session_or_model() -> None:
    service = SERVICES["llama.cpp"]
    line = LimitedServer(service)
    with StrictProvider(line, models=(OPENAI_MODEL, LOCAL)) as server:
        runtime = make_service_runtime(server, service)
        while not line.refused:
            await ask_question(runtime, 1)
        other = make_model(
            f"openai/{OPENAI_MODEL}", make_start().settings, {**os.environ, **server.environ()}
        )
        ways: tuple[Callable[[], None], ...] = (
            runtime.new_session,
            lambda: runtime.agent.use_model(other),
        )
        for forget in ways:
            assert runtime.agent.make_fitter().limits.allowed is not None
            forget()
            refused = len(line.refused)
            while len(line.refused) == refused:
                await ask_question(runtime, 2)
            [sent] = [len(json.dumps(line.sent[n])) for n in line.refused[refused:]]
            assert sent > service.window * 4, "the query is sent in full until it is refused again"
        runtime.close()
