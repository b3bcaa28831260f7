"""A client of `swecli mcp serve`: the official library's, with a program of its own at the other end."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from mcp import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp_types import Implementation, TextContent, TextResourceContents

from tests.support.shell import COMMAND, environment

ERAS = ("legacy", "auto")  # the handshake of 2025-11-25, and 2026-07-28 without one


@dataclass(frozen=True)
class MemoryClient:
    """A connected client."""

    client: Client

    async def call(self, tool: str, **arguments: Any) -> str:
        """Return the text of a tool's answer."""
        result = await self.client.call_tool(tool, arguments)
        (block,) = result.content
        assert isinstance(block, TextContent)
        assert not result.is_error, block.text
        return block.text

    async def refusal(self, tool: str, **arguments: Any) -> str:
        """Return why a call was refused."""
        result = await self.client.call_tool(tool, arguments)
        (block,) = result.content
        assert isinstance(block, TextContent)
        assert result.is_error, block.text
        return block.text

    async def read(self, uri: str) -> str:
        (content,) = (await self.client.read_resource(uri)).contents
        assert isinstance(content, TextResourceContents)
        return content.text


@asynccontextmanager
async def connect(
    *flags: str, name: str = "other-agent", era: str = "legacy"
) -> AsyncIterator[MemoryClient]:
    """Start `swecli mcp serve` in the working folder, and connect to it as a client of this name."""
    program, *words = COMMAND
    server = StdioServerParameters(
        command=program, args=[*words, "mcp", "serve", *flags], env=environment()
    )
    info = Implementation(name=name, version="1")
    async with Client(stdio_client(server), client_info=info, mode=era) as client:
        yield MemoryClient(client)
