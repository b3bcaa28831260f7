"""Build a reply of the chunks of an answer."""

from __future__ import annotations

import re
import secrets
from collections.abc import Collection
from dataclasses import field
from typing import Any

from swecli.llm.call_arguments import parse_arguments
from swecli.models.message import CallDelta, ModelChunk, ModelReply, ToolCall
from swecli.text import join_surrogates
from swecli.values import dataclass

_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")


@dataclass(slots=True)
class _CallSlot:
    """A tool call under construction."""

    index: int
    id: str = ""
    name: str = ""
    arguments: list[str] = field(default_factory=list)

    def accepts(self, delta: CallDelta) -> bool:
        """Return True if a delta of this index continues this call; some servers send every call as index 0, others
        another id with every delta of one call."""
        if not (delta.name and self.name):
            return True
        if delta.id and self.id:
            return delta.id == self.id
        arguments = "".join(self.arguments)
        if not arguments.rstrip().endswith("}"):
            return True
        _, problem = parse_arguments(arguments)
        return bool(problem)


class ReplyBuilder:
    """Accumulates chunks; `build` may be called at any time, also after a stream was cut off. A call without an id, or
    with one in `used_ids` or used before in this reply, gets a new one."""

    def __init__(self, used_ids: Collection[str] = ()) -> None:
        self._used_ids = set(used_ids)
        self.reset()

    def reset(self) -> None:
        """Discard all chunks: the answer starts again."""
        self._texts: dict[str, list[str]] = {"text": [], "reasoning": [], "refusal": []}
        self._last: dict[str, Any] = {}
        self._slots: list[_CallSlot] = []

    def add(self, chunk: ModelChunk) -> None:
        """Append one chunk."""
        for name, pieces in self._texts.items():
            pieces.append(getattr(chunk, name))
        for name in ("usage", "cost", "stop", "blocks", "note"):
            value = getattr(chunk, name)
            if value not in (None, ""):
                self._last[name] = value
        if chunk.call is not None:
            self._add_call(chunk.call)

    def build(self) -> ModelReply:
        """Return the reply so far. Calls are not repaired: `malformed` has the problem of unreadable ones."""
        texts: dict[str, Any] = {
            name: join_surrogates("".join(pieces)) for name, pieces in self._texts.items()
        }
        # the chat templates of many local models open the thoughts: only their end is in the answer
        thoughts, closing_tag, answer = texts["text"].partition("</think>\n\n")
        if closing_tag and not texts["reasoning"] and "<think>" not in thoughts:
            texts |= {"reasoning": thoughts, "text": answer}
        reply = ModelReply(**texts, **self._last)
        used_ids = set(self._used_ids)
        for slot in self._slots:
            is_usable = slot.id and slot.id.isprintable() and slot.id not in used_ids
            call_id = slot.id if is_usable else f"call_{secrets.token_hex(8)}"
            used_ids.add(call_id)
            arguments = "".join(slot.arguments)
            parameters, problem = parse_arguments(arguments)
            name = slot.name.partition("<|")[0]  # gpt-oss: read_file<|channel|>commentary
            if not _NAME.fullmatch(name):  # every provider would refuse it in the next request
                problem = f"{name!r} is not a tool name"
                name = re.sub(r"[^A-Za-z0-9_-]", "_", name)[:64] or "unnamed"
            reply.calls.append(ToolCall(id=call_id, name=name, parameters=parameters))
            if problem:
                reply.malformed[call_id] = problem
        return reply

    def _add_call(self, delta: CallDelta) -> None:
        slot = next((slot for slot in reversed(self._slots) if slot.index == delta.index), None)
        if slot is None and self._slots and not (delta.id or delta.name):  # some count the pieces
            slot = self._slots[-1]
        if slot is None or not slot.accepts(delta):
            slot = _CallSlot(delta.index)
            self._slots.append(slot)
        slot.id = slot.id or delta.id
        # the name may be split over two deltas, repeated in each, or come behind the arguments
        if delta.name != slot.name and not (slot.name and slot.arguments):
            slot.name += delta.name
        if delta.arguments:
            slot.arguments.append(delta.arguments)
