"""Signed thoughts in chat completions, as litellm sends them: joined from their pieces."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from swecli.llm.answer import typed_field


class SignedThoughts:
    """Joins `thinking_blocks`. A signature ends the thought that it signs, and a redacted thought comes whole; one
    without signature is only shown."""

    def __init__(self) -> None:
        self._blocks: list[dict[str, str]] = []
        self._text: list[str] = []  # of a thought that is not signed yet

    def add(self, piece: Mapping[str, Any]) -> None:
        """Add a block, or a piece of one."""
        redacted = typed_field(piece, "data", str)
        if redacted:
            self._blocks.append({"type": "redacted_thinking", "data": redacted})
            self._text.clear()
            return
        self._text.append(typed_field(piece, "thinking", str))
        signature = typed_field(piece, "signature", str)
        if signature:
            text = "".join(self._text)
            self._blocks.append({"type": "thinking", "thinking": text, "signature": signature})
            self._text.clear()

    def blocks(self) -> list[dict[str, str]]:
        """Return the signed and the redacted thoughts, to be sent back unchanged."""
        return list(self._blocks)
