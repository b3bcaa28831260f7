"""The ways in which services deviate from their protocol, each with the expected output and number of paid requests.
The tables in docs/reference/quirks.md are generated from them: `PYTHONPATH=. python -m tests.support.quirks`."""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.support.strict_provider import Call, Received, Refusal, Reply, Wire

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "quirks.md"
BOTH = ("openai", "anthropic")
CHAT = ("openai",)
MESSAGES = ("anthropic",)
RESPONSES = ("responses",)
GEMINI = ("gemini",)
ALL = (*BOTH, *RESPONSES, *GEMINI)
SERVICES = (*MESSAGES, *RESPONSES)  # their wires are no local server's
WIRE_NAMES = {
    ALL: "all",
    BOTH: "both",
    CHAT: "OpenAI",
    MESSAGES: "Anthropic",
    RESPONSES: "Responses",
    SERVICES: "Anthropic, Responses",
}
LOOK = Call("list_files", {})
DONE = "Hello."
TAGGED = '<tool_call>{"name": "list_files", "arguments": {}}</tool_call>'
BARE = '{"name": "list_files", "arguments": {}}'
UNREADABLE = '<tool_call>{"name": "list_files", "arguments": {</tool_call>'


@dataclass(frozen=True)
class Quirk:
    """A deviation and its effect: the `requests` paid for one question, the exit `code` of `-p`, the text `seen` in
    a line on stderr ("" for none), and the `answer` on stdout and on the screen."""

    what: str
    script: Callable[[], Any]
    requests: int
    code: int = 0
    seen: str = ""
    answer: str = DONE
    wires: tuple[str, ...] = BOTH


def _raw(*deltas: dict[str, Any], end: str | None = "stop", **more: Any) -> Reply:
    """Return a reply in the chat protocol that consists of these deltas."""
    choices: list[dict[str, Any]] = [
        {"index": 0, "delta": delta, "finish_reason": None} for delta in deltas
    ]
    if end:
        choices.append({"index": 0, "delta": {}, "finish_reason": end, **more})
    body = (
        "".join(f"data: {json.dumps({'choices': [choice]})}\n\n" for choice in choices)
        + "data: [DONE]\n\n"
    )
    return Reply(wire=Wire(body=body.encode()))


def _refuse_if(
    words: str, sent: Callable[[dict[str, Any]], Any]
) -> Callable[[Received], Reply | Refusal]:
    return lambda received: Refusal(400, words) if sent(received.body) else Reply(DONE)


def _body(text: bytes, kind: str = "text/event-stream") -> Reply:
    return Reply(wire=Wire(body=text, content_type=kind))


def _whole() -> Any:
    chat = {
        "choices": [
            {"index": 0, "message": {"role": "assistant", "content": DONE}, "finish_reason": "stop"}
        ]
    }
    message = {
        "type": "message",
        "role": "assistant",
        "content": [{"type": "text", "text": DONE}],
        "stop_reason": "end_turn",
        "usage": {"input_tokens": 9, "output_tokens": 2},
    }
    return lambda got: _body(
        json.dumps(chat if got.protocol == "openai" else message).encode(), "application/json"
    )


def _bom() -> Any:
    return [_body(b"\xef\xbb\xbf" + (_raw({"content": DONE}).wire.body or b""))]


def _json(value: dict[str, Any]) -> Reply:
    return _body(json.dumps(value).encode(), "application/json")


def _limit_output(most: int, words: str) -> Callable[[Received], Reply | Refusal]:
    return _refuse_if(words, lambda body: body["max_tokens"] > most)


def _has_default(body: dict[str, Any]) -> bool:
    """Return whether a schema of a tool has the field; an argument of that name is followed by its schema."""
    return re.search(r'"default": [^{]', json.dumps(body["tools"])) is not None


def _no_endpoint(received: Received) -> Refusal | Reply:
    words = "No endpoints found that support tool use. Try disabling it."
    return Refusal(404, words) if "tools" in received.body else Reply(DONE)


def _without_finish_reason() -> Any:
    """End a stream with the end marker but without a finish reason."""
    ends = {
        "openai": _raw({"content": DONE}, end=None),
        "anthropic": _body(STOPPED.replace(b'"end_turn"', b"null")),
    }
    return lambda got: ends[str(got.protocol)]


def _counting_index() -> Any:
    """Increment the index with each chunk of a single call."""
    pieces: list[dict[str, Any]] = [
        {"index": 0, "id": "a", "function": {"name": "list_files"}},
        {"index": 1, "function": {"arguments": '{"path"'}},
        {"index": 2, "function": {"arguments": ': "."}'}},
    ]
    return [_raw(*({"tool_calls": [piece]} for piece in pieces)), Reply(DONE)]


def _strict_about(text: str, words: str, refused: Callable[[dict[str, Any]], bool]) -> Any:
    """Return a script that replies with a call next to this text, and then refuses messages for which `refused` is
    true."""

    def answer(got: Received) -> Refusal | Reply:
        if any(refused(message) for message in got.body["messages"]):
            return Refusal(400, words)
        return Reply(DONE) if got.number else Reply(text, calls=(LOOK,))

    return answer


def _blank_beside_thoughts() -> Any:
    blocks = ({"type": "text", "text": ""}, {"type": "thinking", "thinking": "hm", "signature": "s"},
              {"type": "tool_use", "id": "t1", "name": "list_files", "input": {"path": "."}})  # fmt: skip
    events: list[dict[str, Any]] = []
    for index, block in enumerate(blocks):
        events.append({"type": "content_block_start", "index": index, "content_block": block})
        events.append({"type": "content_block_stop", "index": index})
    events.append({"type": "message_delta", "delta": {"stop_reason": "tool_use"}})
    events.append({"type": "message_stop"})
    return [
        _body("".join(f"data: {json.dumps(event)}\n\n" for event in events).encode()),
        Reply(DONE),
    ]


def _kept_open() -> Any:
    def answer(got: Received) -> Reply:
        body = ENDED if got.protocol == "openai" else STOPPED
        return Reply(wire=Wire(body=body, pings_at=len(body)))

    return answer


def _silent() -> Any:
    def answer(got: Received) -> Reply:
        if got.protocol == "openai":
            body = ENDED.partition(b"data: [DONE]")[0]
        else:
            body = STOPPED.partition(b'data: {"type": "message_stop"')[0]
        return Reply(wire=Wire(body=body, stall_at=len(body)))

    return answer


def _items(*events: dict[str, Any]) -> Reply:
    """Return a reply in the Responses protocol that consists of these events."""
    return _body("".join(f"data: {json.dumps(event)}\n\n" for event in events).encode())


def _only_responses(received: Received) -> Reply | Refusal:
    words = "Function tools are not supported in /v1/chat/completions for this model. Use /v1/responses."
    return Refusal(400, words) if received.protocol == "openai" else Reply(DONE)


def _only_chat(received: Received) -> Reply | Refusal:
    return Refusal(404, "Not Found") if received.protocol == "responses" else Reply(DONE)


def _after_the_end() -> Any:
    late = {
        "openai": b'data: {"choices": [{"delta": {"content": "Late."}}]}\n\n',
        "anthropic": STOPPED.replace(b"Hello.", b"Late."),
    }
    ends = {"openai": ENDED, "anthropic": STOPPED}
    return lambda got: _body(ends[str(got.protocol)] + late[str(got.protocol)])


def _two() -> Any:
    choices: list[dict[str, Any]] = [
        {"index": index, "delta": {"content": text}} for text in ("Hel", "lo.") for index in (0, 1)
    ]
    choices += [{"index": index, "delta": {}, "finish_reason": "stop"} for index in (0, 1)]
    events = [f"data: {json.dumps({'choices': [choice]})}\n\n" for choice in choices]
    return [_body("".join(events).encode())]


HALF = Reply("Half an ans", finish="length")
THINKS = Reply("", reasoning="let me see")
CUT = Reply("Hel", finish=None)
ENDED = b'data: {"choices": [{"delta": {"content": "Hello."}, "finish_reason": "stop"}]}\n\ndata: [DONE]\n\n'
BROKEN = Wire({"content-encoding": "gzip"}, body=b"\x1f\x8bno gzip")
OWN_TOOL = (
    b'data: {"type": "content_block_start", "index": 1, "content_block": {"type": "server_tool_use", "id": "s1"}}\n\n'
    b'data: {"type": "content_block_delta", "index": 1, "delta": {"type": "input_json_delta", "partial_json": "{"}}\n\n'
)
PACKED = Wire({"content-encoding": "gzip"}, body=gzip.compress(ENDED))
STOPPED = (
    b'data: {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": "Hello."}}\n\n'
    b'data: {"type": "message_delta", "delta": {"stop_reason": "end_turn"}}\n\ndata: {"type": "message_stop"}\n\n'
)
DECLINED = (
    b"data: %b\n\n"
    % json.dumps(
        {
            "type": "message_delta",
            "delta": {
                "stop_reason": "refusal",
                "stop_details": {"type": "refusal", "explanation": "It could harm."},
            },
        }
    ).encode()
)
UNPAID = b'data: {"error": {"code": "402", "message": "pay first"}}\n\n'
OVERLOADED = b'data: {"error": {"type": "overloaded_error", "message": "Overloaded"}}\n\n'
_CALL = {
    "type": "function_call",
    "id": "fc_1",
    "call_id": "c",
    "name": "list_files",
    "arguments": "",
}
_SAID = {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed"}
_ENDED = {"type": "response.completed", "response": {"status": "completed", "output": []}}
_EVENTS = (
    Quirk("a gzip-encoded answer", lambda: [Reply(wire=PACKED)], 1, wires=CHAT),
    Quirk("an answer with invalid gzip data", lambda: [Reply(wire=BROKEN)] * 2, 2, 75, "cannot be read", "", CHAT),
    Quirk("status 201 instead of 200", lambda: [Reply(DONE, wire=Wire(status=201))], 1),
    Quirk("a `null` event", lambda: [_body(b"data: null\n\n" + ENDED)], 1, wires=CHAT),
    Quirk("events without an empty line between them", lambda: [
        _body(ENDED.replace(b"\n\n", b"\n"))], 1, wires=CHAT),
    Quirk("keep-alives without end after the answer", _kept_open, 1),
    Quirk("invalid UTF-8", lambda: [_body(ENDED.replace(b"o.", b"o\xe9."))], 1, answer="Hello�.",
          wires=CHAT),
    Quirk("two choices in one stream", _two, 1, wires=CHAT),
    Quirk("an answer one character at a time", lambda: [Reply(DONE, piece=1)], 1, wires=ALL),
    Quirk("one JSON body instead of a stream", _whole, 1),
    Quirk("a byte order mark before the stream", _bom, 1, wires=CHAT),
    Quirk("an HTML page instead of an answer, twice", lambda: [
        _body(b"<html>Log in</html>", "text/html")] * 2, 2, 75, "answer: Log in", ""),
    Quirk("an HTML page as an event of the stream, three times", lambda: [
        _body(b"data: <html><b>Log in</b></html>\n\n")] * 3, 3, 75, "not an answer: Log in", ""),
    Quirk("text after the end of the stream", _after_the_end, 1),
    Quirk("a stream that is cut off, three times", lambda: [CUT] * 3, 3, 75, "cut its answer off", ""),
    Quirk("a stream that is cut off in the text, once", lambda: [CUT, Reply(DONE)], 2, 0, "cut its answer off"),
    Quirk("a stream that is cut off in a call, once", lambda: [
        Reply(calls=(Call("write_file", {"path": "cut.txt", "content": "x"}),), finish=None), Reply(DONE)], 2, 0,
        "cut its answer off"),
    Quirk("a connection reset, once", lambda: [Reply(DONE, wire=Wire(reset_at=150)), Reply(DONE)], 2, 0, "broke off"),
    Quirk("text only in the last event", lambda: [_items({"type": "response.completed", "response": {"output": [
        _SAID | {"content": [{"type": "output_text", "text": DONE}]}]}})], 1, wires=RESPONSES),
    Quirk("the whole message beside the last, empty delta", lambda: [_raw(
        {"content": "Hel"}, {"content": "lo."}, message={"role": "assistant", "content": DONE})], 1, wires=CHAT),
)  # fmt: skip
_CALLS = (
    Quirk("call arguments encoded as JSON twice", lambda: [
        Reply(calls=(Call("list_files", json.dumps('{"path": "."}')),)), Reply(DONE)], 2, 0, "List .", wires=CHAT),
    Quirk("`{}` before the call arguments", lambda: [
        Reply(calls=(Call("list_files", '{}{"path": "."}'),)), Reply(DONE)], 2, 0, "List .", wires=CHAT),
    Quirk("call arguments sent twice", lambda: [
        Reply(calls=(Call("list_files", '{"path": "."}' * 2),)), Reply(DONE)], 2, 0, "List .", wires=CHAT),
    Quirk("call deltas with increasing indexes", _counting_index, 2, 0, "List .", wires=CHAT),
    Quirk("a channel marker after the tool name", lambda: [
        Reply(calls=(Call("list_files<|channel|>commentary", {}),)), Reply(DONE)], 2, 0, "List .", wires=CHAT),
    Quirk("a server-side tool call", lambda: [_body(OWN_TOOL + STOPPED)], 1, wires=MESSAGES),
    Quirk("a call that the service could not parse", lambda: [
        Refusal(400, "Failed to call.", "tool_use_failed"), Reply(DONE)], 2, 0, "Failed to call", wires=CHAT),
    Quirk("a call in the old `function_call` form", lambda: [
        _raw({"function_call": {"name": "list_files", "arguments": "{}"}}, end="function_call"), Reply(DONE)], 2, 0,
        "List .", wires=CHAT),
    Quirk("call arguments only in the event that ends them", lambda: [_items(
        {"type": "response.output_item.added", "output_index": 0, "item": _CALL},
        {"type": "response.function_call_arguments.done", "output_index": 0, "arguments": '{"path": "."}'}, _ENDED),
        Reply(DONE)], 2, 0, "List .", wires=RESPONSES),
    Quirk("another id with every delta of a call", lambda: [_raw(
        {"tool_calls": [{"index": 0, "id": "a", "function": {"name": "list_files"}}]},
        {"tool_calls": [{"index": 0, "id": "b", "function": {"arguments": '{"path"'}}]},
        {"tool_calls": [{"index": 0, "id": "c", "function": {"arguments": ': "."}'}}]}, end="tool_calls"), Reply(DONE)],
          2, 0, "List .", wires=CHAT),
    Quirk("a call's arguments before its name", lambda: [_raw(
        {"tool_calls": [{"index": 0, "id": "a", "function": {"arguments": '{"path": "."}'}}]},
        {"tool_calls": [{"index": 0, "id": "a", "function": {"name": "list_files"}}]}, end="tool_calls"), Reply(DONE)],
          2, 0, "List .", wires=CHAT),
    Quirk("an announced call that does not come, once", lambda: [Reply("I look.", finish="tool_calls"), Reply(DONE)], 2,
          0, "announced a tool call"),
    Quirk("an announced call that does not come, twice", lambda: [Reply("I look.", finish="tool_calls")] * 2, 2, 53,
          "announced a tool call", ""),
    Quirk("arguments with a comma before the bracket", lambda: [_raw(
        {"tool_calls": [{"index": 0, "id": "a", "function": {"name": "list_files", "arguments": '{"path": ".",}'}}]},
        end="tool_calls"), Reply(DONE)], 2, 0, "list_files", wires=CHAT),
    Quirk("arguments as a Python literal", lambda: [_raw(
        {"tool_calls": [{"index": 0, "id": "a", "function": {"name": "list_files", "arguments": "{'path': '.'}"}}]},
        end="tool_calls"), Reply(DONE)], 2, 0, "list_files", wires=CHAT),
    Quirk("an answer of a local server that is a call between tags", lambda: [
        Reply(TAGGED), Reply(DONE)], 2, 0,
          "writes its tool calls as text", wires=CHAT),
    Quirk("an answer of a local server that is a call, announced", lambda: [
        Reply('[TOOL_CALLS]list_files[ARGS]{}', finish="tool_calls"), Reply(DONE)], 2, 0,
          "writes its tool calls as text", wires=CHAT),
    Quirk("an answer of a local server that has a call in its text", lambda: [Reply(f"So: {TAGGED}")], 1, 0,
          "it is shown, not run", f"So: {TAGGED}", CHAT),
    Quirk("an answer of a service that is a call between tags", lambda: [Reply(TAGGED)], 1, answer=TAGGED,
          wires=SERVICES),
    Quirk("an answer of a service that is a call in JSON", lambda: [Reply(BARE)], 1, answer=BARE, wires=SERVICES),
    Quirk("an answer of a service with a call that cannot be read", lambda: [Reply(UNREADABLE)], 1, answer=UNREADABLE,
          wires=SERVICES),
    Quirk("an announced call that is only in the text of a service, twice", lambda: [
        Reply(TAGGED, finish="tool_calls")] * 2, 2, 53, "announced a tool call", "", MESSAGES),
    Quirk("finish reason `MALFORMED_FUNCTION_CALL` without a call, twice", lambda: [
        Reply("", finish="MALFORMED_FUNCTION_CALL")] * 2, 2, 75, "'malformed_function_call'", "", CHAT),
)  # fmt: skip
_REASONING = (
    Quirk("an empty text block beside thinking", _blank_beside_thoughts, 2, 0, "List .", wires=MESSAGES),
    Quirk("reasoning in `<think>` tags", lambda: [Reply(f"<think>hm</think>{DONE}", piece=3)], 1, wires=CHAT),
    Quirk("reasoning in `<thought>` tags", lambda: [Reply(f"<thought>hm</thought>{DONE}", piece=3)], 1, wires=CHAT),
    Quirk("reasoning with only a closing `</think>`", lambda: [Reply(f"hm\n</think>\n\n{DONE}")], 1, wires=CHAT),
    Quirk("reasoning without an answer, twice", lambda: [THINKS] * 2, 2, 75, "reasoning only: let me see", "",
          wires=ALL),
)  # fmt: skip
_ENDS = (
    Quirk("a connection left open after the finish reason", _silent, 1),
    Quirk("finish reason `error`, once", lambda: [Reply("Hel", finish="error"), Reply(DONE)], 2, 0,
          "cut its answer off", wires=CHAT),
    Quirk("finish reason `insufficient_system_resource`, once", lambda: [
        Reply("Hel", finish="insufficient_system_resource"), Reply(DONE)], 2, 0, "cut its answer off", wires=CHAT),
    Quirk("finish reason `STOP`", lambda: [Reply(DONE, finish="STOP")], 1, wires=CHAT),
    Quirk("a stream that ends without a finish reason", _without_finish_reason, 1, 0, "'no reason'"),
    Quirk("an unknown finish reason", lambda: [Reply(DONE, finish="weird")], 1, 0, "'weird'"),
    Quirk("length limit reached in the text", lambda: [HALF], 1, 53, "its maximum length", "Half an ans", wires=ALL),
    Quirk("length limit reached in a call", lambda: [
        Reply(calls=(Call("write_file", '{"path": "half.txt", "con'),), finish="length"), Reply(DONE)], 2, 0,
        "write_file"),
    Quirk("length limit reached in the reasoning", lambda: [
        Reply("", reasoning="hm", finish="length"), Reply(DONE)], 2, 0, "Retrying with twice the length"),
    Quirk("a refusal in the `refusal` field", lambda: [_raw({"refusal": "I will not."})], 1, 1, "refused to answer",
          "I will not.", CHAT),
    Quirk("stop reason `refusal`", lambda: [Reply("I will not.", finish="refusal")], 1, 1, "refused to answer",
          "I will not.", MESSAGES),
    Quirk("stop reason `refusal` with an explanation", lambda: [_body(DECLINED)], 1, 1, "refused to answer",
          "It could harm.", MESSAGES),
    Quirk("a content filter in the middle of the answer", lambda: [Reply("So far", finish="content_filter")], 1, 1,
          "withheld the rest", "So far", CHAT),
    Quirk("finish reason `sensitive` (a content filter)", lambda: [Reply("So far", finish="sensitive")], 1, 1,
          "withheld the rest", "So far", CHAT),
    Quirk("a content filter before any text", lambda: [Reply("", finish="content_filter")], 1, 1,
          "withheld the answer", ""),
    Quirk("stop reason `pause_turn`", lambda: [Reply("Part one.", finish="pause_turn"), Reply(DONE)], 2, 0, "Part one.",
          wires=MESSAGES),
    Quirk("an empty answer, twice", lambda: [Reply("")] * 2, 2, 75, "empty answer", ""),
    Quirk("an empty answer, once", lambda: [Reply(""), Reply(DONE)], 2, 0, "empty answer", wires=ALL),
    Quirk("stop reason `model_context_window_exceeded`, once", lambda: [
        Reply("Half an ans", finish="model_context_window_exceeded"), Reply(DONE)], 2, 0,
        "retrying with a smaller request", wires=MESSAGES),
    Quirk("stop reason `model_context_window_exceeded`, twice", lambda: [
        Reply("Half an ans", finish="model_context_window_exceeded")] * 2, 2, 1, "end of the model's window", "",
        MESSAGES),
    Quirk("a refusal as a part of the message", lambda: [_items({"type": "response.output_item.done", "item": _SAID | {
        "content": [{"type": "refusal", "refusal": "I will not."}]}}, _ENDED)], 1, 1, "refused to answer",
        "I will not.", RESPONSES),
)  # fmt: skip
_ERRORS = (
    Quirk("rate limit (429), once", lambda: [Refusal(429, "slow down", headers={"retry-after": "0"}), Reply(DONE)],
          2, 0, "has reached its rate limit (429)", wires=ALL),
    Quirk("rate limit (429) for an hour", lambda: [Refusal(429, "slow down", headers={"retry-after": "3600"})], 1, 75,
          "(429)", ""),
    Quirk("status 503, five times", lambda: [Refusal(503, "busy")] * 5, 5, 75, "overloaded (503)", "", wires=ALL),
    Quirk("an error event in the stream, once", lambda: [_body(OVERLOADED), Reply(DONE)], 2, 0, "Overloaded"),
    Quirk("an error event without a type, three times", lambda: [_body(b'data: {"error": "boom"}\n\n')] * 3, 3, 75,
          "boom", ""),
    Quirk("an error object with status 200, three times", lambda: [_json({"code": "X", "message": "url error"})] * 3,
          3, 75, "url error", ""),
    Quirk("an event with only an error message, once", lambda: [
        _body(b'data: {"choices": [{"delta": {"content": "Hel"}}]}\n\ndata: {"msg": "idle"}\n\ndata: [DONE]\n\n'),
        Reply(DONE)], 2, 0, "idle", wires=CHAT),
    Quirk("an error object in the choice, once", lambda: [
        _raw(end="error", error={"code": 502, "message": "idle"}), Reply(DONE)],
          2, 0, "idle", wires=CHAT),
    Quirk("an invalid key (401)", lambda: [Refusal(401, "bad key")], 1, 1, "(401)", ""),
    Quirk("no credit, as an error event", lambda: [_body(UNPAID)], 1, 1, "pay first", ""),
    Quirk("no credit, with status 200", lambda: [
        _json({"choices": None, "base_resp": {"status_code": 1008, "status_msg": "insufficient balance"}})], 1, 1,
        "insufficient balance", "", CHAT),
    Quirk("no credit (402)", lambda: [Refusal(402, "pay first")], 1, 1, "pay first", ""),
    Quirk("a redirect to another host", lambda: [Refusal(302, headers={"location": "http://other.test/"})], 1, 1,
          "redirects to http://other.test/", ""),
    Quirk("`response.failed`, once", lambda: [_items({"type": "response.failed", "response": {"error": {
        "code": "server_error", "message": "boom"}}}), Reply(DONE)], 2, 0, "boom", wires=RESPONSES),
    Quirk("status 503 with `x-should-retry: false`", lambda: [
        Refusal(503, "busy", headers={"x-should-retry": "false"})], 1, 75, "overloaded (503)", ""),
)  # fmt: skip
_UNSUPPORTED = (
    Quirk("tools are not supported", lambda: _refuse_if("does not support tools", lambda body: "tools" in body), 2, 0,
          "does not support tools: it can answer", wires=ALL),
    Quirk("tools are not supported, reported as an unknown model (404)", lambda: _no_endpoint, 2, 0,
          "does not support tools", wires=CHAT),
    Quirk("tools are not supported, reported as a server error (500)", lambda: lambda got: Refusal(
        500, "tools param requires --jinja flag") if "tools" in got.body else Reply(DONE), 2, 0, "not support tools",
        wires=CHAT),
    Quirk("a web page that says that tools are not supported (400)", lambda: [
        Reply(wire=Wire(status=400, body=b"<p>this model does not support tools</p>", content_type="text/html"))], 1, 1,
        "does not support tools", ""),
    Quirk("tools are not supported, in Chinese", lambda: [Refusal(400, "模型不支持 tools")] * 2, 2, 1, "模型不支持", "",
          wires=ALL),
    Quirk("tools are not supported, as an error event", lambda: [
        _body(b'data: {"error": {"code": "400", "message": "does not support tools"}}\n\n')], 1, 1,
        "does not support tools", ""),
    Quirk("tools are not supported while streaming", lambda: _refuse_if(
        "This model doesn't support tool use in streaming mode", lambda body: body.get("stream")), 2, 0,
        "does not accept stream", wires=CHAT),
    Quirk("too many tools", lambda: [Refusal(
        400, "Invalid 'tools': array too long. Expected an array with maximum length 128.")] * 2, 2, 1,
        "array too long", "", wires=ALL),
    Quirk("`default` in a tool's schema is not supported", lambda: _refuse_if(
        "Unknown name \"default\" at 'tools[0].parameters'", _has_default),
        2, 0, "does not accept default", wires=CHAT),
    Quirk("the system role is not supported", lambda: _refuse_if(
        "System role not supported", lambda body: body["messages"][0]["role"] == "system"), 2, 0, "has no system role",
        wires=CHAT),
    Quirk("`stream_options` is not supported", lambda: _refuse_if(
        "unknown field stream_options", lambda body: "stream_options" in body), 2, 0, "does not accept stream_options",
        wires=CHAT),
    Quirk("`max_tokens` exceeds the service's maximum", lambda: _limit_output(
        4_096, "the valid range of max_tokens is [1, 4096]"), 2, 0, "answers with at most 4,096 tokens", wires=CHAT),
    Quirk("`additionalProperties` is not supported", lambda: _refuse_if(
        "Unknown name additionalProperties at 'tools[0].parameters'", lambda body: "additionalProperties" in str(body)),
        2, 0, "does not accept additionalProperties", wires=CHAT),
    Quirk("`null` content is not supported", lambda: _strict_about(
        "", "invalid message content type: <nil>", lambda one: one.get("content", "") is None), 3, 0,
        "takes no message without text", wires=CHAT),
    Quirk("text beside calls is not supported", lambda: _strict_about(
        "I look.", "Assistant message must have either content or tool_calls, but not both.",
        lambda one: "tool_calls" in one and bool(one["content"])), 3, 0, "takes no text beside calls", wires=CHAT),
    Quirk("tools are only supported over the Responses API", lambda: _only_responses, 2, 0,
          "asked over the Responses API", wires=CHAT),
    Quirk("a gateway without the Responses API", lambda: _only_chat, 2, 0, "asked over chat completions",
          wires=RESPONSES),
    Quirk("a cache mark is not accepted", lambda: _refuse_if(
        "messages.0.content.0.text.cache_control: Extra inputs are not permitted",
        lambda body: '"cache_control"' in json.dumps(body)), 2, 0, "does not accept cache_control", wires=MESSAGES),
    Quirk("something is not accepted, in words that name no field", lambda: _refuse_if(
        "Argument not supported.", lambda body: '"cache_control"' in json.dumps(body) or "stream_options" in body
        or "include" in body or "thinkingConfig" in body.get("generationConfig", ())), 2, 0, "asked once more without",
        wires=ALL),
    Quirk("encrypted reasoning is not supported", lambda: _refuse_if(
        "Encrypted content is not supported with this model.", lambda body: "include" in body), 2, 0,
        "asked once more without include", wires=RESPONSES),
    Quirk("streaming is not supported", lambda: _refuse_if("stream: not supported", lambda body: body.get("stream")),
          2, 0, "does not accept stream", wires=CHAT),
)  # fmt: skip
FAMILIES: Mapping[str, tuple[Quirk, ...]] = {
    "HTTP and events": _EVENTS,
    "Tool calls": _CALLS,
    "Reasoning": _REASONING,
    "Ends of an answer": _ENDS,
    "Errors": _ERRORS,
    "What a service does not support": _UNSUPPORTED,
}
QUIRKS = tuple(quirk for family in FAMILIES.values() for quirk in family)


def tables() -> str:
    """Return the page's tables in Markdown, one to a family."""
    return "\n\n".join(f"## {name}\n\n{_table(family)}" for name, family in FAMILIES.items())


def _table(quirks: Sequence[Quirk]) -> str:
    rows = [
        f"| {quirk.what} | {WIRE_NAMES[quirk.wires]} "
        f"| {quirk.requests} | {quirk.code} | {_as_code_if_needed(quirk.answer) or '-'} "
        f"| {f'`{quirk.seen}`' if quirk.seen else '-'} |"
        for quirk in quirks
    ]
    head = "| response | wire | requests paid | exit of `-p` | answer shown | line shown |"
    return "\n".join([head, "|---|---|---:|---:|---|---|", *rows])


def _as_code_if_needed(answer: str) -> str:
    """Return an answer for a cell of the table; one with tags or brackets would be taken for markup."""
    return f"`{answer}`" if set("<{") & set(answer) else answer


def page() -> str:
    """Return the page with the tables regenerated."""
    before, _, _ = PAGE.read_text(encoding="utf-8").partition("## ")
    return f"{before}{tables()}\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
