"""Offer many remote tools by their names only: what a request would hold of each is found with one tool, and called
with another, so that the request stays short and its bytes the same."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence

from swecli.models.errors import ToolError
from swecli.models.message import Offer, ToolSpec
from swecli.tools.mcp.names import is_remote

FIND = "find_tool"
CALL = "call_tool"
_MOST_TOOLS = 20  # that are described in each request; about what the built-in ones are
_SHARE_OF_WINDOW = 10  # a tenth of it, as Claude Code does
_CHARACTERS_A_TOKEN = 4
_MOST_FOUND = 5
_OFFER = Offer(in_tasks=False, in_reviews=False)
_WORD = re.compile(r"[^\W_]+")


def defer(specs: Sequence[ToolSpec], window: int | None) -> list[ToolSpec]:
    """Return what a request offers: all specifications, or if those of remote tools are too many or too long for the
    model's window (None: unknown) two tools in their place. Sorted by name."""
    remote = [spec for spec in specs if is_remote(spec.name)]
    if not remote or not _is_too_much(remote, window):
        return [*specs]
    rest = [spec for spec in specs if not is_remote(spec.name)]
    return sorted([*rest, _find_spec(remote), _CALL_SPEC], key=lambda spec: spec.name)


def _is_too_much(remote: Sequence[ToolSpec], window: int | None) -> bool:
    if len(remote) > _MOST_TOOLS:
        return True
    size = sum(len(json.dumps(spec.to_api())) for spec in remote)
    return window is not None and size * _SHARE_OF_WINDOW > window * _CHARACTERS_A_TOKEN


def _find_spec(remote: Sequence[ToolSpec]) -> ToolSpec:
    names = ", ".join(spec.name for spec in remote)
    text = (
        f"Describe tools of MCP servers: what they do, and their arguments. Call them with {CALL}.\n"
        f"They are: {names}."
    )
    return ToolSpec(FIND, text, FIND_SCHEMA, _OFFER)


FIND_SCHEMA = {
    "type": "object",
    "properties": {
        "query": {"type": "string", "description": "The name of one, or words of what it is to do."}
    },
    "required": ["query"],
    "additionalProperties": False,
}
CALL_SCHEMA = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "description": "The name of the tool: mcp__time__now."},
        "arguments": {"type": "object", "description": f"As {FIND} describes them."},
    },
    "required": ["name"],
    "additionalProperties": False,
}
_CALL_SPEC = ToolSpec(
    CALL, f"Call a tool of an MCP server that {FIND} described.", CALL_SCHEMA, _OFFER
)


def find_tools(query: str, specs: Mapping[str, ToolSpec]) -> list[ToolSpec]:
    """Return the tool of this name, or else those whose name and description have most of the words. Raises ToolError
    if none has any."""
    if query.strip() in specs:
        return [specs[query.strip()]]
    words = {word.lower() for word in _WORD.findall(query)}
    match_counts = {name: _matches(words, spec) for name, spec in specs.items()}
    best = sorted(
        filter(match_counts.get, match_counts), key=lambda name: (-match_counts[name], name)
    )
    if not best:
        raise ToolError(f"No tool has any of these words. The tools: {', '.join(specs)}.")
    return [specs[name] for name in best[:_MOST_FOUND]]


def _matches(words: set[str], spec: ToolSpec) -> int:
    """Return how many of the words a tool's name and description have; those of its name count twice."""
    in_name = {word.lower() for word in _WORD.findall(spec.name)}
    in_text = {word.lower() for word in _WORD.findall(spec.description)}
    return 2 * len(words & in_name) + len(words & in_text)
