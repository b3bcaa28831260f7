"""The messages of Claude Code's `--output-format stream-json`, for its readers: `system` (init), `assistant` for each
block of text, thinking or call, `user` for each result, then `result`. Other events are omitted: see `stream-json`."""

from __future__ import annotations

import time
from typing import Any

from swecli.headless.writers.base import Writer
from swecli.models.events import (
    Event,
    ReasoningDelta,
    StepRetried,
    StepStarted,
    TextDelta,
    ToolFinished,
    ToolStarted,
    TurnFinished,
    TurnStarted,
    UsageReported,
)
from swecli.models.ids import uuid7
from swecli.models.json_value import dumps
from swecli.models.message import Mode, Usage

# our modes by Claude Code's names
_MODES: dict[Mode, str] = {
    "ask": "default",
    "edits": "acceptEdits",
    "plan": "plan",
    "auto": "bypassPermissions",
}
_SUBTYPES = {  # of a result, by ours
    "success": "success",
    "max_turns": "error_max_turns",
    "max_budget": "error_max_budget_usd",
}


class _ClaudeStreamJson(Writer):
    """Blocks of a step share a message id; a denied call is written before its result like any other."""

    def begin(self) -> None:
        """Begin a turn."""
        super().begin()
        self._model = self._session = self._message = self._thinking = self._text = ""
        self._written_calls: set[str] = set()
        self._sent_at = time.monotonic()  # when the request was sent; 0.0 after its answer
        self._waited = 0.0  # seconds for all answers
        self._usage = Usage()

    def write(self, event: Event) -> None:
        """Write the event, if Claude Code has a message for it."""
        match event:
            case TurnStarted():
                self._session = event.session_id
                self._model = event.model
                self._line(
                    "system",
                    {
                        "subtype": "init",
                        "cwd": self.facts.cwd,
                        "model": event.model,
                        "tools": list(self.facts.tools),
                        "permissionMode": _MODES[self.facts.mode],
                        "slash_commands": [],  # -p runs none
                        "mcp_servers": [],
                    },
                )
            case StepStarted():
                self._message = f"msg_{uuid7()}"
                self._usage = Usage()
                self._sent_at = time.monotonic()
            case StepRetried():
                self._thinking = self._text = ""
            case ReasoningDelta():
                self._thinking += event.text
            case TextDelta():
                self._text += event.text
            case UsageReported() if self._sent_at:  # else it belongs to a task within a call
                self._usage = event.usage
                self._waited += time.monotonic() - self._sent_at
                self._sent_at = 0.0
            case ToolStarted():
                self._call(event)
            case ToolFinished():
                self._call(event)
                block = {
                    "type": "tool_result",
                    "tool_use_id": event.call.id,
                    "content": event.result.for_model,
                }
                content = [block | {"is_error": not event.result.ok}]
                self._line(
                    "user",
                    {"message": {"role": "user", "content": content}, "parent_tool_use_id": None},
                )
            case TurnFinished():
                self._flush()
            case _:
                pass
        super().write(event)

    def answer(self, exit_code: int) -> str:
        """Return the result message."""
        self._flush()
        result = self.turn.result(exit_code)
        denied = [
            {"tool_name": call.name, "tool_use_id": call.id, "tool_input": call.parameters}
            for call in self.turn.denied
        ]
        result |= {
            "duration_api_ms": round(self._waited * 1000),
            "usage": _usage(self.turn.usage),
            "subtype": _SUBTYPES.get(result["subtype"], "error_during_execution"),
            "permission_denials": denied,
        }
        return self._encode("result", result)

    def _call(self, event: ToolStarted | ToolFinished) -> None:
        self._flush()
        call = event.call
        if call.id not in self._written_calls:
            self._written_calls.add(call.id)
            self._assistant(
                {"type": "tool_use", "id": call.id, "name": call.name, "input": call.parameters}
            )

    def _flush(self) -> None:
        if self._thinking:
            self._assistant({"type": "thinking", "thinking": self._thinking, "signature": ""})
        if self._text:
            self._assistant({"type": "text", "text": self._text})
        self._thinking = self._text = ""

    def _assistant(self, block: dict[str, Any]) -> None:
        message = {
            "id": self._message,
            "type": "message",
            "role": "assistant",
            "model": self._model,
            "content": [block],
            "stop_reason": None,
            "stop_sequence": None,
            "usage": _usage(self._usage),
        }
        self._line("assistant", {"message": message, "parent_tool_use_id": None})

    def _line(self, kind: str, fields: dict[str, Any]) -> None:
        self.put(self._encode(kind, fields))

    def _encode(self, kind: str, fields: dict[str, Any]) -> str:
        return dumps({"type": kind} | fields | {"session_id": self._session, "uuid": uuid7()})


def _usage(usage: Usage) -> dict[str, int]:
    """Return tokens by the names of Anthropic's API; `output_tokens` includes thinking."""
    return {
        "input_tokens": usage.input,
        "cache_creation_input_tokens": usage.cache_write,
        "cache_read_input_tokens": usage.cache_read,
        "output_tokens": usage.output + usage.reasoning,
    }


FORMAT = _ClaudeStreamJson
