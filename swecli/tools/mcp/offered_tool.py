"""A tool of an approved server, as the model is told of it."""

from __future__ import annotations

from swecli.models.json_value import Json
from swecli.models.message import Offer, ToolSpec
from swecli.text import escape_hidden
from swecli.tools.mcp.record import RemoteTool
from swecli.tools.mcp.servers import Server
from swecli.values import dataclass

OFFER = Offer(in_tasks=False, in_reviews=False)


@dataclass(frozen=True, slots=True)
class OfferedTool:
    """A tool of an approved server, and its name for the model."""

    name: str
    server: Server
    remote: RemoteTool

    @property
    def spec(self) -> ToolSpec:
        """What the model is told: what the user saw, with hidden characters as escapes."""
        description = escape_hidden(self.remote.description)
        return ToolSpec(self.name, description, _without_hidden(self.remote.schema), OFFER)


def _without_hidden(value: Json) -> Json:
    """Return JSON with the hidden characters of its texts as escapes; names are left, since the server reads them."""
    if isinstance(value, str):
        return escape_hidden(value)
    if isinstance(value, list):
        return [_without_hidden(part) for part in value]
    if isinstance(value, dict):
        return {name: _without_hidden(part) for name, part in value.items()}
    return value
