"""What one request shows: earlier interactions, the running turn's question, and the calls made in it so far."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from swecli.llm.demo.bullets import Note, notes_in, told_in
from swecli.llm.demo.calls import Call
from swecli.models.message import UNCHANGED, ApiMessage
from swecli.models.model_io import ModelRequest

# What the product puts behind the user's own words: the contents of @files, and the turn's notes.
_ATTACHED = re.compile(r"\n\n(?:Contents of what is mentioned above:\n|<turn_notes>\n).*", re.DOTALL)
_POINTS = re.compile(re.escape(UNCHANGED) + r"this is exactly the result of call (\S+),")


@dataclass(frozen=True, slots=True)
class Made:
    """A call with its id and the text it was answered with (None: no answer in view)."""

    call: Call
    id: str
    result: str | None


@dataclass(frozen=True, slots=True)
class Interaction:
    """One question with the calls made for it and the last thing that was answered."""

    query: str
    made: tuple[Made, ...] = ()
    answer: str = ""
    steps: int = 0


@dataclass(frozen=True, slots=True)
class View:
    """One request, read. `past` holds the completed interactions in view, `now` the running one."""

    past: tuple[Interaction, ...]
    now: Interaction
    notes: tuple[Note, ...] = ()
    tools: frozenset[str] = frozenset()

    def last_file(self) -> str:
        """The file most recently read or changed before this turn, "" for none."""
        newest = (made.call for part in reversed(self.past) for made in reversed(part.made))
        file_tools = ("read_file", "edit_file", "write_file")
        return next((call.path for call in newest if call.name in file_tools and call.path), "")

    def last_command(self) -> str:
        """The command most recently run before this turn, "" for none."""
        newest = (made.call.command for part in reversed(self.past) for made in reversed(part.made))
        return next((command for command in newest if command), "")


def read_request(request: ModelRequest) -> View:
    """Read a request of the OpenAI chat shape. Total: what has an unexpected shape counts as not being there."""
    system = "\n".join(text_of(m.get("content")) for m in request.messages if m.get("role") == "system")
    parts = tuple(interactions(_resolved(request.messages)))
    now = parts[-1] if parts else Interaction("")
    asked = (text_of(m.get("content")) for m in request.messages if m.get("role") == "user")
    return View(parts[:-1], now, told_in(notes_in(system), asked), frozenset(spec.name for spec in request.tools))


def _resolved(messages: Sequence[ApiMessage]) -> list[ApiMessage]:
    """The messages with earlier results in the place of lines that point at them."""
    results: dict[str, Any] = {}
    out: list[ApiMessage] = []
    for message in messages:
        if message.get("role") == "tool":
            found = _POINTS.match(text_of(message.get("content")))
            if found and found[1] in results:
                message = message | {"content": results[found[1]]}
            results[str(message.get("tool_call_id"))] = message.get("content")
        out.append(message)
    return out


def interactions(messages: Sequence[ApiMessage]) -> Iterator[Interaction]:
    """The messages by interaction: each opens with a user message. What stands before the first is left out."""
    group: list[ApiMessage] = []
    for message in messages:
        if message.get("role") == "user" and group:
            yield _interaction(group)
            group = []
        if group or message.get("role") == "user":
            group.append(message)
    if group:
        yield _interaction(group)


def _interaction(group: list[ApiMessage]) -> Interaction:
    results = {str(m.get("tool_call_id")): text_of(m.get("content")) for m in group if m.get("role") == "tool"}
    replies = [m for m in group if m.get("role") == "assistant"]
    made = [_made(call, results) for reply in replies for call in reply.get("tool_calls") or ()]
    texts = [text for reply in replies if (text := text_of(reply.get("content")).strip())]
    steps = sum(1 for reply in replies if reply.get("tool_calls"))
    return Interaction(own_words(text_of(group[0].get("content"))), tuple(made), texts[-1] if texts else "", steps)


def _made(call: Any, results: dict[str, str]) -> Made:
    call = call if isinstance(call, dict) else {}
    function = call.get("function") or {}
    try:
        parameters = json.loads(function.get("arguments") or "{}")
    except (ValueError, TypeError):
        parameters = {}
    call_id = str(call.get("id") or "")
    known = parameters if isinstance(parameters, dict) else {}
    return Made(Call(str(function.get("name") or ""), known), call_id, results.get(call_id))


def text_of(content: Any) -> str:
    """The text of a message's content: a string, a list of blocks, or nothing."""
    if isinstance(content, str):
        return content
    blocks = content if isinstance(content, list) else []
    return "\n".join(str(block.get("text") or "") for block in blocks if isinstance(block, dict))


def own_words(text: str) -> str:
    """The user's message without what the product attached to it."""
    return _ATTACHED.sub("", text).strip() or text.strip()
