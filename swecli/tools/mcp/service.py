"""A server that is reached over HTTP: its headers, and the limit of what it may send."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from swecli.models.errors import ToolError
from swecli.tools.mcp.pipes import MAX_MESSAGE

if TYPE_CHECKING:
    import httpx2
    from mcp.client._transport import TransportStreams

_UNAUTHORIZED = 401
_EVENTS = "text/event-stream"


class Service:
    """A service over streamable HTTP. `auth` adds the user's login to each request; None: there is none."""

    is_given_up = True

    def __init__(
        self, name: str, url: str, headers: Mapping[str, str], auth: httpx2.Auth | None
    ) -> None:
        self.problem = (
            ""  # as of `Pipes`; whether a service can be reached is known by the next request only
        )
        self.notes: list[str] = []
        self._name = name
        self._url = url
        self._headers = headers
        self._auth = auth

    @asynccontextmanager
    async def connect(self) -> AsyncIterator[TransportStreams]:
        """Yield the streams of messages, as the library wants them. It follows no redirect to another host."""
        # late: the library of the protocol
        from mcp.client.streamable_http import streamable_http_client
        from mcp.shared._httpx_utils import create_mcp_http_client

        # what is packed could be of any size
        headers = {"Accept-Encoding": "identity", **self._headers}
        async with create_mcp_http_client(headers, auth=self._auth) as client:
            checks = [_limit] if self._auth is not None else [self._expect_no_login, _limit]
            client.event_hooks = {"response": checks}
            async with streamable_http_client(
                self._url, http_client=client, max_sse_event_size=MAX_MESSAGE
            ) as streams:
                yield streams

    async def _expect_no_login(self, response: httpx2.Response) -> None:
        if response.status_code == _UNAUTHORIZED:
            raise ToolError(f"it asks for a login: swecli mcp login {self._name}")


async def _limit(response: httpx2.Response) -> None:
    """Let a response end with an error if it is too long. Of a stream of events each has the limit."""
    if response.headers.get("content-type", "").startswith(_EVENTS):
        return
    if response.headers.get("content-encoding", "identity") != "identity":
        raise ToolError("it packed its answer, although it was asked not to")
    response.stream = _limited(response.stream)  # type: ignore[arg-type]  # the client is no synchronous one


def _limited(stream: httpx2.AsyncByteStream) -> httpx2.AsyncByteStream:
    # late: as above
    import httpx2

    class Limited(httpx2.AsyncByteStream):
        async def __aiter__(self) -> AsyncIterator[bytes]:
            size = 0
            async for piece in stream:
                size += len(piece)
                if size > MAX_MESSAGE:
                    raise ToolError(f"it sent a message of more than {MAX_MESSAGE:,} bytes")
                yield piece

        async def aclose(self) -> None:
            await stream.aclose()

    return Limited()
