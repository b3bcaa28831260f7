"""How servers and their tools are called: by the model, in rules, and by the user."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable

PREFIX = "mcp__"
# OpenAI allows 64 characters, other providers more: platform.openai.com/docs/guides/function-calling
_LONGEST = 64
_DIGEST = 6  # characters that make a name that was cut, or is another's too, its own


def how_to(action: str, server: str) -> str:
    """Return what the user types to do something with a server: both where there is a session and where there is none,
    since a call is made in either."""
    return f"/mcp {action} {server}, or in a shell: swecli mcp {action} {server}"


def is_remote(name: str) -> bool:
    """Return whether the model knows a tool of a server by this name."""
    return name.startswith(PREFIX)


def subject_of(server: str, tool: str) -> str:
    """Return what permission rules are compared with: `time__get_current_time`."""
    return f"{server}__{tool}"


def name_tools(server: str, tools: Iterable[str]) -> dict[str, str]:
    """Return the name for the model of each tool of a server, which providers accept and no other has. It depends on
    nothing but the names themselves."""
    names_by_tool: dict[str, str] = {}
    taken_names: set[str] = set()
    for tool in sorted(set(tools)):
        clean = re.sub(r"[^A-Za-z0-9_-]", "_", tool)
        name = PREFIX + subject_of(server, clean)
        if len(name) > _LONGEST or name in taken_names:
            digest = hashlib.sha256(tool.encode("utf-8", "surrogatepass")).hexdigest()[:_DIGEST]
            name = f"{name[: _LONGEST - _DIGEST - 1]}_{digest}"
        taken_names.add(name)
        names_by_tool[tool] = name
    return names_by_tool


def describe_renamed(server: str, names_by_tool: dict[str, str]) -> list[str]:
    """Return a line for each tool whose name for the model is not its own, with both."""
    usual = {tool: PREFIX + subject_of(server, tool) for tool in names_by_tool}
    return [
        f"{tool!r} is called {name}" for tool, name in names_by_tool.items() if name != usual[tool]
    ]
