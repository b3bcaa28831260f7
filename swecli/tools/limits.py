"""Limits on what a model and a terminal get: truncate long text, detect repeated calls, and
select the tools that are offered; imported before the first request, so without pydantic."""

from __future__ import annotations

import hashlib
import json
import sys
from collections import deque
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from swecli.models.message import (
    UNCHANGED,
    ApiMessage,
    Ask,
    AskRequest,
    Display,
    ToolCall,
    ToolSpec,
)
from swecli.text import CONTROL_SEQUENCE, escape_hidden, truncate


def truncate_result(text: str, limit_chars: int, call_id: str) -> tuple[str, bool]:
    """Return `text` in at most `limit_chars` characters, and whether it was truncated. A truncated text is a notice
    (its size, and how to read on), the head, a mark and the tail, cut at line ends where one is near."""
    if len(text) <= limit_chars:
        return text, False
    lines = text.count("\n") + 1
    notice = (
        f"[Long result: {len(text):,} characters, {lines:,} lines. The head and the tail are below. "
        f'Read the rest with read_result(call_id="{call_id}", start_line=...).]\n'
    )
    mark_room = 60
    room = limit_chars - len(notice) - mark_room
    if room < mark_room:
        return notice[: max(0, limit_chars)], True
    head, tail = text[: room * 2 // 3], text[len(text) - (room - room * 2 // 3) :]
    if (end := head.rfind("\n")) > len(head) * 3 // 4:
        head = head[:end]
    if 0 <= (end := tail.find("\n")) < len(tail) // 4:
        tail = tail[end + 1 :]
    return (
        f"{notice}{head}\n[… {len(text) - len(head) - len(tail):,} characters left out …]\n{tail}",
        True,
    )


class HeadTail:
    """Collects text of any length in bounded memory: the first `head` and the last `tail` characters."""

    def __init__(self, head: int = 400_000, tail: int = 600_000) -> None:
        self._head, self._room = list[str](), head
        self._tail, self._limit = deque[str](), tail
        self._excess = -tail
        self.size = 0

    def add(self, text: str) -> None:
        self.size += len(text)
        first, rest = text[: self._room], text[self._room :]
        self._head += [first] if first else []
        self._room -= len(first)
        self._tail.append(rest)
        self._excess += len(rest)
        while self._tail and self._excess >= len(self._tail[0]):
            self._excess -= len(self._tail.popleft())

    def text(self) -> str:
        """Return the collected text, with a mark where the middle is missing."""
        head, tail = "".join(self._head), "".join(self._tail)
        kept = tail[-self._limit :] if self._limit else ""
        left_out = self.size - len(head) - len(kept)
        mark = f"\n[… {left_out:,} characters of output were not kept …]\n" if left_out else ""
        return head + mark + kept


def fit_rows(rows: Iterable[str], limit: int) -> list[str]:
    """Return the first rows with at most `limit` characters in all, line ends included; at least one."""
    fitting, size = list[str](), 0
    for row in rows:
        size += len(row) + 1
        if fitting and size > limit:
            break
        fitting.append(row)
    return fitting


def escape_invalid_bytes(text: str) -> str:
    """Return text decoded with `surrogateescape` with the undecodable bytes as `\\xNN`."""
    return (
        text
        if text.isascii()
        else text.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
    )


def one_line(text: str, limit: int = 160) -> str:
    """Return `text` on one line of at most `limit` characters: line ends become ⏎, hidden characters are escaped."""
    flat = escape_hidden(" ⏎ ".join(line.strip() for line in text.strip().split("\n")), keep="")
    return truncate(flat, limit)


def strip_terminal_codes(output: str) -> str:
    """Return terminal output as plain lines: without colours, and with the last state of a line that was redrawn."""
    plain = CONTROL_SEQUENCE.sub("", output).replace("\r\n", "\n")
    if "\r" not in plain:
        return plain
    return "\n".join(
        next((s for s in reversed(line.split("\r")) if s), "") for line in plain.split("\n")
    )


_MAX_CYCLE = 6  # calls
_HINT_AFTER, _ASK_AFTER = 2, 3  # times in a row that a cycle was called, with equal results
_MAX_SAME_CALLS = (
    10  # times in a row that one call may be made, whatever its results, before the user is asked
)
_LOOP_QUESTION = "It keeps repeating itself. Continue?"
_READ_TOOLS = ("read_file", "list_files", "search_files")
_MIN_DUPLICATE = (
    400  # characters; a shorter result is hardly longer than the notice that would replace it
)


def _fingerprint(call: ToolCall, result: str = "") -> str:
    """Return a hash of the tool's name, its arguments in any order, and the result."""
    parts = (call.name, _canonical(call.parameters), result)
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _canonical(parameters: object) -> str:
    return json.dumps(parameters, ensure_ascii=False, sort_keys=True, default=str)


def _find_cycle(fingerprints: list[str], longest: int = _MAX_CYCLE) -> tuple[int, int]:
    """Return the length of the cycle of 1 to `longest` calls at the end of the list and how many times in a row it
    occurs; (1, 1) if nothing repeats."""
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
    """Detects loops in the calls of one turn: the model gets a hint, then the user is asked, then the turn ends. The
    guard has its own list of calls, so that a reduction of the request cannot hide a loop."""

    fingerprints: list[str] = field(default_factory=list)
    _calls: list[ToolCall] = field(default_factory=list)
    _allowed: int = 0  # number of recorded calls when the user last allowed to continue
    _asked_about_results: bool = False
    _reply: set[str] = field(default_factory=set)

    def begin_reply(self) -> None:
        """Start another reply. Equal calls within one count once: the model has not seen their results yet."""
        self._reply = set()

    def record(self, call: ToolCall, result: str) -> str:
        """Record a call. Return a hint to append to its result if it repeats earlier ones, otherwise ""."""
        current = _fingerprint(call, result)
        if current in self._reply:
            return ""
        self._reply.add(current)
        before = [
            known.id
            for known, made in zip(self._calls, self.fingerprints, strict=True)
            if made == current
        ]
        self.fingerprints.append(current)
        self._calls.append(call)
        if not before or _find_cycle(self.fingerprints)[1] < _HINT_AFTER:
            return ""
        return (
            f"[This is the result of call {before[-1]} again: the same call, the same outcome. Repeating it will not "
            "change it. Use what you have, do something else, or say what is missing.]"
        )

    async def may_continue(self, ask: Ask) -> bool:
        """Return whether the turn may continue; asks the user if it loops. A yes is valid until the loop has run as
        often again; then a loop with equal results ends the turn."""
        length, count = _find_cycle(self.fingerprints[self._allowed :])
        same = count >= _ASK_AFTER
        if not same:
            length, count = _find_cycle(
                [_fingerprint(call) for call in self._calls[self._allowed :]], 1
            )
            if count < _MAX_SAME_CALLS:
                return True
        elif self._asked_about_results:
            return False
        call = self._calls[-1]
        words = f"{call.name} was called {count} times in a row with the same {'result' if same else 'arguments'}"
        if length > 1:
            names = ", ".join(dict.fromkeys(one.name for one in self._calls[-length:]))
            words = (
                f"The same {length} calls ({names}) were made {count} times with the same results"
            )
        shown = Display(body=f"{words}.")
        decision = await ask(
            AskRequest(call, _LOOP_QUESTION, f"Continue repeating {call.name}", shown)
        )
        self._allowed, self._asked_about_results = (
            len(self.fingerprints),
            self._asked_about_results or same,
        )
        return decision.allow


def unchanged_notice(call: ToolCall, result: str, sent: Iterable[ApiMessage]) -> str:
    """Return the notice that replaces a result which the request `sent` already contains in full, otherwise "". The
    call has run all the same, so "unchanged" is a measured fact."""
    if call.name not in _READ_TOOLS or len(result) < _MIN_DUPLICATE:
        return ""
    wanted, same_calls = _canonical(call.parameters), set[str]()
    for message in sent:
        for one in message.get("tool_calls") or ():
            if (
                one["function"]["name"] == call.name
                and _canonical(json.loads(one["function"]["arguments"])) == wanted
            ):
                same_calls.add(one["id"])
        call_id = str(message.get("tool_call_id") or "")
        if call_id in same_calls and message.get("content") == result:
            return (
                f"{UNCHANGED}this is exactly the result of call {call_id}, which you have above.]"
            )
    return ""


_LEAN = ("edit_file", "read_file", "run_command", "search_files", "write_file")
_NOT_LEAN = (
    "background"  # a parameter: output of background commands is read with a tool that is not lean
)
_ENTRIES = "*.dist-info/entry_points.txt"
_SCHEMAS = Path(__file__).with_name("schemas.json")


def lean_specs(specs: Iterable[ToolSpec]) -> list[ToolSpec]:
    """Return what a model with a small window gets: the essential tools, each described in one sentence."""
    return [
        ToolSpec(spec.name, _sentence(spec.description), _bare(spec.parameters))
        for spec in specs
        if spec.name in _LEAN
    ]


def usable_specs(
    specs: Iterable[ToolSpec], *, more: bool, skills: Collection[str]
) -> list[ToolSpec]:
    """Drop `recall` unless there are `more` strategies than the prompt has, and `skill` if there are no `skills`."""
    return [
        spec
        for spec in specs
        if (more or spec.name != "recall") and (skills or spec.name != "skill")
    ]


def _sentence(text: str) -> str:
    return text.partition("\n")[0].partition(". ")[0].rstrip(".") + "."


def _bare(schema: Any) -> Any:
    """Return a schema without descriptions and without `background`."""
    if isinstance(schema, list):
        return [_bare(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    kept = {
        name: part
        for name, part in schema.items()
        if name != "description" or isinstance(part, dict)
    }
    return {name: _bare(part) for name, part in kept.items() if name != _NOT_LEAN}


def bundled_specs() -> list[ToolSpec] | None:
    """Return the specifications, sorted by name; None if an installed package may add tools."""
    if any(
        b"swecli.tools" in file.read_bytes()
        for folder in sys.path
        for file in Path(folder or ".").glob(_ENTRIES)
    ):
        return None
    functions = [spec["function"] for spec in json.loads(_SCHEMAS.read_bytes())]
    return [ToolSpec(spec["name"], spec["description"], spec["parameters"]) for spec in functions]
