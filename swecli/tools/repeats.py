"""Notice repeated calls: loops of a turn, and results that the model has already."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import field

from swecli.models.api_message import calls_of
from swecli.models.approval import Ask, AskRequest
from swecli.models.message import UNCHANGED, ApiMessage, Display, ToolCall
from swecli.values import dataclass

_MAX_CYCLE = 6  # calls
# times in a row that a cycle was called, with equal results
_HINT_AFTER = 2
_ASK_AFTER = 3
# times in a row that one call may be made, whatever its results, before the user is asked
MAX_SAME_CALLS = 10
_WAITING_MS = 1000  # of a call: as long as the shortest that waits for something
_LAST_WARNING = (
    "[Refused: the same calls have the same results again and again, and nobody can be asked whether to go on. Do "
    "something else, or say what is missing: one more round ends this run.]"
)
_LOOP_QUESTION = "It keeps repeating itself. Continue?"
# characters; a shorter result is hardly longer than the notice that would replace it
_MIN_DUPLICATE = 400


def fingerprint(call: ToolCall, result: str = "") -> str:
    """Return a hash of the tool's name, its arguments in any order, and the result."""
    parts = (call.name, _canonical(call.parameters), result)
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _canonical(parameters: object) -> str:
    return json.dumps(parameters, ensure_ascii=False, sort_keys=True, default=str)


def find_cycle(fingerprints: list[str], longest: int = _MAX_CYCLE) -> tuple[int, int]:
    """Return the length of the cycle of 1 to `longest` calls at the end of the list and how many times in a row it
    occurs; (1, 1) if nothing repeats."""
    best = (1, 1)
    for length in range(1, longest + 1):
        cycle = fingerprints[-length:]
        count = 1
        while cycle and fingerprints[-length * (count + 1) : -length * count] == cycle:
            count += 1
        if count > best[1]:
            best = (length, count)
    return best


@dataclass(slots=True)
class LoopGuard:
    """Detects loops in the calls of one turn: the model gets a hint, then the user is asked, then the turn ends. The
    guard has its own list of calls, so that a reduction of the request cannot hide a loop."""

    fingerprints: list[str] = field(default_factory=list)
    _calls: list[ToolCall] = field(default_factory=list)
    _allowed: int = 0  # number of recorded calls when the user last allowed to continue
    _asked_about_results: bool = False
    _is_warned: bool = False  # where nobody can be asked: the next loop ends the turn
    _reply: set[str] = field(default_factory=set)

    def begin_reply(self) -> None:
        """Start another reply. Equal calls within one count once: the model has not seen their results yet."""
        self._reply = set()

    def record(self, call: ToolCall, result: str, *, is_waiting: bool = False) -> str:
        """Record a call. Return a hint to append to its result if it repeats earlier ones, otherwise "". One that waits
        for something that still runs is no repetition, and one that took its time may find something new."""
        if is_waiting:
            return ""
        took_time = (call.duration_ms or 0) >= _WAITING_MS
        current = fingerprint(call, f"{result}\0{len(self._calls)}" if took_time else result)
        if current in self._reply:
            return ""
        self._reply.add(current)
        before = [
            earlier.id
            for earlier, earlier_fingerprint in zip(self._calls, self.fingerprints, strict=True)
            if earlier_fingerprint == current
        ]
        self.fingerprints.append(current)
        self._calls.append(call)
        if not before or find_cycle(self.fingerprints)[1] < _HINT_AFTER:
            return ""
        if self._is_warned:
            return _LAST_WARNING
        return (
            f"[This is the result of call {before[-1]} again: the same call, the same outcome. Repeating it will not "
            "change it. Use what you have, do something else, or say what is missing.]"
        )

    async def may_continue(self, ask: Ask) -> bool:
        """Return whether the turn may continue; asks the user if it loops. A yes is valid until the loop has run as
        often again; then a loop with equal results ends the turn."""
        length, count = find_cycle(self.fingerprints[self._allowed :])
        same_results = count >= _ASK_AFTER
        if same_results and self._asked_about_results:
            return False
        if not same_results:
            without_results = [fingerprint(call) for call in self._calls[self._allowed :]]
            length, count = find_cycle(without_results, 1)
            if count < MAX_SAME_CALLS:
                return True

        call = self._calls[-1]
        same = "result" if same_results else "arguments"
        words = f"{call.name} was called {count} times in a row with the same {same}"
        if length > 1:
            names = ", ".join(dict.fromkeys(call.name for call in self._calls[-length:]))
            words = (
                f"The same {length} calls ({names}) were made {count} times with the same results"
            )
        display = Display(body=f"{words}.")
        request = AskRequest(call, _LOOP_QUESTION, f"Continue repeating {call.name}", display)
        decision = await ask(request)
        self._allowed = len(self.fingerprints)
        if decision.by == "headless" and not decision.allow and not self._is_warned:
            self._is_warned = True
            return True
        if same_results:
            self._asked_about_results = True
        return decision.allow


def unchanged_notice(call: ToolCall, result: str, sent_messages: Iterable[ApiMessage]) -> str:
    """Return the notice that replaces a result which the `sent_messages` already contain in full, otherwise "". The
    call has run all the same, so "unchanged" is a measured fact."""
    if call.effects.origin != "repository" or len(result) < _MIN_DUPLICATE:
        return ""
    parameters = _canonical(call.parameters)
    same_calls: set[str] = set()
    for message in sent_messages:
        for earlier_call in calls_of(message):
            function = earlier_call["function"]
            if function["name"] != call.name:
                continue
            if _canonical(json.loads(function["arguments"])) == parameters:
                same_calls.add(earlier_call["id"])
        call_id = str(message.get("tool_call_id") or "")
        if call_id in same_calls and message.get("content") == result:
            return (
                f"{UNCHANGED}this is exactly the result of call {call_id}, which you have above.]"
            )
    return ""
