"""Whether a stream really ended: what the service said, not what litellm fills in when it said nothing."""

from __future__ import annotations

from typing import Any

from swecli.models.message import StopReason

_STOPS: dict[str, StopReason] = {
    "tool_calls": "tool_calls",
    "function_call": "tool_calls",
    "length": "length",
    "max_tokens": "length",
    "content_filter": "content_filter",
    "refusal": "content_filter",
}
_GOOGLE = ("gemini", "vertex_ai", "vertex_ai_beta")


class Ending:
    """Watches one of litellm's streams for the end the service announces."""

    def __init__(self, stream: Any, provider: str) -> None:
        self._stream = stream
        self._google = provider in _GOOGLE
        self._said = False
        self._watching = False

    async def attach(self) -> None:
        """Begin to watch; before the first piece is read.

        Google's pieces all look like last ones once litellm has read them, so there the raw ones are looked at.
        """
        if not self._google:
            return
        if getattr(self._stream, "completion_stream", None) is None:
            await self._stream.fetch_stream()
        pieces = self._stream.completion_stream
        parse = getattr(pieces, "chunk_parser", None)
        if parse is None:
            return

        def spying(chunk: dict[str, Any]) -> Any:
            self._said = self._said or any(c.get("finishReason") for c in chunk.get("candidates") or ())
            return parse(chunk)

        pieces.chunk_parser = spying
        self._watching = True

    def reason(self) -> StopReason | None:
        """Why the answer ended; None when the service did not say that it did."""
        said = getattr(self._stream, "received_finish_reason", None)
        if said is None and self._google and (self._said or not self._watching):
            said = getattr(self._stream, "intermittent_finish_reason", None)
        return None if said is None else _STOPS.get(str(said), "stop")
