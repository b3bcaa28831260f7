"""Calls that repeat themselves: the model is shown the result it has, then the user is asked, then the turn ends."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass, field

from swecli.models.message import UNCHANGED, ApiMessage, Ask, AskRequest, Display, ToolCall

_LONGEST_CYCLE = 6
_READS = ("read_file", "list_files", "search_files")
_WORTH_IT = 400  # characters; a shorter result is no longer than the line that would stand for it
_HINT, _ASK = 2, 3  # how often a cycle has come when something is done about it
ASK_UNCHANGED = 10  # times that one call is made in a row, whatever comes of it


def canonical(parameters: object) -> str:
    """Arguments as one text, whatever their order."""
    return json.dumps(parameters, ensure_ascii=False, sort_keys=True, default=str)


def fingerprint(call: ToolCall, result: str = "") -> str:
    """Tool, canonical arguments and result as one short text: two equal ones taught the model nothing new."""
    parts = (call.name, canonical(call.parameters), result)
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:16]


def newest_cycle(prints: list[str]) -> tuple[int, int]:
    """The length of the newest cycle of 1 to 6 calls, and how often it has come in a row; (1, 1) for what is new."""
    best = (1, 1)
    for length in range(1, _LONGEST_CYCLE + 1):
        cycle, count = prints[-length:], 1
        while cycle and prints[-length * (count + 1) : -length * count] == cycle:
            count += 1
        if count > best[1]:
            best = (length, count)
    return best


@dataclass(slots=True)
class LoopGuard:
    """Watches the calls of one turn. It keeps its own list, so that no reduction of the request can hide a loop."""

    prints: list[str] = field(default_factory=list)
    made: list[str] = field(default_factory=list)
    calls: list[ToolCall] = field(default_factory=list)
    allowed: int = 0
    answered: bool = False
    _reply: set[str] = field(default_factory=set)

    def begin_reply(self) -> None:
        """Another reply: equal calls within one count once, the model has seen none of their results."""
        self._reply = set()

    def take(self, call: ToolCall, result: str) -> str:
        """Note a call's result; the line for the model to go with it, "" when nothing repeats itself."""
        mark = fingerprint(call, result)
        if mark in self._reply:
            return ""
        self._reply.add(mark)
        before = next((c for c, p in zip(reversed(self.calls), reversed(self.prints), strict=True) if p == mark), None)
        self.prints.append(mark)
        self.made.append(fingerprint(call))
        self.calls.append(call)
        if before is None or newest_cycle(self.prints)[1] < _HINT:
            return ""
        return (
            f"[This is the result of call {before.id} again: the same call, the same outcome. Repeating it will not "
            "change it. Use what you have, do something else, or say what is missing.]"
        )

    async def going_on(self, ask: Ask) -> bool:
        """Whether the turn may go on. The user is asked; a yes holds until it has come as often again. A circle that
        goes on after a yes ends the turn."""
        if (circle := self._circle()) is None:
            return True
        same, words = circle
        if same and self.answered:
            return False
        call = self.calls[-1]
        decision = await ask(
            AskRequest(call, "allow", f"Continue repeating {call.name}", Display(body=f"{words}. Continue?"))
        )
        self.allowed, self.answered = len(self.prints), self.answered or same
        return decision.allow

    def _circle(self) -> tuple[bool, str] | None:
        """What goes round since the user's last yes, in words, and whether its results are the same; None: nothing."""
        length, count = newest_cycle(self.prints[self.allowed :])
        name = self.calls[-1].name if self.calls else ""
        if count >= _ASK:
            names = ", ".join(dict.fromkeys(call.name for call in self.calls[-length:]))
            one = f"{name} was called {count} times in a row with the same result"
            return (
                True,
                one
                if length == 1
                else f"The same {length} calls ({names}) were made {count} times with the same results",
            )
        count = newest_run(self.made[self.allowed :])
        if count >= ASK_UNCHANGED:
            return False, f"{name} was called {count} times in a row with the same arguments"
        return None


def newest_run(made: list[str]) -> int:
    """How often the newest call was made in a row."""
    return next((n for n, one in enumerate(reversed(made)) if one != made[-1]), len(made))


def repeated(call: ToolCall, result: str, sent: Iterable[ApiMessage]) -> str:
    """The line to send in place of a result that the request `sent` holds in full already; "" when it does not.

    The call is made all the same, which costs little: so what is said to be unchanged is unchanged.
    """
    if call.name not in _READS or len(result) < _WORTH_IT:
        return ""
    wanted, made = canonical(call.parameters), dict[str, str]()
    for message in sent:
        for one in message.get("tool_calls") or ():
            if one["function"]["name"] == call.name:
                made[one["id"]] = one["function"]["arguments"]
        known = str(message.get("tool_call_id") or "")
        if known in made and message.get("content") == result and _same(made[known], wanted):
            return f"{UNCHANGED}this is exactly the result of call {known}, which you have above.]"
    return ""


def _same(arguments: str, wanted: str) -> bool:
    try:
        return canonical(json.loads(arguments)) == wanted
    except ValueError:
        return False
