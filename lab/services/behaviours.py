"""What services were reported to do, in public threads and on their own pages, and how a run of swecli should end.

`PYTHONPATH=. python -m lab.services.behaviours` plays all of them and prints the table of endings.
"""

from __future__ import annotations

import asyncio
import io
import json
import os
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from swecli.headless.prompts import Prompt, read_prompts
from swecli.headless.runner import refuse, run_prompts
from swecli.headless.writers.base import make_writer
from swecli.llm.endpoints import resolve
from swecli.llm.services import SERVICES
from tests.support.model_requests import model_for_endpoint
from tests.support.runtime import make_runtime
from tests.support.strict_provider import Call, Received, Refusal, Reply, StrictProvider, Wire

CHAT = "openai/gpt-4.1"
OTHER = "together_ai/x-reasoner"  # another service with the protocol of chat completions
DEEPSEEK = "deepseek/x-reasoner"
OPENROUTER = "openrouter/x-reasoner"
CLAUDE = "anthropic/claude-haiku-4-5"
OPUS = "anthropic/claude-opus-5"
SOL = "openai/gpt-6.1-sol"
GEMINI = "gemini/gemini-3.8-flash"
LOCAL = "ollama/x-reasoner"
MODELS = tuple(
    name.partition("/")[2] for name in (CHAT, OTHER, DEEPSEEK, CLAUDE, OPUS, SOL, GEMINI)
)
LOOK = Call("list_files", {})
DONE = "Hello."
NOW = {"retry-after": "0"}


@dataclass(frozen=True)
class Behaviour:
    """One of them: who was reported to do it, the answers in order, and the right ending: the requests paid, the exit
    code of `-p`, a part of what stderr says and the text on stdout. `check` looks at the bodies that were sent."""

    what: str
    reported: str
    model: str
    answers: Callable[[], Any]
    requests: int = 1
    code: int = 0
    seen: str = ""
    answer: str = DONE
    thinking: str = ""
    check: Callable[[Sequence[dict[str, Any]]], bool] | None = None


@dataclass(frozen=True)
class Ending:
    """How a run ended."""

    requests: int
    code: int
    out: str
    err: str
    refusals: tuple[str, ...]
    bodies: Sequence[dict[str, Any]]

    def is_right(self, expected: Behaviour) -> bool:
        """Return whether it is the expected one."""
        facts = (self.requests, self.code, self.out) == (
            expected.requests,
            expected.code,
            expected.answer,
        )
        said = expected.seen in self.err and bool(expected.seen) == bool(self.err)
        checked = expected.check is None or expected.check(self.bodies)
        return facts and said and checked and not self.refusals


async def play(behaviour: Behaviour) -> Ending:
    """Run one prompt against a service that behaves so."""
    with StrictProvider(behaviour.answers(), models=MODELS) as server:
        endpoint = replace(
            resolve(behaviour.model, _environ(server, behaviour.model)), after_finish=0.05
        )
        model: Any = model_for_endpoint(endpoint)
        runtime = make_runtime(model, refuse, learn=False)  # type: ignore[arg-type]
        runtime.agent.thinking = behaviour.thinking
        out, err = io.StringIO(), io.StringIO()
        prompts = read_prompts(Prompt("hello"))
        code = await run_prompts(runtime, prompts, make_writer("text", out, err))
        runtime.close()
        return Ending(
            len([one for one in server.requests if one.protocol]),  # a local server is also probed
            code,
            out.getvalue().strip(),
            err.getvalue(),
            tuple(server.refusals),
            server.bodies,
        )


def _environ(server: StrictProvider, name: str) -> Mapping[str, str]:
    service = SERVICES[name.partition("/")[0]]
    base = server.url if service.api in ("anthropic", "gemini") else server.openai_base
    key = {service.key_variables[0]: server.key or ""}
    return {**key, service.base_variables[-2]: base}


def _events(*events: dict[str, Any] | str, end: str = "data: [DONE]\n\n") -> Reply:
    """Return an answer of these events; a text is sent as it is."""
    texts = [
        event if isinstance(event, str) else f"data: {json.dumps(event)}\n\n" for event in events
    ]
    return Reply(wire=Wire(body="".join([*texts, end]).encode()))


def _deltas(*deltas: dict[str, Any], end: str | None = "stop", **more: Any) -> Reply:
    """Return a chat completion of these deltas."""
    choices: list[dict[str, Any]] = [{"index": 0, "delta": delta} for delta in deltas]
    choices.append({"index": 0, "delta": {}, "finish_reason": end, **more})
    return _events(*({"choices": [choice]} for choice in choices))


def _message(*blocks: dict[str, Any], stop: str = "end_turn") -> Reply:
    """Return an answer of Anthropic's, each block in its start event."""
    usage = {"input_tokens": 9, "output_tokens": 2}
    events: list[dict[str, Any]] = [
        {"type": "message_start", "message": {"role": "assistant", "content": [], "usage": usage}}
    ]
    for index, block in enumerate(blocks):
        events.append({"type": "content_block_start", "index": index, "content_block": block})
        events.append({"type": "content_block_stop", "index": index})
    events.append({"type": "message_delta", "delta": {"stop_reason": stop}, "usage": usage})
    return _events(*events, {"type": "message_stop"}, end="")


def _parts(*parts: dict[str, Any], **end: Any) -> Reply:
    """Return an answer of Gemini's."""
    events: list[dict[str, Any]] = [
        {"candidates": [{"content": {"parts": [one]}}]} for one in parts
    ]
    last = {"candidates": [end], "usageMetadata": {"promptTokenCount": 9}}
    return _events(*events, last, end="")


def _items(*items: dict[str, Any], status: str = "completed", **more: Any) -> Reply:
    """Return an answer of the Responses API, its items whole."""
    events: list[dict[str, Any]] = [
        {"type": "response.output_item.done", "output_index": index, "item": item}
        for index, item in enumerate(items)
    ]
    last = {"type": f"response.{status}", "response": {"status": status, "output": [], **more}}
    return _events(*events, last, end="")


def _said(text: str, **more: Any) -> dict[str, Any]:
    parts = [{"type": "output_text", "text": text}]
    return {"type": "message", "id": "m", "role": "assistant", "content": parts, **more}


def _named(name: str = "list_files", arguments: Any = "{}", **more: Any) -> dict[str, Any]:
    return {
        "index": 0,
        "type": "function",
        "function": {"name": name, "arguments": arguments},
        **more,
    }


def _unless(words: str, sent: str, **more: Any) -> Callable[[], Any]:
    """Refuse requests in which this text is."""

    def service(received: Received) -> Reply | Refusal:
        return Refusal(400, words, **more) if sent in json.dumps(received.body) else Reply(DONE)

    return lambda: service


def _body(status: int, value: Any, **headers: str) -> Refusal:
    raw = value if isinstance(value, bytes) else json.dumps(value).encode()
    return Refusal(status, body=raw, headers=headers)


def _answers(*answers: Any) -> Callable[[], Any]:
    return lambda: list(answers)


def _sent(field: str, value: Any = None) -> Callable[[Sequence[dict[str, Any]]], bool]:
    """Return the check that the last message of the model has a field, or that the first body has this value."""

    def check(bodies: Sequence[dict[str, Any]]) -> bool:
        if value is not None:
            return bool(bodies[0].get(field) == value)
        turns = [m for m in bodies[-1]["messages"] if m["role"] == "assistant"]
        return field in turns[-1]

    return check


def _not_sent(text: str) -> Callable[[Sequence[dict[str, Any]]], bool]:
    return lambda bodies: text not in json.dumps(bodies[-1])


_CALL = {"tool_calls": [_named(id="call_1")]}
_THEN = Reply(DONE)
_SEEN = "List ."
BEHAVIOURS = (
    # chat completions: thoughts
    Behaviour("thoughts in `reasoning` before a call", "vLLM, issue 38488", OTHER, _answers(
        _deltas({"reasoning": "hm"}, _CALL, end="tool_calls"), _THEN), 2, seen=_SEEN, check=_sent("reasoning")),
    Behaviour("thoughts in `reasoning_content` before a call", "DeepSeek, page on thinking", DEEPSEEK, _answers(
        _deltas({"reasoning_content": "hm"}, _CALL, end="tool_calls"), _THEN), 2, seen=_SEEN,
        check=_sent("reasoning_content")),
    Behaviour("thoughts in both fields, and in details", "OpenRouter, page on reasoning tokens", OPENROUTER, _answers(
        _deltas({"reasoning": "hm", "reasoning_content": "hm", "reasoning_details": [
            {"type": "reasoning.text", "text": "hm", "index": 0}]}, _CALL, end="tool_calls"), _THEN), 2, seen=_SEEN,
        check=_sent("reasoning_details")),
    Behaviour("content `null` beside empty thoughts in the first delta", "DeepSeek, stream", DEEPSEEK, _answers(
        _deltas({"role": "assistant", "content": None, "reasoning_content": ""}, {"content": DONE}))),
    Behaviour("thoughts as parts of the content", "Mistral, page on reasoning", CHAT, _answers(_deltas(
        {"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}]}, {"content": DONE}))),
    Behaviour("a history of another model with calls", "hermes, issue 18263", DEEPSEEK, _unless(
        "Invalid value: messages.reasoning_content is empty", '"reasoning_content": ""')),
    Behaviour("`reasoning_content` wanted back by a model of no known family", "gateways of Kimi", OTHER, lambda: [
        Reply(calls=(LOOK,)), Refusal(400, "The `reasoning_content` in thinking mode must be passed back."),
        _THEN], 3, seen="wants its reasoning back"),
    Behaviour("`reasoning_content` not taken back", "Cerebras, Mistral", OTHER, _answers(
        _deltas({"reasoning_content": "hm"}, _CALL, end="tool_calls"),
        Refusal(400, "body -> messages -> 2 -> assistant -> reasoning_content: property is unsupported"), _THEN), 3,
        seen="does not take its reasoning back", check=_not_sent("reasoning_content")),
    # chat completions: thinking levels
    Behaviour("thinking switched off", "DeepSeek, page on thinking mode", DEEPSEEK, _answers(_THEN), thinking="off",
              check=_sent("thinking", {"type": "disabled"})),
    Behaviour("most thinking", "DeepSeek, page on thinking mode", DEEPSEEK, _answers(_THEN), thinking="max",
              check=_sent("reasoning_effort", "max")),
    Behaviour("thinking switched off", "OpenRouter, page on reasoning tokens", OPENROUTER, _answers(_THEN),
              thinking="off", check=_sent("reasoning", {"effort": "none"})),
    Behaviour("an effort refused by its value", "OpenAI: 'none' of older models", OTHER, _unless(
        "Unsupported value: 'reasoning_effort' does not support 'low' with this model.", '"reasoning_effort"'), 2,
        seen="does not accept reasoning_effort", thinking="low"),
    Behaviour("an effort refused by the proxy's own error", "litellm proxy, UnsupportedParamsError", OTHER, _unless(
        "litellm.UnsupportedParamsError: x does not support parameters: ['reasoning_effort'], for model=x",
        '"reasoning_effort"'), 2, seen="does not accept reasoning_effort", thinking="high"),
    # chat completions: calls
    Behaviour("arguments `null`", "proxies, tools without arguments", CHAT, _answers(
        _deltas({"tool_calls": [_named(arguments=None, id="c")]}, end="tool_calls"), _THEN), 2, seen=_SEEN),
    Behaviour("the same id for two calls", "Ollama, GLM", CHAT, _answers(_deltas({"tool_calls": [
        _named(id="c"), _named(id="c", index=1)]}, end="tool_calls"), _THEN), 2, seen=_SEEN),
    Behaviour("finish reason `stop` behind calls", "Ollama, Gemini's endpoint", CHAT, _answers(
        _deltas(_CALL, end="stop"), _THEN), 2, seen=_SEEN),
    Behaviour("calls without id and index", "LM Studio", LOCAL, _answers(_deltas({"tool_calls": [
        {"function": {"name": "list_files", "arguments": "{}"}}]}, end="tool_calls"), _THEN), 2, seen=_SEEN),
    Behaviour("a finish reason `\"\"` in each chunk", "one-api and kin", CHAT, lambda: [_events(
        {"choices": [{"index": 0, "delta": {"content": DONE}, "finish_reason": ""}]},
        {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})]),
    # chat completions: streams
    Behaviour("comments while it works", "OpenRouter, page on streaming", OPENROUTER, lambda: [_events(
        ": OPENROUTER PROCESSING\n\n" * 3, {"choices": [{"index": 0, "delta": {"content": DONE}}]},
        {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})]),
    Behaviour("a first event without choices", "Azure, prompt_filter_results", CHAT, lambda: [_events(
        {"choices": [], "prompt_filter_results": [{"prompt_index": 0}]},
        {"choices": [{"index": 0, "delta": {"content": DONE}}]},
        {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})]),
    Behaviour("usage in each chunk", "Fireworks, Moonshot", CHAT, lambda: [_events(*(
        {"choices": [{"index": 0, "delta": {"content": piece}}], "usage": {"prompt_tokens": 9, "completion_tokens": 1}}
        for piece in ("Hel", "lo.")), {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})]),
    Behaviour("no space behind `data:`, and CRLF", "SGLang behind proxies", CHAT, lambda: [_events(
        'data:{"choices":[{"index":0,"delta":{"content":"Hello."}}]}\r\n\r\n',
        'data:{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\r\n\r\n')]),
    Behaviour("the last delta is `null`", "TGI, Azure", CHAT, lambda: [_events(
        {"choices": [{"index": 0, "delta": {"content": DONE}}]},
        {"choices": [{"index": 0, "delta": None, "finish_reason": "stop"}]})]),
    Behaviour("no `[DONE]`, the connection ends", "Cloudflare Workers AI", CHAT, lambda: [_events(
        {"choices": [{"index": 0, "delta": {"content": DONE}}]},
        {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}, end="")]),
    Behaviour("citations and search results beside the text", "Perplexity, streams", CHAT, lambda: [_events(
        {"choices": [{"index": 0, "delta": {"content": DONE}}], "citations": ["https://a.test"], "search_results": []},
        {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}], "citations": []})]),
    Behaviour("a call that Google could not read, under a router's `stop`", "OpenRouter, native_finish_reason",
              OPENROUTER, lambda: [_deltas({"content": "print(list_files("}, end="stop",
                                           native_finish_reason="MALFORMED_FUNCTION_CALL"), _THEN], 2,
              seen="MALFORMED_FUNCTION_CALL"),
    # chat completions: errors
    Behaviour("an error in the stream, once", "Together, server_error", CHAT, lambda: [_events(
        {"error": {"message": "Internal error", "type": "server_error"}}), _THEN], 2, seen="Internal error"),
    Behaviour("an error named by its event", "LM Studio", LOCAL, lambda: [_events(
        'event: error\ndata: {"error": {"message": "Model unloaded."}}\n\n', end=""), _THEN], 2, seen="Model unloaded"),
    Behaviour("no credit", "DeepSeek, error codes", DEEPSEEK, _answers(Refusal(402, "Insufficient Balance")), 1, 1,
              "no credit left", ""),
    Behaviour("no credit under status 200", "MiniMax, base_resp 1008", CHAT, lambda: [Reply(wire=Wire(
        body=b'{"base_resp": {"status_code": 1008, "status_msg": "insufficient balance"}}',
        content_type="application/json"))], 1, 1, "insufficient balance", ""),
    Behaviour("a quota that is used up", "OpenAI, insufficient_quota", CHAT, _answers(Refusal(
        429, "You exceeded your current quota", "insufficient_quota")), 1, 1, "no credit left", ""),
    Behaviour("a budget that is used up", "litellm proxy, ExceededBudget", CHAT, _answers(_body(429, {"error": {
        "message": "ExceededBudget: User=x over budget. Spend=1.2, Budget=1.0", "type": "budget_exceeded"}})), 1, 75,
        "raise the limit", ""),
    Behaviour("a limit of the day", "OpenRouter, free models", OPENROUTER, _answers(_body(429, {"error": {
        "message": "Rate limit exceeded: free-models-per-day. Add 10 credits", "code": 429}})), 1, 75, "next day", ""),
    Behaviour("a limit that ends in hours", "Groq, tokens per day", CHAT, _answers(Refusal(
        429, "Rate limit reached for tokens per day (TPD). Please try again in 2h39m52s.")), 1, 75, "2 h 40 min", ""),
    Behaviour("a short wait in words", "Azure: retry after 0 seconds", CHAT, _answers(Refusal(
        429, "Requests have exceeded call rate limit. Please retry after 0 seconds."), _THEN), 2, seen="(429)"),
    Behaviour("a gateway's page, once", "Cloudflare 524", CHAT, _answers(_body(
        524, b"<html><h1>A timeout occurred</h1></html>", **NOW), _THEN), 2, seen="A timeout occurred"),
    Behaviour("a page that says the body is too large", "nginx, client_max_body_size", CHAT, _answers(_body(
        413, b"<html><h1>413 Request Entity Too Large</h1></html>")), 1, 1, "takes no request of this size", ""),
    Behaviour("a filter before the answer", "Azure, content_filter", CHAT, _answers(Refusal(
        400, "The response was filtered", "content_filter")), 1, 1, "withheld the answer", ""),
    Behaviour("a page of a company's login", "captive portals", CHAT, _answers(*[Reply(wire=Wire(
        body=b"<html>Sign in to the network</html>", content_type="text/html"))] * 2), 2, 75, "Sign in", ""),
    Behaviour("a field refused by its place in a list", "FastAPI: vLLM, SGLang", CHAT, lambda: (
        lambda received: _body(422, {"detail": [{"type": "extra_forbidden", "loc": ["body", "stream_options"],
                                                 "msg": "Extra inputs are not permitted"}]})
        if "stream_options" in received.body else _THEN), 2, seen="does not accept stream_options"),
    Behaviour("a field refused in Chinese", "Baidu, iFlytek", CHAT, _unless(
        "不支持参数 stream_options", "stream_options"), 2, seen="does not accept stream_options"),
    Behaviour("something refused without a name", "gateways that hide errors", CHAT, _unless(
        "Bad Request", "stream_options"), 2, seen="asked once more without stream_options"),
    Behaviour("a path that is not there", "base URL without /v1", "openai/gpt-4.1", lambda: (
        lambda received: Refusal(404, "Not Found")), 1, 1, "has nothing at the path", ""),
    Behaviour("a deployment that is not there", "Azure, DeploymentNotFound", CHAT, _answers(Refusal(
        404, "The API deployment for this resource does not exist.", "DeploymentNotFound")), 1, 42,
        "does not know the model", ""),
    # Anthropic's messages
    Behaviour("thoughts without a signature", "DeepSeek's /anthropic", CLAUDE, _answers(_message(
        {"type": "thinking", "thinking": "hm", "signature": ""}, {"type": "text", "text": DONE}))),
    Behaviour("a call whose input is in its start", "Kimi's and MiniMax's /anthropic", CLAUDE, _answers(_message(
        {"type": "tool_use", "id": "t1", "name": "list_files", "input": {"path": "."}}, stop="tool_use"), _THEN), 2,
        seen=_SEEN),
    Behaviour("a cache mark refused by its path", "Bedrock gateways, Vertex", CLAUDE, _unless(
        "messages.0.content.0.text.cache_control: Extra inputs are not permitted", '"cache_control"'), 2,
        seen="does not accept cache_control"),
    Behaviour("adaptive thinking refused by its tag", "gateways with older models", OPUS, _unless(
        "thinking: Input tag 'adaptive' found using 'type' does not match any of: 'disabled', 'enabled'",
        '"thinking"'), 2, seen="does not accept thinking", thinking="high"),
    Behaviour("an effort refused by its value", "Claude, output_config", OPUS, _unless(
        "output_config.effort: Input should be 'low', 'medium' or 'high'", '"output_config"'), 2,
        seen="does not accept output_config", thinking="max"),
    Behaviour("an effort refused in words", "Claude: the effort parameter", OPUS, _unless(
        "This model does not support the effort parameter.", '"output_config"'), 2, seen="asked once more without",
        thinking="high"),
    Behaviour("thinking switched off", "Claude Opus 5, thinking on by default", OPUS, _answers(_THEN), thinking="off",
              check=_sent("thinking", {"type": "disabled"})),
    Behaviour("a plan that has no long context", "Claude, 429 of a plan", CLAUDE, _answers(Refusal(
        429, "Extra usage is required for long context requests.")), 1, 75, "raise the limit", ""),
    Behaviour("a login for another program", "Claude, OAuth tokens", CLAUDE, _answers(Refusal(
        401, "This credential is only authorized for use with Claude Code.")), 1, 1, "(401)", ""),
    Behaviour("overloaded in the middle of the text, once", "Claude, 529 in the stream", CLAUDE, lambda: [_events(
        {"type": "message_start", "message": {"usage": {"input_tokens": 9}}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": "Hal"}},
        {"type": "error", "error": {"type": "rate_limit_error", "message": "Try again in 0s"}}, end=""), _THEN], 2,
        seen="Try again in 0s"),
    Behaviour("a search of the service before it pauses", "Claude, pause_turn", CLAUDE, _answers(_message(
        {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "x"}},
        stop="pause_turn"), _THEN), 2, check=lambda bodies: "srvtoolu_1" in json.dumps(bodies[1]["messages"])),
    # OpenAI's Responses
    Behaviour("two messages in one answer", "OpenAI, phases", SOL, _answers(_items(
        _said("I look.", phase="commentary"), _said(DONE, phase="final_answer"))), answer="I look.\n\nHello."),
    Behaviour("open thoughts before a call", "gpt-oss on vLLM", SOL, _answers(_items(
        {"type": "reasoning", "id": "r", "summary": [], "content": [{"type": "reasoning_text", "text": "hm"}],
         "encrypted_content": "gAAA1"},
        {"type": "function_call", "id": "f", "call_id": "c", "name": "list_files", "arguments": "{}"}), _THEN), 2,
        seen=_SEEN, check=lambda bodies: "reasoning_text" in json.dumps(bodies[1])),
    Behaviour("a plan's limit", "Codex, usage_limit_reached", SOL, _answers(_body(429, {"error": {
        "type": "usage_limit_reached", "message": "The usage limit has been reached", "resets_in_seconds": 12000}})), 1,
        75, "3 h 20 min", ""),
    Behaviour("a limit inside the answer, once", "OpenAI, response.failed", SOL, _answers(_items(
        status="failed", error={"code": "rate_limit_exceeded", "message": "Please try again in 0s."}), _THEN), 2,
        seen="has reached its rate limit"),
    Behaviour("items of the service's own search", "OpenAI, web_search_call", SOL, _answers(_items(
        {"type": "web_search_call", "id": "w", "status": "completed"}, _said(DONE)))),
    Behaviour("an organisation that gets no summaries", "OpenAI, verification", SOL, _unless(
        "Your organization must be verified to generate reasoning summaries.", '"summary": "auto"',
        code="unsupported_value"), 2, seen="asked once more without"),
    Behaviour("a gateway that has chat completions alone", "LiteLLM before 1.66, vLLM before 0.10", SOL, lambda: (
        lambda received: Refusal(404, "Not Found") if received.protocol == "responses" else _THEN), 2,
        seen="asked over chat completions"),
    # Gemini
    Behaviour("a call that could not be read, once", "python-genai, issue 1836", GEMINI, _answers(_parts(
        finishReason="MALFORMED_FUNCTION_CALL", finishMessage="Malformed function call: print("), _THEN), 2,
        seen="MALFORMED_FUNCTION_CALL: Malformed function call: print("),
    Behaviour("a content that is `{}`", "vercel/ai, pull request 5039", GEMINI, _answers(_events(
        {"candidates": [{"content": {}, "finishReason": "MALFORMED_FUNCTION_CALL"}]}, end=""), _THEN), 2,
        seen="MALFORMED_FUNCTION_CALL"),
    Behaviour("a signature on the first of two calls alone", "Google, page on thought signatures", GEMINI, _answers(
        Reply("", reasoning="hm", calls=(LOOK, Call("list_files", {"path": "."}))), _THEN), 2, seen=_SEEN,
        check=lambda bodies: json.dumps(bodies[1]).count("thoughtSignature") == 1),
    Behaviour("only thoughts, once", "gemini-cli, empty answers", GEMINI, _answers(
        _parts({"text": "hm", "thought": True}, finishReason="STOP"), _THEN), 2, seen="reasoning only"),
    Behaviour("a prompt that is blocked", "Google, promptFeedback", GEMINI, _answers(_events(
        {"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}}, end="")), 1, 1, "withheld the answer", ""),
    Behaviour("a safety end in the text", "Google, SAFETY", GEMINI, _answers(
        _parts({"text": "So far"}, finishReason="SAFETY")), 1, 1, "withheld the rest", "So far"),
    Behaviour("overloaded, once", "Google, 503 UNAVAILABLE", GEMINI, _answers(Refusal(
        503, "The model is overloaded. Please try again later.", headers=NOW), _THEN), 2, seen="overloaded"),
    Behaviour("a quota of the day", "Google, GenerateRequestsPerDayPerProject", GEMINI, _answers(_body(429, [{"error": {
        "code": 429, "message": "Quota exceeded for requests per day", "details": []}}])), 1, 75, "next day", ""),
    Behaviour("an invalid key under 400", "Google, API_KEY_INVALID", GEMINI, _answers(Refusal(
        400, "API key not valid. Please pass a valid API key.")), 1, 1, "refused the key", ""),
)  # fmt: skip


def table(endings: Mapping[Behaviour, Ending]) -> str:
    """Return the table of endings in Markdown."""
    lines = [
        "| behaviour | reported of | requests | exit | ends as it should |",
        "|---|---|---:|---:|---|",
    ]
    for behaviour, ending in endings.items():
        right = "yes" if ending.is_right(behaviour) else "NO"
        lines.append(
            f"| {behaviour.what} | {behaviour.reported} | {ending.requests} | {ending.code} | {right} |"
        )
    return "\n".join(lines)


def main() -> int:
    """Play all, print the table, and what is wrong on stderr."""
    endings = {}
    for behaviour in BEHAVIOURS:
        with tempfile.TemporaryDirectory() as folder:
            os.environ.update(HOME=folder, XDG_STATE_HOME=folder, XDG_CONFIG_HOME=folder)
            work = Path(folder, "work")
            work.mkdir()
            os.chdir(work)
            endings[behaviour] = asyncio.run(play(behaviour))
    print(table(endings))
    wrong = [one for one, ending in endings.items() if not ending.is_right(one)]
    for behaviour in wrong:
        print(behaviour.what, endings[behaviour], file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
