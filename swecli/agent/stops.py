"""When a turn ends before the model says it is done: step limit, cost limit, going round in circles."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass

from swecli.models.events import FinishReason
from swecli.models.message import ToolCall

REPEATS = 3
LONGEST_CYCLE = 3


def fingerprint(call: ToolCall) -> str:
    """Tool, canonical arguments and result as one short text: two equal ones taught the model nothing new."""
    parts = (call.name, json.dumps(call.parameters, sort_keys=True, default=str), call.result or "")
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:16]


def going_round(prints: Sequence[str]) -> bool:
    """Whether the newest calls are one cycle of 1 to 3 calls, made three times in a row."""
    for length in range(1, LONGEST_CYCLE + 1):
        tail = list(prints[-length * REPEATS :])
        if len(tail) == length * REPEATS and tail == tail[:length] * REPEATS:
            return True
    return False


@dataclass(frozen=True, slots=True)
class Stops:
    """The limits of one turn: `max_turns` requests, `max_budget_usd` dollars (None: no limit)."""

    max_turns: int = 50
    max_budget_usd: float | None = None

    def check(self, steps: int, cost: float | None, prints: Sequence[str]) -> FinishReason | None:
        """The reason to stop before the next request, or None. An unknown cost cannot stop anything."""
        if going_round(prints):
            return "loop"
        if steps >= self.max_turns:
            return "max_turns"
        if self.max_budget_usd is not None and cost is not None and cost >= self.max_budget_usd:
            return "max_budget"
        return None
