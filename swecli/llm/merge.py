"""From the pieces of a stream to one reply."""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Callable, Collection
from dataclasses import dataclass, field, replace
from typing import Any

from swecli.models.message import Blocks, CallDelta, ModelChunk, ModelReply, StopReason, ToolCall, Usage

_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
_EXCERPT = 80


def _mint() -> str:
    return f"call_{secrets.token_hex(8)}"


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
    """Collects chunks; `build` may be called at any time, also for what there is of a stream that was cut.

    `taken` are call ids already used in the session: a call that comes with one of them, with one that was already
    used in this reply, or with none, gets a new one from `mint`.
    """

    def __init__(self, taken: Collection[str] = (), mint: Callable[[], str] = _mint) -> None:
        self._taken = set(taken)
        self._mint = mint
        self.reset()

    def reset(self) -> None:
        """Forget everything that came: the answer begins again."""
        self._text: list[str] = []
        self._reasoning: list[str] = []
        self._slots: list[_Slot] = []
        self.usage: Usage | None = None
        self.cost: float | None = None
        self.stop: StopReason | None = None
        self.blocks: Blocks | None = None
        self.note = ""
        self._refusal: list[str] = []

    def add(self, chunk: ModelChunk) -> None:
        """Take one more piece."""
        self._text.append(chunk.text)
        self._reasoning.append(chunk.reasoning)
        self._refusal.append(chunk.refusal)
        if chunk.call is not None:
            self._add_call(chunk.call)
        self.usage = chunk.usage or self.usage
        self.cost = self.cost if chunk.cost is None else chunk.cost
        self.stop = chunk.stop or self.stop
        self.blocks = chunk.blocks or self.blocks
        self.note = chunk.note or self.note

    def build(self) -> ModelReply:
        """The reply so far. Nothing in a call is repaired: what cannot be read stands in `malformed`."""
        reply = ModelReply(
            text=whole_characters("".join(self._text)),
            reasoning=whole_characters("".join(self._reasoning)),
            usage=self.usage,
            cost=self.cost,
            stop=self.stop or "stop",
            refusal=whole_characters("".join(self._refusal)),
            blocks=self.blocks,
            note=self.note,
        )
        used = set(self._taken)
        for slot in self._slots:
            call_id = self._free_id(slot.id, used)
            used.add(call_id)
            call, problem = _finish(replace(slot, id=call_id))
            reply.calls.append(call)
            if problem:
                reply.malformed[call_id], reply.broken[call_id] = problem, "".join(slot.arguments)
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

    def _free_id(self, wanted: str, used: set[str]) -> str:
        if wanted and wanted.isprintable() and wanted not in used:
            return wanted
        while (fresh := self._mint()) in used:
            pass
        return fresh


def _finish(slot: _Slot) -> tuple[ToolCall, str]:
    """The call, and what is wrong with it ("" for nothing). A name no provider would take back is made harmless."""
    parameters, problem = parse_arguments("".join(slot.arguments))
    if not problem and holds_nul(parameters):
        problem = "they hold a NUL character, which no path, command or text file can hold"
    name = slot.name
    if not _NAME.fullmatch(name):
        problem = f"{name!r} is no tool name"
        name = re.sub(r"[^A-Za-z0-9_-]", "_", name)[:64] or "unnamed"
    return ToolCall(id=slot.id, name=name, parameters=parameters), problem


def parse_arguments(text: str) -> tuple[dict[str, Any], str]:
    """The arguments of a call, and what is wrong with them ("" for nothing). No text at all means no arguments."""
    if not text.strip():
        return {}, ""
    try:
        value = json.loads(text, parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        return {}, f"the arguments are no valid JSON ({error}): {_excerpt(text)}"
    if not isinstance(value, dict):
        return {}, f"the arguments are no JSON object: {_excerpt(text)}"
    return clean_value(value), ""


def _whole(arguments: str) -> bool:
    return arguments.rstrip().endswith("}") and not parse_arguments(arguments)[1]


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def _excerpt(text: str) -> str:
    return text if len(text) <= _EXCERPT else f"{text[: _EXCERPT // 2]} … {text[-_EXCERPT // 2 :]}"


def clean_value(value: Any) -> Any:
    """The same JSON value with whole characters only."""
    if isinstance(value, str):
        return whole_characters(value)
    if isinstance(value, list):
        return [clean_value(item) for item in value]
    if isinstance(value, dict):
        return {whole_characters(key): clean_value(item) for key, item in value.items()}
    return value


def holds_nul(value: Any) -> bool:
    """Whether a JSON value has a NUL in any of its texts. The store would replace it: another thing would be done."""
    if isinstance(value, dict):
        return any("\0" in key or holds_nul(item) for key, item in value.items())
    if isinstance(value, list):
        return any(holds_nul(item) for item in value)
    return isinstance(value, str) and "\0" in value


def whole_characters(text: str) -> str:
    """Surrogate pairs that came in two pieces joined, lone halves replaced by U+FFFD."""
    if text.isascii():
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
