"""The editor, as one session speaks to it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from acp.core import Connection
from acp.helpers import SessionUpdate, text_block
from acp.meta import CLIENT_METHODS
from acp.schema import (
    AgentMessageChunk,
    AgentThoughtChunk,
    AllowedOutcome,
    ConfigOptionUpdate,
    PermissionOption,
    RequestPermissionRequest,
    RequestPermissionResponse,
    SessionNotification,
    ToolCallUpdate,
    UsageUpdate,
)
from pydantic import BaseModel

from swecli.acp.wire import Lines
from swecli.models.ids import uuid7
from swecli.models.json_value import JsonObject
from swecli.text import one_line
from swecli.values import dataclass

_MAX_LINE = 2_000  # characters of a line of the program's own
Update = SessionUpdate | ConfigOptionUpdate | UsageUpdate


@dataclass(frozen=True, slots=True)
class Editor:
    """Sends a session's updates and questions."""

    lines: Lines
    connection: Connection  # over these lines; answers come in through it
    session_id: str

    def update(self, update: Update) -> None:
        """Send an update."""
        notification = SessionNotification(session_id=self.session_id, update=update)
        method = CLIENT_METHODS["session_update"]
        self.lines.write({"jsonrpc": "2.0", "method": method, "params": _to_json(notification)})

    def note(self, text: str) -> None:
        """Show a line of the program's own that can be passed over, among the thoughts."""
        self.update(
            AgentThoughtChunk(
                session_update="agent_thought_chunk",
                content=text_block(f"swecli: {one_line(text, _MAX_LINE)}\n"),
                message_id=uuid7(),
            )
        )

    def warn(self, text: str) -> None:
        """Show a line of the program's own that must not be missed, among the answers."""
        self.say(f"\n> swecli: {one_line(text, _MAX_LINE)}\n\n")

    def say(self, markdown: str) -> None:
        """Show a message of the program's own."""
        self.update(
            AgentMessageChunk(
                session_update="agent_message_chunk",
                content=text_block(markdown),
                message_id=uuid7(),
            )
        )

    async def choose(
        self, tool_call: ToolCallUpdate, options: Sequence[PermissionOption]
    ) -> str | None:
        """Return the id of the option that the user chose, None for none of them. Raises CancelledError if the editor
        has cancelled the question or is gone, RequestError if it cannot ask."""
        request = RequestPermissionRequest(
            session_id=self.session_id, tool_call=tool_call, options=list(options)
        )
        try:
            answer = await self.connection.send_request(
                CLIENT_METHODS["session_request_permission"], _to_json(request)
            )
        except ConnectionError as error:
            raise asyncio.CancelledError from error
        outcome = RequestPermissionResponse.model_validate(answer).outcome
        if not isinstance(outcome, AllowedOutcome):
            raise asyncio.CancelledError
        known_ids = {option.option_id for option in options}
        return outcome.option_id if outcome.option_id in known_ids else None


def _to_json(model: BaseModel) -> JsonObject:
    return model.model_dump(mode="json", by_alias=True, exclude_none=True)
