"""What a replay assumes about the model, and the requests that it makes of each turn."""

from __future__ import annotations

from dataclasses import dataclass

from swecli.models.context import WindowSpec
from swecli.models.message import ApiMessage


@dataclass(frozen=True, slots=True)
class Assumptions:
    """Assumptions of a replay: the reflection window; the model's `context_window` and largest output in tokens (None:
    unknown); the `ttl` of the provider's cache in seconds after the last request; and the length of a summary, which is
    at most half of its source."""

    window: WindowSpec
    context_window: int
    max_output: int | None = None
    ttl: float = 300.0
    summary_tokens: int = 3_000

    def summary(self, source: int) -> str:
        """Return a placeholder for the summary of `source` tokens."""
        return " text" * max(1, min(self.summary_tokens, source // 2))


@dataclass(frozen=True, slots=True)
class SentRequest:
    """A request: when it was sent (seconds since 1970), its messages, the tokens of its answer, and whether it is for a
    summary."""

    at: float
    messages: list[ApiMessage]
    output: int
    condense: bool = False


@dataclass(frozen=True, slots=True)
class ReplayedTurn:
    """A turn's requests, the number of completed interactions `visible` word for word in the last of them, and the
    number of reductions."""

    number: int
    requests: tuple[SentRequest, ...]
    visible: int
    reductions: int
