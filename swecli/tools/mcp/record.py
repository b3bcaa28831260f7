"""What a user approves of a server: how it is started or reached, and each word that it says about its tools."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import field

from swecli.config.mcp_file import ServerEntry
from swecli.models.json_value import Json, JsonObject
from swecli.values import dataclass

# Characters of one tool's description and schema, which each request holds: those of the reference servers are below
# 4,000.
_LONGEST = 20_000


@dataclass(frozen=True, slots=True)
class RemoteTool:
    """A tool as its server describes it: `schema` is the JSON schema of its arguments, of type object."""

    name: str
    description: str
    schema: JsonObject

    @property
    def is_too_long(self) -> bool:
        """Whether it is not offered because of its length."""
        return len(self.description) + len(json.dumps(self.schema)) > _LONGEST

    def to_json(self) -> JsonObject:
        return {"name": self.name, "description": self.description, "schema": self.schema}


@dataclass(frozen=True, slots=True)
class ServerRecord:
    """A server's entry, as a file has it, and its tools by name."""

    entry: Json
    tools: Mapping[str, RemoteTool] = field(default_factory=dict)

    @classmethod
    def of(cls, entry: ServerEntry, tools: Iterable[RemoteTool]) -> ServerRecord:
        return cls(entry.to_json(), {tool.name: tool for tool in tools})

    @classmethod
    def from_text(cls, text: str) -> ServerRecord:
        """Return the record that `to_text` wrote. Raises ValueError, TypeError or KeyError for another text."""
        value = json.loads(text)
        return cls(value["entry"], {tool["name"]: RemoteTool(**tool) for tool in value["tools"]})

    def to_text(self) -> str:
        """Return the record as a text, with the arguments of each tool in the server's order. Characters that are not
        ASCII are escaped, so that none is hidden, nor changes the direction of others."""
        tools = [self.tools[name].to_json() for name in sorted(self.tools)]
        return json.dumps({"entry": self.entry, "tools": tools}, indent=1)
