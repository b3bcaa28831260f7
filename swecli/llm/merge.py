"""From the pieces of a stream to one reply."""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any

from swecli.models.message import CallDelta, ModelChunk, ModelReply, ToolCall

_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
_EXCERPT = 80


@dataclass(slots=True)
class _Slot:
    """A call in the making."""

    index: int
    id: str = ""
    name: str = ""
    arguments: list[str] = field(default_factory=list)

    def goes_on(self, delta: CallDelta) -> bool:
        """Whether a piece under its index is part of it: some servers give every parallel call the index 0."""
        if delta.id and self.id and delta.id != self.id:
            return False
        return not (delta.name and self.arguments) or delta.id == self.id != "" or not _whole("".join(self.arguments))


class ReplyBuilder:
    """Collects chunks; `build` may be called at any time, also for what there is of a stream that was cut. A call that
    comes with an id in `taken`, with one used in this reply already, or with none, gets a new one."""

    def __init__(self, taken: Collection[str] = ()) -> None:
        self._taken = set(taken)
        self.reset()

    def reset(self) -> None:
        """Forget everything that came: the answer begins again."""
        self._texts: dict[str, list[str]] = {"text": [], "reasoning": [], "refusal": []}
        self._last: dict[str, Any] = {}
        self._slots: list[_Slot] = []

    def add(self, chunk: ModelChunk) -> None:
        """Take one more piece."""
        for name, pieces in self._texts.items():
            pieces.append(getattr(chunk, name))
        for name in ("usage", "cost", "stop", "blocks", "note"):
            if (value := getattr(chunk, name)) not in (None, ""):
                self._last[name] = value
        if chunk.call is not None:
            self._add_call(chunk.call)

    def build(self) -> ModelReply:
        """The reply so far. Nothing in a call is repaired: what cannot be read stands in `malformed`."""
        texts: dict[str, Any] = {name: _whole_characters("".join(pieces)) for name, pieces in self._texts.items()}
        reply = ModelReply(**texts, **self._last)
        used = set(self._taken)
        for slot in self._slots:
            free = slot.id and slot.id.isprintable() and slot.id not in used
            call_id = slot.id if free else f"call_{secrets.token_hex(8)}"
            used.add(call_id)
            arguments = "".join(slot.arguments)
            parameters, problem = parse_arguments(arguments)
            name = slot.name
            if not _NAME.fullmatch(name):  # no provider would take it back
                problem = f"{name!r} is not a tool name"
                name = re.sub(r"[^A-Za-z0-9_-]", "_", name)[:64] or "unnamed"
            reply.calls.append(ToolCall(id=call_id, name=name, parameters=parameters))
            if problem:
                reply.malformed[call_id], reply.broken[call_id] = problem, arguments
        return reply

    def _add_call(self, delta: CallDelta) -> None:
        slot = next((s for s in reversed(self._slots) if s.index == delta.index), None)
        if slot is None or not slot.goes_on(delta):
            slot = _Slot(delta.index)
            self._slots.append(slot)
        slot.id = slot.id or delta.id
        if delta.name != slot.name and not slot.arguments:  # a name may come in two pieces, or whole in each
            slot.name += delta.name
        if delta.arguments:
            slot.arguments.append(delta.arguments)


def parse_arguments(text: str) -> tuple[dict[str, Any], str]:
    """The arguments of a call, and what is wrong with them ("" for nothing). No text at all means no arguments."""
    excerpt = text if len(text) <= _EXCERPT else f"{text[: _EXCERPT // 2]} … {text[-_EXCERPT // 2 :]}"
    try:
        value = json.loads(text, parse_constant=_no_constant) if text.strip() else {}
    except (ValueError, RecursionError) as error:
        return {}, f"the arguments are not valid JSON ({error}): {excerpt}"
    if not isinstance(value, dict):
        return {}, f"the arguments are no JSON object: {excerpt}"
    try:
        return _clean(value), ""
    except ValueError as error:
        return {}, str(error)


def _whole(arguments: str) -> bool:
    return arguments.rstrip().endswith("}") and not parse_arguments(arguments)[1]


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def _clean(value: Any) -> Any:
    """The same JSON value with whole characters only. Raises ValueError for a NUL: the store would replace it, and
    another thing would be done."""
    if isinstance(value, str):
        if "\0" in value:
            raise ValueError("they hold a NUL character, which no path, command or text file can hold")
        return _whole_characters(value)
    if isinstance(value, list):
        return [_clean(item) for item in value]
    if isinstance(value, dict):
        return {_clean(key): _clean(item) for key, item in value.items()}
    return value


def _whole_characters(text: str) -> str:
    """Surrogate pairs that came in two pieces joined, lone halves replaced by U+FFFD."""
    return text if text.isascii() else text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
