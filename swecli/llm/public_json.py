"""Fetch a public JSON document without a key: bounded in time and size, whatever the server does."""

from __future__ import annotations

import json
import queue
import threading
from typing import Any

from swecli.models.errors import Unavailable

_PIECE = 1 << 16


def fetch_object(url: str, *, seconds: float, max_bytes: int) -> dict[str, Any]:
    """Return the JSON object at an http(s) address. Raises Unavailable, with one line, if none came within `seconds`:
    no network, an error status, another shape, or more than `max_bytes`."""
    received: queue.SimpleQueue[bytes | Exception] = queue.SimpleQueue()
    # a thread, which is left behind at the limit: neither a name that is looked up nor bytes that trickle can be
    # interrupted
    reader = threading.Thread(
        target=_read_into, args=(received, url, seconds, max_bytes), daemon=True
    )
    reader.start()
    too_late = f"sent no list within {seconds:g} s"
    try:
        body = received.get(timeout=seconds)
    except queue.Empty:
        raise _failed(url, too_late) from None
    if isinstance(body, TimeoutError):
        raise _failed(url, too_late)
    if isinstance(body, Exception):
        raise _failed(url, f"cannot be read ({_reason(body)})")
    if len(body) > max_bytes:
        raise _failed(url, f"sent more than {max_bytes >> 20} MiB")
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        raise _failed(url, "sent something that is not JSON") from None
    if not isinstance(value, dict):
        raise _failed(url, "sent a list of another shape")
    return value


def _read_into(
    received: queue.SimpleQueue[bytes | Exception], url: str, seconds: float, max_bytes: int
) -> None:
    """Put the body of a response, or what prevented it."""
    # late: 30 ms, only needed when something is fetched
    from http.client import HTTPException
    from urllib.request import Request, urlopen

    # late: as above
    from swecli import __version__

    body = bytearray()
    try:
        if not url.lower().startswith(("http://", "https://")):
            raise ValueError("not an http address")
        request = Request(url, headers={"user-agent": f"swecli/{__version__}"})
        # longer than the caller waits: this one only ends the thread that was left behind
        with urlopen(request, timeout=2 * seconds) as response:
            while len(body) <= max_bytes and (piece := response.read1(_PIECE)):
                body += piece
        received.put(bytes(body))
    except (OSError, HTTPException, ValueError) as error:
        received.put(error)


def _reason(error: Exception) -> str:
    inner = getattr(error, "reason", None)
    words = str(inner if isinstance(inner, str | OSError) else error) or type(error).__name__
    return " ".join(words.split())[:200]


def _failed(url: str, problem: str) -> Unavailable:
    return Unavailable(f"{url} {problem}.", "Check the network and the address.")
