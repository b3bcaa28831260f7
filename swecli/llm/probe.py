"""What a server on this machine or network offers and serves: asked before the first prompt."""

from __future__ import annotations

import json
import re
import socket
from contextlib import suppress
from typing import Any
from urllib.parse import urlsplit

from swecli.llm.endpoints import LOOPBACK, Endpoint

_CONNECT_SECONDS, _ANSWER_SECONDS = 0.2, 0.5
_ANSWER_BYTES = 1 << 22
_OLLAMA_DEFAULT = 4_096
_NO_CHAT = ("embed", "rerank", "whisper", "tts", "bge-", "stable-diffusion")


def probe(at: Endpoint) -> dict[str, Any]:
    """Fields of the record that the chosen server itself names; empty where it keeps silent for half a second."""
    if (place := _place(at)) is None:
        return {}
    if at.provider in ("ollama", "ollama_chat"):
        known = _ollama(place, at.model)
    elif at.provider in ("lm_studio", "lmstudio"):
        known = {"window": _lm_studio(place, at.model)}
    else:  # what vLLM and newer llama.cpp servers name beside the model, then what older ones do
        rows = [row for row in _rows(_ask(place, "/v1/models"), "data") if row.get("id") == at.model]
        sizes = [_size(row.get("max_model_len")) or _size(_part(row, "meta").get("n_ctx")) for row in rows]
        settings = {} if any(sizes[:1]) else _part(_ask(place, "/props"), "default_generation_settings")
        known = {"window": next(iter(sizes), None) or _size(settings.get("n_ctx"))}
    return {name: value for name, value in known.items() if value is not None}


def offered(at: Endpoint) -> list[str]:
    """The chat models that the server itself lists, where it is a local one; none where it is no model's server."""
    if (place := _place(at)) is None:
        return []
    if at.provider in ("ollama", "ollama_chat"):
        names = [row.get("name") for row in _rows(_ask(place, "/api/tags"), "models")]
    else:
        names = [row.get("id") for row in _rows(_ask(place, "/v1/models"), "data")]
    good = [name for name in names if isinstance(name, str) and name.isprintable() and name]
    return [name for name in good if not any(mark in name.lower() for mark in _NO_CHAT)]


def _place(at: Endpoint) -> tuple[str, int] | None:
    """Host and port of a server that may be asked: a local one, or one on this machine."""
    parts = urlsplit(at.address)
    usable = (at.local or parts.hostname in LOOPBACK) and parts.scheme == "http" and at.api == "openai"
    return (parts.hostname or "127.0.0.1", parts.port or 80) if usable else None


def _ollama(place: tuple[str, int], model: str) -> dict[str, Any]:
    shown = _ask(place, "/api/show", {"model": model})
    if not isinstance(shown, dict):
        return {}
    sizes = [_size(value) for key, value in _part(shown, "model_info").items() if key.endswith(".context_length")]
    running = [row for row in _rows(_ask(place, "/api/ps"), "models") if model in (row.get("name"), row.get("model"))]
    allocated = _size(running[0].get("context_length")) if running else None
    chosen = re.search(r"^num_ctx\s+(\d+)", str(shown.get("parameters") or ""), re.MULTILINE)
    assumed = int(chosen[1]) if chosen else _OLLAMA_DEFAULT
    able = shown.get("capabilities")
    tools, images = ("tools" in able, "vision" in able) if isinstance(able, list) else (None, None)
    window = allocated or min([assumed, *[size for size in sizes if size][:1]])
    return {"window": window, "tools": tools, "images": images}


def _lm_studio(place: tuple[str, int], model: str) -> int | None:
    for row in _rows(_ask(place, "/api/v1/models"), "models"):
        if model in (row.get("key"), row.get("id")):
            sizes = [_size(_part(one, "config").get("context_length")) for one in _rows(row, "loaded_instances")]
            return next(iter(sizes), None) or _size(row.get("max_context_length"))
    for row in _rows(_ask(place, "/api/v0/models"), "data"):
        if row.get("id") == model:
            return _size(row.get("loaded_context_length")) or _size(row.get("max_context_length"))
    return None


def _part(answer: Any, key: str) -> dict[str, Any]:
    part = answer.get(key) if isinstance(answer, dict) else None
    return part if isinstance(part, dict) else {}


def _rows(answer: Any, key: str) -> list[dict[str, Any]]:
    rows = answer.get(key) if isinstance(answer, dict) else None
    return [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []


def _size(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 < value < 1 << 40 else None


def _ask(place: tuple[str, int], path: str, body: Any = None) -> Any:
    """What a server answers to a GET, or to a POST of a body; None for anything that is not JSON in time."""
    with suppress(OSError, ValueError, RecursionError), socket.create_connection(place, _CONNECT_SECONDS) as link:
        link.settimeout(_ANSWER_SECONDS)
        # late: httpx needs it too, but where no server is nothing does
        from http.client import HTTPConnection, HTTPException  # noqa: PLC0415

        connection = HTTPConnection(*place)
        connection.sock = link
        with suppress(HTTPException):
            connection.request("POST" if body else "GET", path, body and json.dumps(body))
            answer = connection.getresponse()
            return json.loads(answer.read(_ANSWER_BYTES)) if answer.status == 200 else None
    return None
