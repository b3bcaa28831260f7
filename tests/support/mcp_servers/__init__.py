"""Servers of the Model Context Protocol for tests, as programs of their own, and the files that name them."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

from swecli.config.settings import Start
from swecli.config.trust import TrustLedger
from swecli.tools.guard import Guard
from swecli.tools.mcp.connections import list_tools
from swecli.tools.mcp.record import ServerRecord
from swecli.tools.mcp.servers import read_servers
from swecli.tools.sandbox import Sandbox

_FOLDER = Path(__file__).parent
USEFUL = _FOLDER / "useful.py"
GUARDED = _FOLDER / "guarded.py"
RAW = _FOLDER / "raw.py"
RUN_BY_THIS_PROCESS = f"for {os.getpid()}"  # in the command line of `raw`: tests run beside others


def useful(**more: Any) -> dict[str, Any]:
    """Return the entry of the server with useful tools."""
    return {"command": sys.executable, "args": [str(USEFUL)], **more}


def raw(how: str = "", **more: Any) -> dict[str, Any]:
    """Return the entry of the server that may misbehave."""
    return {"command": sys.executable, "args": [str(RAW), how, RUN_BY_THIS_PROCESS], **more}


def write_user_file(start: Start, **servers: dict[str, Any]) -> Path:
    """Write the user's file with these servers."""
    file = start.paths.config / "mcp.json"
    file.write_text(json.dumps({"mcpServers": servers}))
    return file


async def approve(start: Start, name: str) -> ServerRecord:
    """Approve a server's tools as they are now."""
    server = read_servers(start).by_name[name]
    sandbox = Sandbox.of(start)
    try:
        tools = await list_tools(server, start, Guard(start.cwd), sandbox)
    finally:
        sandbox.close()
    record = ServerRecord.of(server.entry, tools)
    TrustLedger.find(start.paths).approve_server(server.root, name, record.to_text())
    return record
