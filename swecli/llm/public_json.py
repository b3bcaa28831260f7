"""Fetch a public JSON document without a key: bounded in time and size, whatever the server does."""

from __future__ import annotations

import json
import os
import queue
import threading

from swecli.models.errors import Unavailable
from swecli.models.json_value import JsonObject

_PIECE = 1 << 16


def fetch_object(url: str, *, seconds: float, max_bytes: int) -> JsonObject:
    """Return the JSON object at an http(s) address. Raises Unavailable, with one line, if none came within `seconds`:
    no network, an error status, another shape, or more than `max_bytes`."""
    received: queue.SimpleQueue[JsonObject | Unavailable] = queue.SimpleQueue()

    def read() -> None:
        try:
            received.put(_read_object(url, seconds, max_bytes))
        except Unavailable as error:
            received.put(error)

    # a thread, which is left behind at the limit: neither a name that is looked up nor bytes that trickle can be
    # interrupted
    threading.Thread(target=read, daemon=True).start()
    try:
        result = received.get(timeout=seconds)
    except queue.Empty:
        raise _failed(url, f"sent no list within {seconds:g} s") from None
    if isinstance(result, Unavailable):
        raise result
    return result


def _read_object(url: str, seconds: float, max_bytes: int) -> JsonObject:
    # late: 30 ms, only needed when something is fetched
    from http.client import HTTPException
    from urllib.request import BaseHandler, HTTPSHandler, ProxyHandler, Request, build_opener

    # late: as above
    from swecli import __version__
    from swecli.certificates import trusted_certificates
    from swecli.llm.http import proxy_for

    body = bytearray()
    try:
        if not url.lower().startswith(("http://", "https://")):
            raise ValueError("not an http address")
        request = Request(url, headers={"user-agent": f"swecli/{__version__}"})
        proxy = proxy_for(url)
        handlers: list[BaseHandler] = [ProxyHandler({request.type: proxy} if proxy else {})]
        if request.type == "https":
            # reads the environment: the variables of certificates are everybody's
            handlers.append(HTTPSHandler(context=trusted_certificates(os.environ)))
        # longer than the caller waits: this one only ends the thread that was left behind
        with build_opener(*handlers).open(request, timeout=2 * seconds) as response:
            while len(body) <= max_bytes and (piece := response.read1(_PIECE)):
                body += piece
    except (OSError, HTTPException, ValueError) as error:
        inner = getattr(error, "reason", None)
        words = str(inner if isinstance(inner, str | OSError) else error) or type(error).__name__
        raise _failed(url, f"cannot be read ({' '.join(words.split())[:200]})") from None
    if len(body) > max_bytes:
        raise _failed(url, f"sent more than {max_bytes >> 20} MiB")
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        raise _failed(url, "sent something that is not JSON") from None
    if not isinstance(value, dict):
        raise _failed(url, "sent a list of another shape")
    return value


def _failed(url: str, problem: str) -> Unavailable:
    return Unavailable(f"{url} {problem}.", "Check the network and the address.")
