"""The tools of approved servers, as the model is offered them: from the record of what the user approved, so that no
server is needed to start, and a request has the same bytes whether servers run, are gone or have changed."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

from swecli.config.settings import Start
from swecli.models.message import ToolSpec
from swecli.tools.mcp.files import project_file, user_file
from swecli.tools.mcp.names import how_to, name_tools
from swecli.tools.mcp.offered_tool import OfferedTool
from swecli.tools.mcp.servers import Servers, ServerState, read_servers

if TYPE_CHECKING:
    from swecli.tools.base import Tool
    from swecli.tools.mcp.calling import ServerCalls


class ServerTools:
    """The tools of a run's approved servers. Their files are looked at before each request, and read when they have
    changed, so that an approval counts from the next request on."""

    def __init__(self, start: Start) -> None:
        self._start = start
        self._calls: ServerCalls | None = None
        self._seen: object = None  # the state of the files
        self._servers = Servers()

    @property
    def servers(self) -> Servers:
        """The servers as the files name them now."""
        state = [_state_of(file) for file in self._files()]
        if state != self._seen:
            self._seen = state
            self._servers = read_servers(self._start)
        return self._servers

    def specs(self) -> list[ToolSpec]:
        """Return the specifications of all approved tools."""
        return [entry.spec for entry in self._offered()]

    def tools(self) -> dict[str, Tool]:
        """Return all approved tools by name, and if there are any those that find and call them."""
        offered = list(self._offered())
        if not offered:
            return {}
        if self._calls is None:
            # late: the first request only names the tools
            from swecli.tools.mcp.calling import ServerCalls

            self._calls = ServerCalls(self._start, self.specs)
        return self._calls.tools(offered)

    def notices(self) -> list[str]:
        """Return a line for each server that cannot be used."""
        lines = list(self.servers.problems)
        for server in self.servers.by_name.values():
            if server.state is not ServerState.APPROVED:
                lines.append(
                    f"the MCP server {server.name} is not used: {server.state}. See {how_to('approve', server.name)}"
                )
        return lines

    def _files(self) -> Iterator[str]:
        yield str(user_file(self._start))
        yield str(project_file(self._start))
        # an approval replaces a file in it
        yield str(self._start.paths.state / "trust")

    def _offered(self) -> Iterator[OfferedTool]:
        for server in self.servers.by_name.values():
            if server.approved is None or server.state is not ServerState.APPROVED:
                continue
            names_by_tool = name_tools(server.name, server.approved.tools)
            for remote_name, name in names_by_tool.items():
                yield OfferedTool(name, server, server.approved.tools[remote_name])


def _state_of(file: str) -> object:
    """Return what changes with a file's contents; None if there is none."""
    try:
        now = os.stat(file)  # noqa: PTH116  raises nothing else
    except OSError:
        return None
    return now.st_mtime_ns, now.st_size, now.st_ino
