"""The conversation of a session as a file that hooks can read, in the form that Claude Code writes its own in."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from pathlib import Path

from swecli.models.json_value import JsonObject
from swecli.models.message import ChatMessage, Role
from swecli.models.session import Session


class Transcript:
    """One file for each session of a run, in a private folder that goes with the run. Messages are added when the next
    hook is asked, without spaces between the signs of JSON: shell scripts look for `"role":"assistant"`."""

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="swecli-transcripts-")
        self._written: dict[str, int] = {}  # the id of the last message, by session

    def update(self, session: Session) -> Path:
        """Write what is not written yet of a session's messages, and return the file. Raises OSError."""
        file = Path(self._folder.name) / f"{session.id}.jsonl"
        last = self._written.get(session.id, 0)
        # the results of the newest message's calls are not all there yet
        complete = [message for message in session.messages if _is_complete(message)]
        new = [message for message in complete if message.id is not None and message.id > last]
        with file.open("a", encoding="utf-8") as stream:
            for message in new:
                for row in _rows(message):
                    line = {
                        **row,
                        "sessionId": session.id,
                        "timestamp": message.created_at.isoformat(),
                    }
                    stream.write(json.dumps(line, separators=(",", ":")) + "\n")
        if new:
            self._written[session.id] = new[-1].id or last
        return file

    def close(self) -> None:
        """Remove the files."""
        self._folder.cleanup()


def _is_complete(message: ChatMessage) -> bool:
    return all(call.result is not None for call in message.tool_calls)


def _rows(message: ChatMessage) -> Iterator[JsonObject]:
    """Yield a message, and the results of its calls, as lines of a transcript."""
    if message.role is not Role.ASSISTANT:
        yield {"type": "user", "message": {"role": "user", "content": message.sent_text}}
        return
    blocks: list[JsonObject] = []
    if message.content:
        blocks.append({"type": "text", "text": message.content})
    for call in message.tool_calls:
        use = {"type": "tool_use", "id": call.id, "name": call.name, "input": call.parameters}
        blocks.append(use)
    yield {"type": "assistant", "message": {"role": "assistant", "content": blocks}}
    results: list[JsonObject] = [
        {"type": "tool_result", "tool_use_id": call.id, "content": call.result}
        for call in message.tool_calls
    ]
    if results:
        yield {"type": "user", "message": {"role": "user", "content": results}}
