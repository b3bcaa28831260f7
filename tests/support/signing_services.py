"""Services on the loopback that sign what their model thinks, as litellm asks them: they refuse a request in which a
thought is missing, changed, or behind another beginning than the one that it was signed for."""

from __future__ import annotations

import hashlib
import json
import struct
import threading
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from zlib import crc32

Thought = tuple[str, str]  # its text, and its signature


class SigningService(ABC):
    """Answers with its name and a number after a signed "thought n", the first answers with a call of `read_file`."""

    name: str
    content_type = "text/event-stream"

    def __init__(self, calls: int) -> None:
        self.calls = calls
        self.bodies: list[dict[str, Any]] = []
        self.refusals: list[str] = []
        self._signed: list[str] = []  # the signature of each answer

    def respond(self, body: dict[str, Any]) -> tuple[int, bytes]:
        """Return status and body of the response to a request."""
        self.bodies.append(body)
        wrong = self._find_wrong_thought(body)
        if wrong:
            self.refusals.append(wrong)
            return 400, json.dumps({"message": wrong, "error": {"message": wrong}}).encode()
        number = len(self._signed)
        turns = self.turns(body)
        self._signed.append(self.sign(body, turns))
        thought = (f"thought {number}", self._signed[-1])
        path = {"path": f"{number}.txt"} if number < self.calls else None
        return 200, self.encode(number, thought, path)

    def say(self, number: int) -> str:
        """Return the text of an answer."""
        return f"{self.name} {number}"

    def _find_wrong_thought(self, body: dict[str, Any]) -> str:
        turns = self.turns(body)
        for at, turn in enumerate(turns):
            text = self.text_of(turn)
            if not text.startswith(self.name):
                continue  # of another model
            number = int(text.rpartition(" ")[2])
            signature = self._signed[number]
            same = self.sign(body, turns[:at]) == signature
            expected = [(f"thought {number}", signature)] if same else []
            if self.thoughts_of(turn) != expected:
                return f"messages.{at}: Expected {expected} as `thinking` block with its signature"
        return ""

    def sign(self, body: dict[str, Any], before: list[Any]) -> str:
        """Return the signature of a thought behind this beginning."""
        head = [body.get(name) for name in ("system", "tools", "toolConfig")]
        text = json.dumps(_unmarked([head, before]), sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()

    @abstractmethod
    def turns(self, body: dict[str, Any]) -> list[Any]:
        """Return the messages of a request."""

    @abstractmethod
    def text_of(self, turn: dict[str, Any]) -> str:
        """Return the text of the model's message, "" for another's."""

    @abstractmethod
    def thoughts_of(self, turn: dict[str, Any]) -> list[Thought]:
        """Return the thoughts of a message."""

    @abstractmethod
    def encode(self, number: int, thought: Thought, path: dict[str, str] | None) -> bytes:
        """Return an answer, with a call of `read_file` for this path."""


class SigningClaude(SigningService):
    """Anthropic's messages."""

    name = "Claude"

    def turns(self, body: dict[str, Any]) -> list[Any]:
        return list(body["messages"])

    def text_of(self, turn: dict[str, Any]) -> str:
        blocks = turn["content"] if turn["role"] == "assistant" else []
        return "".join(block["text"] for block in blocks if block["type"] == "text")

    def thoughts_of(self, turn: dict[str, Any]) -> list[Thought]:
        blocks = [block for block in turn["content"] if block["type"] == "thinking"]
        return [(block["thinking"], block["signature"]) for block in blocks]

    def encode(self, number: int, thought: Thought, path: dict[str, str] | None) -> bytes:
        text, signature = thought
        half = len(text) // 2
        call = {"type": "tool_use", "id": f"toolu_{number}", "name": "read_file", "input": {}}
        blocks: list[tuple[dict[str, Any], list[dict[str, Any]]]] = [
            (
                {"type": "thinking", "thinking": "", "signature": ""},
                [
                    {"type": "thinking_delta", "thinking": text[:half]},
                    {"type": "thinking_delta", "thinking": text[half:]},
                    {"type": "signature_delta", "signature": signature},
                ],
            ),
            ({"type": "text", "text": ""}, [{"type": "text_delta", "text": self.say(number)}]),
        ]
        if path:
            given = json.dumps(path)
            blocks.append((call, [{"type": "input_json_delta", "partial_json": given}]))
        usage = {"input_tokens": 9, "output_tokens": 1}
        message = {"id": "m", "type": "message", "role": "assistant", "content": [], "usage": usage}
        events: list[dict[str, Any]] = [{"type": "message_start", "message": message}]
        for index, (head, deltas) in enumerate(blocks):
            events.append({"type": "content_block_start", "index": index, "content_block": head})
            for delta in deltas:
                events.append({"type": "content_block_delta", "index": index, "delta": delta})
            events.append({"type": "content_block_stop", "index": index})
        end = {"stop_reason": "tool_use" if path else "end_turn"}
        events += [
            {"type": "message_delta", "delta": end, "usage": usage},
            {"type": "message_stop"},
        ]
        return b"".join(
            f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode() for event in events
        )


class SigningBedrock(SigningService):
    """Amazon Bedrock's Converse, with its binary events."""

    name = "Bedrock"
    content_type = "application/vnd.amazon.eventstream"

    def turns(self, body: dict[str, Any]) -> list[Any]:
        return list(body["messages"])

    def text_of(self, turn: dict[str, Any]) -> str:
        blocks = turn["content"] if turn["role"] == "assistant" else []
        return "".join(block.get("text", "") for block in blocks)

    def thoughts_of(self, turn: dict[str, Any]) -> list[Thought]:
        blocks = [block for block in turn["content"] if "reasoningContent" in block]
        texts = [block["reasoningContent"]["reasoningText"] for block in blocks]
        return [(text["text"], text["signature"]) for text in texts]

    def encode(self, number: int, thought: Thought, path: dict[str, str] | None) -> bytes:
        text, signature = thought
        deltas: list[tuple[int, dict[str, Any]]] = [
            (0, {"reasoningContent": {"text": text}}),
            (0, {"reasoningContent": {"signature": signature}}),
            (1, {"text": self.say(number)}),
        ]
        call = {"toolUse": {"toolUseId": f"tooluse_{number}", "name": "read_file"}}
        events: list[tuple[str, dict[str, Any]]] = [("messageStart", {"role": "assistant"})]
        for index, delta in deltas:
            events.append(("contentBlockDelta", {"contentBlockIndex": index, "delta": delta}))
        if path:
            given = {"toolUse": {"input": json.dumps(path)}}
            events += [
                ("contentBlockStart", {"contentBlockIndex": 2, "start": call}),
                ("contentBlockDelta", {"contentBlockIndex": 2, "delta": given}),
                ("contentBlockStop", {"contentBlockIndex": 2}),
            ]
        usage = {"inputTokens": 9, "outputTokens": 1, "totalTokens": 10}
        events += [
            ("messageStop", {"stopReason": "tool_use" if path else "end_turn"}),
            ("metadata", {"usage": usage, "metrics": {"latencyMs": 1}}),
        ]
        return b"".join(_event_frame(kind, event) for kind, event in events)


class SigningGemini(SigningService):
    """Google's Gemini, whose signatures belong to calls and texts, and to no beginning."""

    name = "Gemini"

    def sign(self, body: dict[str, Any], before: list[Any]) -> str:
        turns = [turn for turn in before if turn["role"] == "model"]
        return f"c2lnbmF0dXJl+{len(turns)}/=="

    def turns(self, body: dict[str, Any]) -> list[Any]:
        return list(body["contents"])

    def text_of(self, turn: dict[str, Any]) -> str:
        parts = turn["parts"] if turn["role"] == "model" else []
        return "".join(part.get("text", "") for part in parts if not part.get("thought"))

    def thoughts_of(self, turn: dict[str, Any]) -> list[Thought]:
        number = self.text_of(turn).rpartition(" ")[2]
        signed = [part["thoughtSignature"] for part in turn["parts"] if "thoughtSignature" in part]
        return [(f"thought {number}", signature) for signature in signed]

    def encode(self, number: int, thought: Thought, path: dict[str, str] | None) -> bytes:
        text, signature = thought
        parts: list[dict[str, Any]] = [{"text": text, "thought": True}]
        if path:
            call = {"name": "read_file", "args": path}
            parts += [
                {"text": self.say(number)},
                {"functionCall": call, "thoughtSignature": signature},
            ]
        else:
            parts.append({"text": self.say(number), "thoughtSignature": signature})
        counts = {"promptTokenCount": 9, "candidatesTokenCount": 1, "totalTokenCount": 10}
        events: list[dict[str, Any]] = [
            {"candidates": [{"content": {"parts": [part], "role": "model"}, "index": 0}]}
            for part in parts
        ]
        events[-1]["candidates"][0]["finishReason"] = "STOP"
        events[-1]["usageMetadata"] = counts
        return "".join(f"data: {json.dumps(event)}\r\n\r\n" for event in events).encode()


@contextmanager
def serve(service: SigningService) -> Iterator[str]:
    """Serve on the loopback; yield the address."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, format: str, *args: Any) -> None:
            pass

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            status, answer = service.respond(body)
            kind = service.content_type if status == 200 else "application/json"
            self.send_response(status)
            self.send_header("content-type", kind)
            self.send_header("content-length", str(len(answer)))
            self.send_header("connection", "close")
            self.end_headers()
            self.wfile.write(answer)

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        serving = {"poll_interval": 0.01}
        thread = threading.Thread(target=server.serve_forever, kwargs=serving, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join(5)


def _unmarked(value: Any) -> Any:
    """Return a JSON value without cache marks."""
    if isinstance(value, dict):
        return {name: _unmarked(one) for name, one in value.items() if name != "cache_control"}
    return [_unmarked(one) for one in value] if isinstance(value, list) else value


def _event_frame(kind: str, event: dict[str, Any]) -> bytes:
    """Return an event in Amazon's binary form: lengths, headers and payload, each part with its checksum."""
    texts = {":event-type": kind, ":content-type": "application/json", ":message-type": "event"}
    headers = b"".join(
        bytes([len(name)]) + name.encode() + b"\x07" + struct.pack(">H", len(text)) + text.encode()
        for name, text in texts.items()
    )
    payload = json.dumps(event).encode()
    lengths = struct.pack(">II", 16 + len(headers) + len(payload), len(headers))
    frame = lengths + struct.pack(">I", crc32(lengths)) + headers + payload
    return frame + struct.pack(">I", crc32(frame))
