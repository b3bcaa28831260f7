"""Get one page from the web: only from addresses that were checked, within a size and a time, as text."""

from __future__ import annotations

import asyncio
import os
import re
import socket
import zlib
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import field, replace
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urljoin, urlsplit

from swecli.certificates import trusted_certificates
from swecli.tools.base import ToolError
from swecli.tools.first_address import connect_to_first
from swecli.tools.limits import one_line
from swecli.tools.web_addresses import check_addresses, normalize_url
from swecli.values import dataclass

if TYPE_CHECKING:
    import httpcore

SECONDS = 30.0
MAX_BYTES = 2_000_000
_MAX_REDIRECTS = 5
_REDIRECTS = (301, 302, 303, 307, 308)
_HEADERS = (("User-Agent", "swecli"), ("Accept", "*/*"), ("Accept-Encoding", "gzip, deflate"))
# window bits of zlib: of a gzip file, of its own format and of the bare stream that some servers send as deflate
_PACKED = {"gzip": (31,), "x-gzip": (31,), "deflate": (15, -15)}
_TEXTS = re.compile(r"text/|application/(?:[\w.-]+\+)?(?:json|xml|yaml|toml|javascript)")


@dataclass(frozen=True, slots=True)
class WebRequest:
    """What is got, and from where."""

    url: str  # as `normalize_url` returns it
    host: str
    headers: tuple[tuple[str, str], ...] = ()
    secret: str = field(
        default="", repr=False
    )  # part of the URL or a header that no error may show


@dataclass(frozen=True, slots=True)
class Page:
    """The bytes of a page."""

    kind: str  # its content type
    data: bytes
    is_cut: bool  # whether it was longer
    url: str = ""  # after redirects
    status: int = 200


async def get(request: WebRequest, environ: Mapping[str, str], seconds: float = SECONDS) -> Page:
    """Return a page of the request's host. Raises ToolError, also if it takes longer than `seconds`."""
    # late: needed by no other tool
    import httpcore

    name = _without_secret(request.url, request)
    try:
        async with asyncio.timeout(seconds):
            return await _follow(request, environ)
    except TimeoutError as error:
        raise ToolError(f"{name} did not load within {seconds:g} seconds.") from error
    except (
        httpcore.NetworkError,
        httpcore.ProtocolError,
        httpcore.TimeoutException,
        OSError,
    ) as error:
        reason = _without_secret(_reason(error), request)
        raise ToolError(f"{name} cannot be fetched: {one_line(reason, 200)}.") from error


def _reason(error: Exception) -> str:
    """Return the system's words for a connection that was not made, without a number, else those of the library."""
    link: BaseException | None = error
    while link is not None:
        if isinstance(link, socket.gaierror) and link.strerror:
            return link.strerror
        if isinstance(link, ConnectionError) and link.errno:  # whose own words are asyncio's
            return os.strerror(link.errno)
        link = link.__cause__ or link.__context__
    return str(error) or type(error).__name__


def _without_secret(text: str, request: WebRequest) -> str:
    if not request.secret:
        return text
    # as it is in a header, and as it is in an address
    return text.replace(request.secret, "***").replace(quote(request.secret, safe=""), "***")


async def _follow(request: WebRequest, environ: Mapping[str, str]) -> Page:
    """Follow the redirects of a request within its host. Raises ToolError and errors of httpcore."""
    # late: needed by no other tool
    import httpcore

    trusted = trusted_certificates(environ)
    backend = _backend(environ)
    url = request.url
    async with httpcore.AsyncConnectionPool(ssl_context=trusted, network_backend=backend) as pool:
        for _ in range(_MAX_REDIRECTS + 1):
            headers = [("Host", urlsplit(url).netloc), *_HEADERS, *request.headers]
            async with pool.stream("GET", url, headers=headers) as response:
                answer_headers = _decode_headers(response.headers)
                if response.status not in _REDIRECTS or "location" not in answer_headers:
                    name = _without_secret(url, request)
                    page = await _read_page(name, response, answer_headers)
                    return replace(page, url=name, status=response.status)
                url, new_host = normalize_url(urljoin(url, answer_headers["location"]))
                if new_host != request.host:
                    target = _without_secret(url, request)
                    raise ToolError(
                        f"The page redirects to another host: {target}. Fetch that URL if it is needed."
                    )
    raise ToolError(f"The page redirects more than {_MAX_REDIRECTS} times.")


def _decode_headers(headers: list[tuple[bytes, bytes]]) -> dict[str, str]:
    return {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in headers}


async def _read_page(name: str, response: httpcore.Response, headers: Mapping[str, str]) -> Page:
    kind = headers.get("content-type", "text/plain")
    if not _TEXTS.match(kind.lower()) and "html" not in kind.lower():
        answered = f" (answered {response.status})" if response.status >= 400 else ""
        raise ToolError(f"{name} is not text but {one_line(kind, 80)}{answered}.")
    packed = headers.get("content-encoding", "identity").strip().lower()
    if packed != "identity" and packed not in _PACKED:
        raise ToolError(
            f"The page has a content encoding that was not requested: {one_line(packed, 40)}."
        )
    data = bytearray()
    async for chunk in response.aiter_stream():
        data += chunk
        if len(data) > MAX_BYTES:
            break
    is_cut = len(data) > MAX_BYTES
    text = bytes(data[:MAX_BYTES])
    if packed in _PACKED:
        text, is_longer = _unpack(name, text, packed)
        is_cut = is_cut or is_longer
    return Page(kind, text, is_cut)


def _unpack(name: str, data: bytes, packed: str) -> tuple[bytes, bool]:
    """Return at most `MAX_BYTES` of packed data, and whether there is more. Raises ToolError if it is damaged."""
    for bits in _PACKED[packed]:
        unpacking = zlib.decompressobj(wbits=bits)
        with suppress(zlib.error):
            text = unpacking.decompress(data, MAX_BYTES)
            return text, bool(unpacking.unconsumed_tail)
    raise ToolError(f"{name} cannot be unpacked: it is not {packed}.")


def _backend(environ: Mapping[str, str]) -> httpcore.AsyncNetworkBackend:
    """Return a backend that connects only to the addresses it has checked."""
    import httpcore  # late: needed by no other tool

    class CheckedBackend(httpcore.AnyIOBackend):
        async def connect_tcp(
            self, host: str, port: int, *args: Any, **more: Any
        ) -> httpcore.AsyncNetworkStream:
            loop = asyncio.get_running_loop()
            infos = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
            addresses = list(dict.fromkeys(str(info[4][0]) for info in infos))
            check_addresses(host, addresses, environ)
            connect = super().connect_tcp
            return await connect_to_first(
                addresses, lambda address: connect(address, port, *args, **more)
            )

    return CheckedBackend()
