"""A server that is reached over HTTP: its headers, and the limit of what it may send."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from swecli.models.errors import ToolError
from swecli.tools.mcp.names import how_to
from swecli.tools.mcp.pipes import MAX_MESSAGE

if TYPE_CHECKING:
    import httpx2
    from mcp.client._transport import TransportStreams

_UNAUTHORIZED = 401
_EVENTS = "text/event-stream"


class Service:
    """A service over streamable HTTP. `auth` adds the user's login to each request; None: there is none."""

    is_given_up = True

    def __init__(self, name: str, url: str, headers: Mapping[str, str]) -> None:
        # why it is not talked to any more, as of `Pipes`; whether it can be reached only the next request knows
        self.problem = ""
        self.notes: list[str] = []
        self.auth: httpx2.Auth | None = None
        self._name = name
        self._url = url
        self._headers = headers

    def fail(self, reason: str) -> ToolError:
        """Note why the connection ends, since the library says only that it did, and return the error to raise."""
        self.problem = reason
        return ToolError(reason)

    @asynccontextmanager
    async def connect(self) -> AsyncIterator[TransportStreams]:
        """Yield the streams of messages, as the library wants them. It follows no redirect to another host."""
        # late: the library of the protocol
        from mcp.client.streamable_http import streamable_http_client
        from mcp.shared._httpx_utils import create_mcp_http_client

        # what is packed could be of any size
        headers = {"Accept-Encoding": "identity", **self._headers}
        async with create_mcp_http_client(headers, auth=self.auth) as client:
            client.event_hooks = {"response": [self._expect_no_login, self._limit]}
            async with streamable_http_client(
                self._url, http_client=client, max_sse_event_size=MAX_MESSAGE
            ) as streams:
                yield streams

    async def _expect_no_login(self, response: httpx2.Response) -> None:
        if self.auth is None and response.status_code == _UNAUTHORIZED:
            raise self.fail(f"it asks for a login: {how_to('login', self._name)}")

    async def _limit(self, response: httpx2.Response) -> None:
        """Let a response end with an error if it is too long. Of a stream of events each has the limit."""
        if response.headers.get("content-type", "").startswith(_EVENTS):
            return
        if response.headers.get("content-encoding", "identity") != "identity":
            raise self.fail("it packed its answer, although it was asked not to")
        response.stream = _limited(response.stream, self.fail)  # type: ignore[arg-type]  # the client is asynchronous


def _limited(
    stream: httpx2.AsyncByteStream, fail: Callable[[str], ToolError]
) -> httpx2.AsyncByteStream:
    # late: as above
    import httpx2

    class Limited(httpx2.AsyncByteStream):
        async def __aiter__(self) -> AsyncIterator[bytes]:
            size = 0
            async for piece in stream:
                size += len(piece)
                if size > MAX_MESSAGE:
                    raise fail(f"it sent a message of more than {MAX_MESSAGE:,} bytes")
                yield piece

        async def aclose(self) -> None:
            await stream.aclose()

    return Limited()
