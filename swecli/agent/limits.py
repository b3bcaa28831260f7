"""When a turn ends before the model says it is done: step limit and cost limit."""

from __future__ import annotations

from dataclasses import dataclass

from swecli.models.events import FinishReason


@dataclass(frozen=True, slots=True)
class TurnLimits:
    """The limits of one turn: `max_turns` requests, `max_budget_usd` dollars (None: no limit)."""

    max_turns: int = 50
    max_budget_usd: float | None = None

    def check(self, steps: int, cost: float | None) -> FinishReason | None:
        """The reason to stop before the next request, or None. An unknown cost cannot stop anything."""
        if steps >= self.max_turns:
            return "max_turns"
        if self.max_budget_usd is not None and cost is not None and cost >= self.max_budget_usd:
            return "max_budget"
        return None
