"""An open connection to a server: ask it for its tools, call one, close it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from importlib import import_module
from typing import TYPE_CHECKING, Protocol

import swecli
from swecli.models.errors import SwecliError, ToolError
from swecli.models.json_value import Json
from swecli.text import one_line
from swecli.tools.mcp.record import RemoteTool

if TYPE_CHECKING:
    from mcp import Client
    from mcp.client._transport import TransportStreams
    from mcp_types import CallToolResult

_log = logging.getLogger(__name__)

SECONDS_TO_CONNECT = 30.0  # Claude Code's MCP_TIMEOUT: npx and uvx may have to install first
_MAX_PAGES = 100  # of a list of tools, as the official library's own limit
_MAX_ERROR = 300  # characters of what a server says in an error


class Link(Protocol):
    """How a server is reached."""

    # on what was put back in the workspace at its end
    notes: list[str]
    # whether a connection that failed once is given up: it may be known to nobody at the other end any more
    is_given_up: bool

    @property
    def problem(self) -> str:
        """Why it cannot be reached any more, "" as long as it can."""
        ...

    def connect(self) -> AbstractAsyncContextManager[TransportStreams]: ...


class Connection:
    """A connection that a task of its own opens and closes, as the library wants it. `changed`: the server has said
    that its tools are others now."""

    def __init__(self, server: str, link: Link) -> None:
        self.server = server
        self.link = link
        self.changed = False
        self._client: Client | None = None
        self._owner: asyncio.Task[None] | None = None
        self._stop = asyncio.Event()

    @property
    def is_open(self) -> bool:
        is_owned = self._owner is not None and not self._owner.done()
        return self._client is not None and is_owned and not self.link.problem

    async def open(self, seconds: float | None = None) -> None:
        """Connect, within `SECONDS_TO_CONNECT` if no other time is given. Raises ToolError if that is not possible, and
        CancelledError; nothing is left running then."""
        # in a thread: the screen goes on meanwhile
        await asyncio.to_thread(import_module, "mcp")
        seconds = SECONDS_TO_CONNECT if seconds is None else seconds
        opened = asyncio.get_running_loop().create_future()
        self._owner = asyncio.create_task(self._hold_open(opened, seconds))
        try:
            async with asyncio.timeout(seconds):
                await asyncio.shield(opened)
        except TimeoutError:
            await self.close()
            raise ToolError(
                f"The MCP server {self.server} did not answer within {seconds:g} seconds."
            ) from None
        except asyncio.CancelledError:
            await self.close()
            raise
        except Exception as error:
            await self.close()
            raise self._fault(error) from error

    async def _hold_open(self, opened: asyncio.Future[None], seconds: float) -> None:
        """Hold the connection open until `close`."""
        # late: half a second and 35 MB, which only those who call a server wait for
        from mcp import Client
        from mcp_types import Implementation, ToolListChangedNotification

        async def notice(message: object) -> None:
            if isinstance(message, ToolListChangedNotification):
                self.changed = True

        # the library logs, with what servers sent, what is reported where it matters; these are its loggers' names
        for name in ("mcp", "client"):
            logging.getLogger(name).setLevel(logging.CRITICAL)
        try:
            client = Client(
                self.link.connect(),
                read_timeout_seconds=seconds,
                client_info=Implementation(name="swecli", version=swecli.__version__),
                message_handler=notice,
                cache=None,
            )
            async with client:
                self._client = client
                if not opened.done():
                    opened.set_result(None)
                await self._stop.wait()
        except Exception as error:  # noqa: BLE001  the boundary: `open` reports it, or the next call
            if not opened.done():
                opened.set_exception(error)
            else:
                _log.debug("the connection to %s ended", self.server, exc_info=True)
        finally:
            if not opened.done():
                opened.cancel()

    async def close(self) -> None:
        """End the connection, and the program of the server. At once, if it is not open yet."""
        if self._owner is None:
            return
        self._stop.set()
        if self._client is None:
            self._owner.cancel()
        await asyncio.wait({self._owner})

    async def list_tools(self) -> list[RemoteTool]:
        """Return what the server says of its tools now. Raises ToolError; if it does not answer, or this is cancelled,
        the connection is closed."""
        assert self._client is not None, "it is open"
        tools: list[RemoteTool] = []
        cursor: str | None = None
        try:
            async with asyncio.timeout(SECONDS_TO_CONNECT):
                for _ in range(_MAX_PAGES):
                    page = await self._client.list_tools(cursor=cursor)
                    for tool in page.tools:
                        schema = _usable_schema(tool.input_schema)
                        tools.append(RemoteTool(tool.name, tool.description or "", schema))
                    cursor = page.next_cursor
                    if cursor is None:
                        self.changed = False
                        return tools
        except TimeoutError:
            await self.close()
            raise ToolError(
                f"The MCP server {self.server} did not list its tools within {SECONDS_TO_CONNECT:g} seconds."
            ) from None
        except asyncio.CancelledError:
            await self.close()
            raise
        except Exception as error:
            raise self._fault(error) from error
        raise ToolError(
            f"The MCP server {self.server} lists its tools on more than {_MAX_PAGES} pages."
        )

    async def call(
        self, tool: str, arguments: Mapping[str, Json], seconds: float
    ) -> CallToolResult:
        """Return a tool's result. Raises ToolError, also if there is none within the time. After that, and if it is
        cancelled, the connection is closed: the server might go on with what nobody waits for."""
        assert self._client is not None, "it is open"
        try:
            async with asyncio.timeout(seconds):
                return await self._client.call_tool(
                    tool, dict(arguments), read_timeout_seconds=seconds + 1
                )
        except TimeoutError:
            await self.close()
            raise ToolError(
                f"The MCP server {self.server} did not answer within {seconds:g} seconds, and was ended."
            ) from None
        except asyncio.CancelledError:
            await self.close()
            raise
        except Exception as error:
            if self.link.is_given_up:
                await self.close()
            raise self._fault(error) from error

    def _fault(self, error: Exception) -> ToolError:
        """Return the error for the model and the user: why the server is gone, if it is, else what went wrong."""
        cause = self.link.problem or _cause_of(error)
        return ToolError(f"The MCP server {self.server} failed: {one_line(cause, _MAX_ERROR)}.")


def _usable_schema(schema: Mapping[str, Json]) -> dict[str, Json]:
    """Return a schema that providers accept."""
    plain_schema = {name: part for name, part in schema.items() if name != "$schema"}
    return {**plain_schema, "type": "object", "properties": plain_schema.get("properties", {})}


def _cause_of(error: BaseException) -> str:
    """Return what an error of the library says, or the first one of a group."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    if isinstance(error, SwecliError):
        return error.message.rstrip(".")
    return (str(error) or type(error).__name__).rstrip(".")
