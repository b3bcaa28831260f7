"""What a replay assumes about the model, and the requests that it makes of each turn."""

from __future__ import annotations

from swecli.models.message import ApiMessage
from swecli.models.window_spec import WindowSpec
from swecli.values import dataclass


@dataclass(frozen=True, slots=True)
class Assumptions:
    """Assumptions of a replay."""

    window: WindowSpec  # the reflection window
    context_window: int  # of the model, in tokens
    max_output: int | None = None  # of the model, in tokens; None: unknown
    ttl: float = 300.0  # of the provider's cache: seconds after the last request
    summary_tokens: int = 3_000  # but at most half of what is summarised

    def summary(self, source: int) -> str:
        """Return a placeholder for the summary of `source` tokens."""
        return " text" * max(1, min(self.summary_tokens, source // 2))


@dataclass(frozen=True, slots=True)
class SentRequest:
    """A request that the replay would have sent."""

    sent_at: float  # seconds since 1970
    messages: list[ApiMessage]
    output: int  # tokens of its answer
    condense: bool = False  # it asks for a summary


@dataclass(frozen=True, slots=True)
class ReplayedTurn:
    """A turn as the replay ran it."""

    number: int
    requests: tuple[SentRequest, ...]
    visible: int  # completed interactions that the last request holds word for word
    reductions: int
