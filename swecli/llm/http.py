"""The HTTP client, one per event loop and kept across turns. Only import of httpx."""

from __future__ import annotations

import asyncio
import os
import ssl
import sys
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from swecli.llm.endpoints import is_loopback
from swecli.models.errors import ProviderError

if TYPE_CHECKING:
    import httpx

_CONNECT_SECONDS = 10.0
_WRITE_SECONDS = 60.0
_SKIPPED_MODULES = ("httpx._main", "h2")
_KEEPALIVE_SECONDS = 300.0
# of requests, curl and Node.js: files or folders of more certificates
_CERTIFICATE_VARIABLES = ("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "NODE_EXTRA_CA_CERTS")

# by event loop, then with certificates or not, which takes 80 ms, and with proxies or not
_clients: WeakKeyDictionary[
    Any, dict[tuple[bool, bool], tuple[AsyncGenerator[httpx.AsyncClient], httpx.AsyncClient]]
]
_clients = WeakKeyDictionary()


def load_httpx(*, with_backend: bool = False) -> Any:
    """Import httpx without its command line (click, rich and pygments: 80 ms) and without HTTP/2 (30 ms, no gain for a
    single stream); with its backend only in a thread without an event loop."""
    skipped: list[str] = []
    if "httpx" not in sys.modules:
        skipped = [name for name in _SKIPPED_MODULES if name not in sys.modules]
    for name in skipped:
        sys.modules[name] = None  # type: ignore[assignment]  # makes an import of it fail
    try:
        # late: 100 ms, only needed for a request
        import httpcore  # noqa: F401  # httpx imports it with its first client
        import httpx
    finally:
        for name in skipped:
            del sys.modules[name]
    if with_backend:
        # late: as above
        from anyio import connect_tcp, run, sleep  # noqa: F401

        run(sleep, 0)  # imports its asyncio backend
    return httpx


@asynccontextmanager
async def open_post(
    url: str, body: bytes, headers: Mapping[str, str], sent: asyncio.Event
) -> AsyncIterator[Any]:
    """POST a body and yield the response, its body unread; redirects are not followed. `sent` is set once the last byte
    of the request is written. Raises httpx errors, and OSError if certificates cannot be loaded."""
    httpx = load_httpx()
    client = await _client(httpx, url)
    timeout = httpx.Timeout(_CONNECT_SECONDS, write=_WRITE_SECONDS, read=None)
    default_headers = {
        "content-type": "application/json",
        "accept": "text/event-stream",
        "accept-encoding": "identity",
    }

    async def trace(name: str, _: Any) -> None:
        if name.endswith("send_request_body.complete"):
            sent.set()

    async with client.stream(
        "POST",
        url,
        content=body,
        headers=default_headers | dict(headers),
        timeout=timeout,
        extensions={"trace": trace},
    ) as response:
        yield response


async def _client(httpx: Any, url: str) -> httpx.AsyncClient:
    """Return the running loop's client for a URL's scheme, creating it if needed."""
    clients = _clients.setdefault(asyncio.get_running_loop(), {})
    # the process waits at exit for the thread of a DNS lookup: bound it near the connect timeout
    os.environ.setdefault("RES_OPTIONS", "timeout:3")
    # reads the environment: httpx takes proxies and certificates (SSL_CERT_FILE, SSL_CERT_DIR) from it
    uses_proxy = not is_loopback(url)
    has_proxy = uses_proxy and any(name.lower().endswith("_proxy") for name in os.environ)
    is_plain = url[:5].lower() == "http:"
    needs_certificates = has_proxy or not is_plain  # a proxy may be asked over https
    kind = (needs_certificates, uses_proxy)
    if kind not in clients:
        verify = await asyncio.to_thread(_certificates, httpx) if needs_certificates else False
        if kind not in clients:  # another request may have created it meanwhile
            holder = _client_until_loop_ends(httpx, verify, uses_proxy=uses_proxy)
            try:
                clients[kind] = (holder, await anext(holder))
            except (ImportError, ValueError, httpx.InvalidURL) as error:
                hint = "Check HTTP_PROXY, HTTPS_PROXY, ALL_PROXY and NO_PROXY; a SOCKS proxy needs the package socksio."
                raise ProviderError(f"The proxy variables cannot be used: {error}", hint) from None
    return clients[kind][1]


def _certificates(httpx: Any) -> ssl.SSLContext:
    """Return the certificates that are trusted: those of SSL_CERT_FILE and SSL_CERT_DIR alone if they are set, else the
    usual ones, the system's, and those of the variables of other tools. Raises OSError."""
    context: ssl.SSLContext = httpx.create_ssl_context()
    # reads the environment: so does httpx
    if not (os.environ.get("SSL_CERT_FILE") or os.environ.get("SSL_CERT_DIR")):
        context.load_default_certs()
        for variable in _CERTIFICATE_VARIABLES:
            if path := os.environ.get(variable, ""):
                place = {"capath": path} if Path(path).is_dir() else {"cafile": path}
                try:
                    context.load_verify_locations(**place)
                except OSError as error:
                    reason = f"{variable} ({path}): {error.strerror}"
                    raise OSError(error.errno, reason) from error
    return context


async def _client_until_loop_ends(
    httpx: Any, verify: ssl.SSLContext | bool, *, uses_proxy: bool
) -> AsyncGenerator[httpx.AsyncClient]:
    """Yield a client that closes with its event loop, which closes its open generators when it ends."""
    # late: only needed for a request
    from swecli import __version__

    async with httpx.AsyncClient(
        verify=verify,
        trust_env=uses_proxy,  # its proxies: certificates are loaded already
        limits=httpx.Limits(keepalive_expiry=_KEEPALIVE_SECONDS),
        follow_redirects=False,
        headers={"user-agent": f"swecli/{__version__}"},
    ) as client:
        yield client
