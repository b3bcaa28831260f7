"""What a server on this machine or network offers and serves: asked by bare sockets, before the first prompt."""

from __future__ import annotations

import json
import re
import socket
from contextlib import suppress
from typing import Any
from urllib.parse import urlsplit

from swecli.llm.endpoints import Endpoint

CONNECT_SECONDS, ANSWER_SECONDS = 0.05, 0.5
_ANSWER_BYTES = 1 << 22
_OLLAMA_DEFAULT = 4_096
_NO_CHAT = ("embed", "rerank", "whisper", "tts", "bge-", "stable-diffusion")


def probe(at: Endpoint) -> dict[str, Any]:
    """Fields of the record that the chosen server itself names; empty where it keeps silent for half a second."""
    place = _place(at)
    if place is None:
        return {}
    asked = {"ollama": (_ollama,), "ollama_chat": (_ollama,), "lm_studio": (_lm_studio,), "lmstudio": (_lm_studio,)}
    for ask in asked.get(at.provider, (_vllm, _llama_cpp)):
        if found := ask(place, at.model):
            return {name: value for name, value in found.items() if value is not None}
    return {}


def offered(at: Endpoint) -> list[str]:
    """The chat models that the server itself lists, where it is a local one."""
    place = _place(at)
    return listed(at.provider, place) if place else []


def listed(provider: str, place: tuple[str, int]) -> list[str]:
    """The chat models that a local server lists; none where it lists none, or is no model's server."""
    path, key, field = ("/v1/models", "data", "id")
    if provider in ("ollama", "ollama_chat"):
        path, key, field = ("/api/tags", "models", "name")
    return _names(_ask(place, path), key, field)


def _place(at: Endpoint) -> tuple[str, int] | None:
    """Host and port of a server that may be asked: a local one, or one on this machine."""
    parts = urlsplit(at.address)
    near = at.local or parts.hostname in ("127.0.0.1", "localhost", "::1")
    usable = near and parts.scheme == "http" and at.api == "openai"
    return (parts.hostname or "127.0.0.1", parts.port or 80) if usable else None


def _names(answer: Any, key: str, field: str) -> list[str]:
    names = [row.get(field) for row in _rows(answer, key)]
    good = [name for name in names if isinstance(name, str) and name.isprintable() and name]
    return [name for name in good if not any(mark in name.lower() for mark in _NO_CHAT)]


def _ollama(place: tuple[str, int], model: str) -> dict[str, Any] | None:
    shown = _ask(place, "/api/show", {"model": model})
    if not isinstance(shown, dict):
        return None
    info = shown.get("model_info")
    sizes = [v for k, v in info.items() if k.endswith(".context_length")] if isinstance(info, dict) else []
    running = [row for row in _rows(_ask(place, "/api/ps"), "models") if model in (row.get("name"), row.get("model"))]
    allocated = _size(running[0].get("context_length")) if running else None
    chosen = re.search(r"^num_ctx\s+(\d+)", str(shown.get("parameters") or ""), re.MULTILINE)
    assumed = int(chosen[1]) if chosen else _OLLAMA_DEFAULT
    trained = next((size for value in sizes if (size := _size(value))), assumed)
    able = shown.get("capabilities")
    able = able if isinstance(able, list) else None
    return {
        "window": allocated or min(trained, assumed),
        "tools": None if able is None else "tools" in able,
        "images": None if able is None else "vision" in able,
    }


def _llama_cpp(place: tuple[str, int], model: str) -> dict[str, Any] | None:
    answer = _ask(place, "/props")
    settings = answer.get("default_generation_settings") if isinstance(answer, dict) else None
    return {"window": _size(settings.get("n_ctx"))} if isinstance(settings, dict) else None


def _vllm(place: tuple[str, int], model: str) -> dict[str, Any] | None:
    rows = [row for row in _rows(_ask(place, "/v1/models"), "data") if row.get("id") == model]
    size = _size(rows[0].get("max_model_len")) if rows else None
    return {"window": size} if size else None


def _lm_studio(place: tuple[str, int], model: str) -> dict[str, Any] | None:
    for row in _rows(_ask(place, "/api/v1/models"), "models"):
        if model in (row.get("key"), row.get("id")):
            loaded = row.get("loaded_instances")
            configs = [one.get("config") for one in loaded if isinstance(one, dict)] if isinstance(loaded, list) else []
            sizes = [_size(one.get("context_length")) for one in configs if isinstance(one, dict)]
            return {"window": next(iter(sizes), None) or _size(row.get("max_context_length"))}
    for row in _rows(_ask(place, "/api/v0/models"), "data"):
        if row.get("id") == model:
            return {"window": _size(row.get("loaded_context_length")) or _size(row.get("max_context_length"))}
    return None


def _rows(answer: Any, key: str) -> list[dict[str, Any]]:
    rows = answer.get(key) if isinstance(answer, dict) else None
    return [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []


def _size(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 < value < 1 << 40 else None


def _ask(place: tuple[str, int], path: str, body: Any = None) -> Any:
    """What a server answers to a GET, or to a POST of a body; None for anything that is not JSON in time.

    A bare socket: the standard library's HTTP client costs more to import than this takes.
    """
    sent = b"" if body is None else json.dumps(body).encode()
    head = f"{'POST' if sent else 'GET'} {path} HTTP/1.0\r\nHost: {place[0]}:{place[1]}\r\nAccept: application/json\r\n"
    head += f"Content-Type: application/json\r\nContent-Length: {len(sent)}\r\n" if sent else ""
    silent = suppress(OSError, ValueError, RecursionError)
    with silent, socket.create_connection(place, CONNECT_SECONDS * 4) as connection:
        connection.settimeout(ANSWER_SECONDS)
        connection.sendall(f"{head}Connection: close\r\n\r\n".encode() + sent)
        answer, _, text = _receive(connection).partition(b"\r\n\r\n")
        if answer.split(b" ", 2)[1:2] == [b"200"]:
            return json.loads(text)
    return None


def _receive(connection: socket.socket) -> bytes:
    """Everything up to the end, or up to the length the head announces. Raises ValueError for far too much."""
    received = b""
    while piece := connection.recv(65536):
        received += piece
        head, end, body = received.partition(b"\r\n\r\n")
        lengths = [line[15:] for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")]
        if end and lengths and len(body) >= int(lengths[0]):
            break
        if len(received) > _ANSWER_BYTES:
            raise ValueError("too long an answer")
    return received
