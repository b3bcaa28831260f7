"""One HTTP client a process and event loop, over turns; the only import of httpx in the program."""

from __future__ import annotations

import asyncio
import os
import ssl
import sys
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

if TYPE_CHECKING:
    import httpx

CONNECT_SECONDS = 10.0
_WRITE_SECONDS = 60.0
_LATER = 0.5
_LEFT_OUT = ("httpx._main", "h2")
_KEPT_SECONDS = 300.0
_LONGEST_REFUSAL = 1 << 16

# by event loop: http and https apart, because the certificates of an https client take 80 ms to load
_clients: WeakKeyDictionary[Any, dict[bool, tuple[AsyncGenerator[httpx.AsyncClient], httpx.AsyncClient]]]
_clients = WeakKeyDictionary()


def load_httpx() -> Any:
    """The module without its command line, which would bring click, rich and pygments (80 ms), and without HTTP/2
    (30 ms), which brings nothing to one stream."""
    left_out = [name for name in _LEFT_OUT if name not in sys.modules] if "httpx" not in sys.modules else []
    for name in left_out:
        sys.modules[name] = None  # type: ignore[assignment]  # what Python takes for "cannot be imported"
    try:
        # late: 100 ms that only a request needs
        import httpcore  # noqa: F401, PLC0415  # httpx itself does so with its first client
        import httpx  # noqa: PLC0415
    finally:
        for name in left_out:
            del sys.modules[name]
    return httpx


def load_certificates() -> ssl.SSLContext:
    """The certificates that the environment names (SSL_CERT_FILE, SSL_CERT_DIR), else those of certifi.

    Raises OSError or ssl.SSLError where the named file is missing or holds none.
    """
    context: ssl.SSLContext = load_httpx().create_ssl_context(trust_env=True)
    return context


@asynccontextmanager
async def posting(
    url: str, body: bytes, headers: Mapping[str, str], silence: float | None, sent: asyncio.Event
) -> AsyncIterator[Any]:
    """The response to a POST, its body not read yet; closed on the way out. Redirects are not followed. `sent` is set
    when the request's last byte was written.

    `silence` are seconds without a byte once the body was sent, None for ever. Raises what httpx raises, and OSError
    or ssl.SSLError for certificates that cannot be loaded.
    """
    httpx = load_httpx()
    client = await _client(httpx, url)
    # behind the caller's own clock, which runs once the head of the answer has come: two that end at once lose a socket
    read = None if silence is None else silence + _LATER
    limits = httpx.Timeout(CONNECT_SECONDS, write=_WRITE_SECONDS, read=read)
    plain = {"content-type": "application/json", "accept": "text/event-stream", "accept-encoding": "identity"}

    async def trace(name: str, _: Any) -> None:
        if name.endswith("send_request_body.complete"):
            sent.set()

    request = client.build_request(
        "POST", url, content=body, headers=plain | dict(headers), timeout=limits, extensions={"trace": trace}
    )
    response = await client.send(request, stream=True)
    try:
        yield response
    finally:
        await response.aclose()


async def refusal_of(response: Any) -> bytes:
    """The beginning of an error's body."""
    read = b""
    async for piece in response.aiter_raw():
        read += piece
        if len(read) > _LONGEST_REFUSAL:
            break
    return read[:_LONGEST_REFUSAL]


async def _client(httpx: Any, url: str) -> httpx.AsyncClient:
    """The running loop's client for such an address; the end of the loop closes it."""
    clients = _clients.setdefault(asyncio.get_running_loop(), {})
    secure = url[:5].lower() != "http:" or any(_secure_proxy(value) for value in os.environ.items())
    if secure not in clients:
        verify = await asyncio.to_thread(load_certificates) if secure else False
        if secure not in clients:  # another request may have made it meanwhile
            holder = _held(httpx, verify)
            clients[secure] = (holder, await anext(holder))
    return clients[secure][1]


def _secure_proxy(variable: tuple[str, str]) -> bool:
    # reads the environment: httpx takes its proxies from there itself
    return variable[0].lower().endswith("_proxy") and variable[1].lower().startswith("https")


async def _held(httpx: Any, verify: ssl.SSLContext | bool) -> AsyncGenerator[httpx.AsyncClient]:
    """A client that is closed with its event loop: a loop that ends closes its open generators."""
    kept = httpx.Limits(keepalive_expiry=_KEPT_SECONDS)
    async with httpx.AsyncClient(verify=verify, limits=kept, follow_redirects=False, headers=_no_agent()) as client:
        yield client


def _no_agent() -> dict[str, str]:
    # late: not on the way of a start that asks no model
    from swecli import __version__  # noqa: PLC0415

    return {"user-agent": f"swecli/{__version__}"}
