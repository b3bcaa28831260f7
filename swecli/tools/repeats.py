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


def _canonical(parameters: object) -> str:
    """Arguments as one text, whatever their order."""
    return json.dumps(parameters, ensure_ascii=False, sort_keys=True, default=str)


def fingerprint(call: ToolCall, result: str = "") -> str:
    """Tool, canonical arguments and result as one short text: two equal ones taught the model nothing new."""
    parts = (call.name, _canonical(call.parameters), result)
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:16]


def find_cycle(fingerprints: list[str], longest: int = _LONGEST_CYCLE) -> tuple[int, int]:
    """The length of the newest cycle of 1 to `longest` calls, and how often it has come in a row; (1, 1) for what is
    new."""
    best = (1, 1)
    for length in range(1, longest + 1):
        cycle, count = fingerprints[-length:], 1
        while cycle and fingerprints[-length * (count + 1) : -length * count] == cycle:
            count += 1
        if count > best[1]:
            best = (length, count)
    return best


@dataclass(slots=True)
class LoopGuard:
    """Watches the calls of one turn. It keeps its own list, so that no reduction of the request can hide a loop."""

    fingerprints: list[str] = field(default_factory=list)
    _calls: list[ToolCall] = field(default_factory=list)
    _allowed: int = 0
    _answered: bool = False
    _reply: set[str] = field(default_factory=set)

    def begin_reply(self) -> None:
        """Another reply: equal calls within one count once, the model has seen none of their results."""
        self._reply = set()

    def record(self, call: ToolCall, result: str) -> str:
        """Note a call's result; the line for the model to go with it, "" when nothing repeats itself."""
        mark = fingerprint(call, result)
        if mark in self._reply:
            return ""
        self._reply.add(mark)
        before = [known.id for known, made in zip(self._calls, self.fingerprints, strict=True) if made == mark]
        self.fingerprints.append(mark)
        self._calls.append(call)
        if not before or find_cycle(self.fingerprints)[1] < _HINT:
            return ""
        return (
            f"[This is the result of call {before[-1]} again: the same call, the same outcome. Repeating it will not "
            "change it. Use what you have, do something else, or say what is missing.]"
        )

    async def may_continue(self, ask: Ask) -> bool:
        """Whether the turn may go on. The user is asked; a yes holds until it has come as often again. A circle that
        goes on after a yes ends the turn."""
        length, count = find_cycle(self.fingerprints[self._allowed :])
        same = count >= _ASK
        if not same:
            length, count = find_cycle([fingerprint(call) for call in self._calls[self._allowed :]], 1)
            if count < ASK_UNCHANGED:
                return True
        elif self._answered:
            return False
        call = self._calls[-1]
        words = f"{call.name} was called {count} times in a row with the same {'result' if same else 'arguments'}"
        if length > 1:
            names = ", ".join(dict.fromkeys(one.name for one in self._calls[-length:]))
            words = f"The same {length} calls ({names}) were made {count} times with the same results"
        shown = Display(body=f"{words}. Continue?")
        decision = await ask(AskRequest(call, "allow", f"Continue repeating {call.name}", shown))
        self._allowed, self._answered = len(self.fingerprints), self._answered or same
        return decision.allow


def unchanged_notice(call: ToolCall, result: str, sent: Iterable[ApiMessage]) -> str:
    """The line to send in place of a result that the request `sent` holds in full already; "" when it does not. The
    call is made all the same: so what is said to be unchanged is unchanged."""
    if call.name not in _READS or len(result) < _WORTH_IT:
        return ""
    wanted, made = _canonical(call.parameters), set[str]()
    for message in sent:
        for one in message.get("tool_calls") or ():
            if one["function"]["name"] == call.name and _canonical(json.loads(one["function"]["arguments"])) == wanted:
                made.add(one["id"])
        known = str(message.get("tool_call_id") or "")
        if known in made and message.get("content") == result:
            return f"{UNCHANGED}this is exactly the result of call {known}, which you have above.]"
    return ""
