"""The tools of servers in a run, whose modules are loaded when there is a file that names servers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from swecli.config.settings import Start
from swecli.models.message import ToolSpec
from swecli.tools.mcp.files import has_servers

if TYPE_CHECKING:
    from swecli.tools.base import Tool
    from swecli.tools.mcp.offered import ServerTools


class LateServerTools:
    """What `ServerTools` offers, and nothing as long as no file names a server."""

    def __init__(self, start: Start) -> None:
        self._start = start
        self._loaded: ServerTools | None = None

    def specs(self) -> list[ToolSpec]:
        """Return the specifications of all approved tools."""
        tools = self._tools()
        return tools.specs() if tools else []

    def tools(self) -> dict[str, Tool]:
        """Return all approved tools by name."""
        tools = self._tools()
        return tools.tools() if tools else {}

    def notices(self) -> list[str]:
        """Return a line for each server that cannot be used."""
        tools = self._tools()
        return tools.notices() if tools else []

    def _tools(self) -> ServerTools | None:
        if self._loaded is None and has_servers(self._start):
            # late: few use servers
            from swecli.tools.mcp.offered import ServerTools

            self._loaded = ServerTools(self._start)
        return self._loaded
