"""Everything slow of the first request, done behind the prompt while the user types."""

from __future__ import annotations

import asyncio
import contextlib
import importlib.abc
import importlib.machinery
import json
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from types import ModuleType
from typing import Any

from swecli.llm.endpoints import Endpoint
from swecli.llm.patience import Patience
from swecli.llm.providers.litellm import LiteLLMModel, close_connections, load_litellm
from swecli.models.message import ModelRequest, ToolSpec

PAUSE = 0.002
TYPING = 0.3
_PATIENCE = Patience(first=20.0, quiet=20.0)
_USAGE = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
_TOOL_CALL = {"index": 0, "id": "c", "type": "function", "function": {"name": "noop", "arguments": "{}"}}
_OPENAI: tuple[dict[str, Any], ...] = (
    {"choices": [{"index": 0, "delta": {"content": "ok", "tool_calls": [_TOOL_CALL]}, "finish_reason": None}]},
    {"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]},
    {"choices": [], "usage": _USAGE},
)
_ANTHROPIC: tuple[dict[str, Any], ...] = (
    {
        "type": "message_start",
        "message": {"id": "w", "type": "message", "role": "assistant", "content": [], "stop_reason": None}
        | {"model": "claude-haiku-4-5", "usage": {"input_tokens": 1, "output_tokens": 1}},
    },
    {
        "type": "content_block_start",
        "index": 0,
        "content_block": {"type": "tool_use", "id": "c", "name": "noop", "input": {}},
    },
    {"type": "content_block_delta", "index": 0, "delta": {"type": "input_json_delta", "partial_json": "{}"}},
    {"type": "content_block_stop", "index": 0},
    {"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 1}},
    {"type": "message_stop"},
)


def never() -> float:
    """No key was ever pressed."""
    return float("-inf")


class PoliteFinder(importlib.abc.MetaPathFinder):
    """Finds nothing; makes one thread pause before each module while keys are coming in, so that typing stays quick."""

    def __init__(self, last_key: Callable[[], float], sleep: Callable[[float], object] = time.sleep) -> None:
        self._last_key = last_key
        self._sleep = sleep
        self._thread = threading.get_ident()

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """Pause, if it is this thread's import and somebody types."""
        if threading.get_ident() == self._thread and time.monotonic() - self._last_key() < TYPING:
            self._sleep(PAUSE)
        return None


@contextlib.contextmanager
def polite(last_key: Callable[[], float]) -> Iterator[None]:
    """Imports of this thread give way to typing. `last_key` is the time of the last key by `time.monotonic`."""
    finder = PoliteFinder(last_key)
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)


def warm_up(last_key: Callable[[], float] = never, provider: str = "openai") -> str:
    """Import litellm and make one throw-away streamed call with a tool to a socket of our own.

    For a background thread. Never raises; returns a line for the log that says how long it took or what failed.
    """
    started = time.monotonic()
    try:
        with polite(last_key):
            load_litellm()
            imported = time.monotonic()
            _throw_away(provider)
    except Exception as error:  # noqa: BLE001  # only speed is lost; the first request will say what is wrong
        return f"warm-up failed: {type(error).__name__}: {error}"
    done = time.monotonic()
    return f"warm after {done - started:.1f} s (import {imported - started:.1f}, first call {done - imported:.1f})"


def _throw_away(provider: str) -> None:
    """One whole call; nothing of it leaves the process."""
    with _one_answer(_events(provider)) as port:
        base = f"http://127.0.0.1:{port}"
        if provider == "anthropic":
            name, model = "anthropic/claude-haiku-4-5", "claude-haiku-4-5"
        else:
            name, model, base, provider = "openai/gpt-4.1", "gpt-4.1", f"{base}/v1", "openai"
        endpoint = Endpoint(name, provider, model, name, base, "none", base, "", False)
        asyncio.run(_call(LiteLLMModel(endpoint, patience=_PATIENCE)))


def _events(provider: str) -> bytes:
    """The answer as it goes over the wire."""
    if provider == "anthropic":
        return b"".join(f"event: {e['type']}\ndata: {json.dumps(e)}\n\n".encode() for e in _ANTHROPIC)
    head = {"id": "w", "object": "chat.completion.chunk", "created": 1, "model": "gpt-4.1"}
    return b"".join(f"data: {json.dumps(head | e)}\n\n".encode() for e in _OPENAI) + b"data: [DONE]\n\n"


async def _call(model: LiteLLMModel) -> None:
    schema = {"type": "object", "properties": {"x": {"type": "string"}}}
    messages = [{"role": "system", "content": "warm"}, {"role": "user", "content": "up"}]
    request = ModelRequest(model.name, messages, [ToolSpec("noop", "Does nothing.", schema)])
    try:
        async for _ in model.stream(request):
            pass
    finally:
        await close_connections()


@contextlib.contextmanager
def _one_answer(events: bytes) -> Iterator[int]:
    """A loopback socket that gives one HTTP answer and is gone; yields its port."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(_PATIENCE.first)
        thread = threading.Thread(target=_answer_once, args=(server, events), daemon=True)
        thread.start()
        try:
            yield int(server.getsockname()[1])
        finally:
            server.close()
            thread.join(1.0)


def _answer_once(server: socket.socket, events: bytes) -> None:
    head = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\ncontent-length: %d\r\n\r\n"
    # a client that went away is no trouble here: the caller sees it
    with contextlib.suppress(OSError):
        connection, _ = server.accept()
        with connection:
            connection.settimeout(_PATIENCE.first)
            received = b""
            while not _whole(received) and (piece := connection.recv(65536)):
                received += piece
            connection.sendall(head % len(events) + events)


def _whole(received: bytes) -> bool:
    """Whether the request's body has come."""
    head, end, body = received.partition(b"\r\n\r\n")
    lengths = [line[15:] for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")]
    return bool(end) and len(body) >= (int(lengths[0]) if lengths else 0)
