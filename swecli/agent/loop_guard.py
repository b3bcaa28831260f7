"""A model that goes round in circles: it is told, then the user is asked, then the turn ends."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field

from swecli.models.message import Ask, AskRequest, Display, ToolCall

LONGEST_CYCLE = 3
TOLD, ASKED = 2, 3  # how often a cycle has come when something is done about it


def fingerprint(call: ToolCall, result: str) -> str:
    """Tool, canonical arguments and result as one short text: two equal ones taught the model nothing new."""
    parts = (call.name, json.dumps(call.parameters, sort_keys=True, default=str), result)
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:16]


def times(prints: list[str]) -> int:
    """How often the newest cycle of 1 to 3 calls has come in a row; 1 for one that is new."""
    most = 1
    for length in range(1, LONGEST_CYCLE + 1):
        cycle, count = prints[-length:], 1
        while cycle and prints[-length * (count + 1) : -length * count] == cycle:
            count += 1
        most = max(most, count)
    return most


@dataclass(slots=True)
class LoopGuard:
    """Watches the calls of one turn. It keeps its own list, so that no reduction of the request can hide a loop."""

    prints: list[str] = field(default_factory=list)
    calls: list[ToolCall] = field(default_factory=list)
    forgiven: int = 0

    def take(self, call: ToolCall, result: str) -> str:
        """Note a call's result; the line for the model to go with it, "" when nothing repeats itself."""
        mark = fingerprint(call, result)
        before = next((c for c, p in zip(reversed(self.calls), reversed(self.prints), strict=True) if p == mark), None)
        self.prints.append(mark)
        self.calls.append(call)
        if before is None or times(self.prints) < TOLD:
            return ""
        return (
            f"[This is the result of call {before.id} again: the same call, the same outcome. Repeating it will not "
            "change it. Use what you have, do something else, or say what is missing.]"
        )

    async def going_on(self, ask: Ask) -> bool:
        """Whether the turn may go on. The user is asked once; a yes holds until the circle has come as often again."""
        count = times(self.prints[self.forgiven :])
        if count < ASKED:
            return True
        if self.forgiven:
            return False
        call = self.calls[-1]
        words = f"{call.name} was called {count} times in a row with the same result. Let it go on?"
        decision = await ask(AskRequest(call, "allow", f"Go on repeating {call.name}", Display(body=words)))
        self.forgiven = len(self.prints)
        return decision.allow
