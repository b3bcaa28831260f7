"""The HTTP client, one per event loop and kept across turns. Only import of httpx."""

from __future__ import annotations

import asyncio
import ipaddress
import os
import ssl
import sys
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit
from weakref import WeakKeyDictionary

from swecli.certificates import trusted_certificates
from swecli.llm.endpoints import is_loopback
from swecli.models.errors import ProviderError

if TYPE_CHECKING:
    import httpx

_CONNECT_SECONDS = 10.0
_WRITE_SECONDS = 60.0
_SKIPPED_MODULES = ("httpx._main", "h2")
_KEEPALIVE_SECONDS = 300.0

# by event loop, then with certificates or not, which takes 80 ms, and by proxy
_clients: WeakKeyDictionary[
    Any, dict[tuple[bool, str | None], tuple[AsyncGenerator[httpx.AsyncClient], httpx.AsyncClient]]
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
    url: str, body: bytes, headers: Mapping[str, str], request_sent: asyncio.Event
) -> AsyncIterator[Any]:
    """POST a body and yield the response, its body unread; redirects are not followed. `request_sent` is set once its
    last byte is written. Raises httpx errors, and OSError if certificates cannot be loaded."""
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
            request_sent.set()

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
    # reads the environment: the variables of proxies and certificates are everybody's
    proxy = proxy_for(url)
    needs_certificates = proxy is not None or url[:6].lower() == "https:"
    kind = (needs_certificates, proxy)
    if kind not in clients:
        verify: ssl.SSLContext | bool = False
        if needs_certificates:
            verify = await asyncio.to_thread(trusted_certificates, os.environ)
        if kind not in clients:  # another request may have created it meanwhile
            holder = _client_until_loop_ends(httpx, verify, proxy)
            try:
                clients[kind] = (holder, await anext(holder))
            except (ImportError, ValueError, httpx.InvalidURL) as error:
                hint = "Check HTTP_PROXY, HTTPS_PROXY and ALL_PROXY; a SOCKS proxy needs the package socksio."
                raise ProviderError(f"The proxy variables cannot be used: {error}", hint) from None
    return clients[kind][1]


def proxy_for(url: str) -> str | None:
    """Return the proxy that the environment names for a URL; None if it is asked directly. This machine always is, and
    so is what NO_PROXY names: hosts, domains, and networks such as 10.0.0.0/8, with which httpx would fail."""
    # late: httpx has loaded it
    from urllib.request import getproxies, proxy_bypass

    parts = urlsplit(url)
    host = parts.hostname or ""
    proxies = getproxies()
    if is_loopback(url) or proxy_bypass(host) or _is_in_network(host, proxies.get("no", "")):
        return None
    proxy = proxies.get(parts.scheme) or proxies.get("all")
    return proxy if proxy is None or "://" in proxy else f"http://{proxy}"


def _is_in_network(host: str, networks: str) -> bool:
    """Return whether a host is an address in one of the networks, which are separated by commas."""
    for network in networks.split(","):
        # neither the name of a host nor that of a domain is a network
        with suppress(ValueError):
            if ipaddress.ip_address(host) in ipaddress.ip_network(network.strip(), strict=False):
                return True
    return False


async def _client_until_loop_ends(
    httpx: Any, verify: ssl.SSLContext | bool, proxy: str | None
) -> AsyncGenerator[httpx.AsyncClient]:
    """Yield a client that closes with its event loop, which closes its open generators when it ends."""
    # late: only needed for a request
    from swecli import __version__

    async with httpx.AsyncClient(
        verify=verify,
        proxy=proxy,
        trust_env=False,  # proxies and certificates are chosen already
        limits=httpx.Limits(keepalive_expiry=_KEEPALIVE_SECONDS),
        follow_redirects=False,
        headers={"user-agent": f"swecli/{__version__}"},
    ) as client:
        yield client
