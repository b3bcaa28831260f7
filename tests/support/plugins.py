"""Plug-ins in tests: write their folders, add them as the user would."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from swecli.actions.plugins import add_plugin
from swecli.config.plugins import Plugin, read_plugins
from swecli.config.settings import Start
from swecli.models.action import Invocation

SCHEMAS = "https://agent-plugins.org/schemas/1.0.0"
SKILL = "---\nname: {name}\ndescription: About {name}.\n---\n{text}\n"


def claude_plugin(name: str = "tools", files: dict[str, Any] | None = None, **fields: Any) -> Path:
    """Write a plug-in in Claude Code's format, and return its folder."""
    manifest = {"name": name, **fields}
    return write_files(
        Path.cwd().parent / f"src-{name}",
        {".claude-plugin/plugin.json": manifest, **(files or {})},
    )


def agent_plugin(name: str = "tools", files: dict[str, Any] | None = None, **fields: Any) -> Path:
    """Write a plug-in in the format of Agent Plugins, and return its folder."""
    manifest = {"$schema": f"{SCHEMAS}/plugin.schema.json", "name": name, **fields}
    return write_files(
        Path.cwd().parent / f"src-{name}", {"plugin.json": manifest, **(files or {})}
    )


def servers(**entries: Any) -> dict[str, Any]:
    """Return the `mcp.json` of Agent Plugins with these servers."""
    return {"$schema": f"{SCHEMAS}/mcp.schema.json", "mcpServers": entries}


def write_files(folder: Path, files: dict[str, Any]) -> Path:
    """Write texts, and other values as JSON, by their paths in a folder."""
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        text = content if isinstance(content, str) else json.dumps(content)
        path.write_text(text, encoding="utf-8")
    return folder


async def add(start: Start, folder: Path, *flags: str) -> Plugin:
    """Add a plug-in, or what it is now, with a yes to the question."""
    asked = Invocation((str(folder),), {flag: () for flag in ("--yes", *flags)})
    result = await add_plugin(start, asked)
    assert isinstance(result.value, dict), result.lines
    name = result.value["added"]
    return next(one for one in read_plugins(start.paths).plugins if one.name == name)
