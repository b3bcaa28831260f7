"""Test the text of what a user approved of a server."""

from __future__ import annotations

from swecli.config.mcp_file import ServerEntry
from swecli.tools.mcp.record import RemoteTool, ServerRecord

SCHEMA = {"type": "object", "properties": {"to": {"type": "string"}, "at": {"type": "string"}}}


def test_a_record_is_read_as_it_was_written_with_arguments_in_their_order() -> None:
    tools = [RemoteTool("b", "Go.", SCHEMA), RemoteTool("a", "Stay.\u202e", {"type": "object"})]
    record = ServerRecord.of(ServerEntry("one", command="x"), tools)
    text = record.to_text()
    assert text.isascii()
    again = ServerRecord.from_text(text)
    assert again == record
    assert list(again.tools["b"].schema["properties"]) == ["to", "at"]


def test_the_order_of_a_list_of_tools_changes_nothing() -> None:
    tools = [RemoteTool("b", "Go.", SCHEMA), RemoteTool("a", "Stay.", {"type": "object"})]
    entry = ServerEntry("one", url="https://example.org/mcp")
    forward = ServerRecord.of(entry, tools).to_text()
    assert ServerRecord.of(entry, reversed(tools)).to_text() == forward
