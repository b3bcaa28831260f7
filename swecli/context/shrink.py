"""Making single messages smaller: old results become stubs, long texts keep their head and tail."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from swecli.context.validate import SIGNED
from swecli.models.message import IMAGES, ApiMessage

_KEPT_RESULTS = 5
_ROOM_FOR_A_RESULT = 4_000  # tokens of what a request may have, for each result that is kept
_WORTH_CLEARING = 300  # characters
# Longest text that is kept, in characters, from one try to the next.
CAPS = (40_000, 20_000, 10_000, 5_000, 2_000, 1_000, 500)

_NOTICE = re.compile(r"\A\[Cut to save room: [^\n]*\]\n")
_CLEARED = "[Cleared to save room: "


def results_kept(limit: int | None) -> int:
    """How many of the newest results stay in a request that may have so many tokens (None: as many as it takes)."""
    return _KEPT_RESULTS if limit is None else min(_KEPT_RESULTS, max(1, limit // _ROOM_FOR_A_RESULT))


def clear_old_results(messages: list[ApiMessage], keep: int = _KEPT_RESULTS) -> tuple[list[ApiMessage], int]:
    """Replace all results but the newest `keep` by stubs that name the call, those of the newest step never; and how
    many were replaced."""
    results = [i for i, message in enumerate(messages) if message["role"] == "tool"]
    step = max((i for i, message in enumerate(messages) if message["role"] == "assistant"), default=len(messages))
    kept = max(0, len(results) - keep)
    out, count = list(messages), 0
    for i in results[:kept]:
        content = messages[i].get("content")
        text = content if i < step and isinstance(content, str) and not content.startswith(_CLEARED) else ""
        if len(text) > _WORTH_CLEARING:
            name = _short(str(messages[i].get("tool_call_id")))
            stub = f"{_CLEARED}a result of {len(text)} characters. read_result {name} gives it back.]"
            out[i], count = messages[i] | {"content": stub}, count + 1
    return out, count


def clear_old_pictures(messages: list[ApiMessage]) -> tuple[list[ApiMessage], int]:
    """Leave out the pictures of all user messages but the newest, each with a line in their place; and how many."""
    newest = max((i for i, message in enumerate(messages) if message["role"] == "user"), default=0)
    old = {i: message for i, message in enumerate(messages[:newest]) if message.get(IMAGES)}
    out = list(messages)
    for i, message in old.items():
        out[i] = message | {IMAGES: [], "content": f"{_CLEARED}its pictures are left out.]\n\n{message['content']}"}
    return out, sum(len(message[IMAGES]) for message in old.values())


def shrink_results(messages: list[ApiMessage], cap: int) -> list[ApiMessage]:
    """Cut every tool result that is longer than `cap` characters down to it."""
    return [_shrunk(m, cap, _short(str(m.get("tool_call_id")))) if m["role"] == "tool" else m for m in messages]


def shrink_answers(messages: list[ApiMessage], cap: int) -> list[ApiMessage]:
    """Cut the assistant's texts, and the texts in its calls' arguments, that are longer than `cap` characters."""
    out = [_shrunk(message, cap) if message["role"] == "assistant" else message for message in messages]
    for i, message in enumerate(out):
        if message["role"] == "assistant" and (calls := message.get("tool_calls")):
            out[i] = message | {"tool_calls": [_shrunk_call(call, cap) for call in calls]}
    return out


def cut(text: str, cap: int, name: str = "") -> str:
    """The text in about `cap` characters (not below 200): a notice, then its head and its tail; never longer. One that
    was cut before is cut again without stacking notices; `name` is the id of the call it belongs to."""
    if len(text) <= cap:
        return text
    cap = max(cap, 200)
    how = f"; read_result {name} reads all of it" if name else ""
    earlier = _NOTICE.match(text)
    notice = earlier[0] if earlier else f"[Cut to save room: {len(text)} characters before{how}]\n"
    body = text[len(notice) :] if earlier else text
    room = max(0, cap - len(notice) - 3)
    tail = room // 3
    shorter = f"{notice}{body[: room - tail]}\n…\n{body[len(body) - tail :]}"
    return shorter if len(shorter) < len(text) else text


def characters(messages: list[ApiMessage]) -> int:
    """Characters of all that is said in the messages, calls included, images left out."""
    return sum(len(text) for message in messages for text in _texts(message))


def _texts(message: ApiMessage) -> Iterator[str]:
    content = message.get("content")
    blocks = content if isinstance(content, list) else [{"text": content}]
    yield from (b["text"] for b in blocks if isinstance(b, dict) and isinstance(b.get("text"), str))
    for call in message.get("tool_calls") or ():
        yield from (call["function"]["name"], call["function"]["arguments"])


def _short(call_id: str) -> str:
    """The id as it is shown: without the signature some services hang on to it, which may be thousands long."""
    return call_id.split(SIGNED, 1)[0]


def _shrunk(message: ApiMessage, cap: int, name: str = "") -> ApiMessage:
    content = message.get("content")
    if isinstance(content, str):
        return message | {"content": cut(content, cap, name)}
    blocks = content if isinstance(content, list) else []
    texts = (isinstance(b, dict) and isinstance(b.get("text"), str) for b in blocks)
    shorter = [b | {"text": cut(b["text"], cap)} if text else b for b, text in zip(blocks, texts, strict=True)]
    return message | {"content": shorter} if blocks else message


def _shrunk_call(call: dict[str, Any], cap: int) -> dict[str, Any]:
    arguments = call["function"]["arguments"]
    if len(arguments) <= cap:
        return call
    try:
        shorter = json.dumps(_shrunk_value(json.loads(arguments), cap), ensure_ascii=False)
    except RecursionError:  # nested deeper than can be walked: it stays as it is
        return call
    return call | {"function": call["function"] | {"arguments": min(shorter, arguments, key=len)}}


def _shrunk_value(value: Any, cap: int) -> Any:
    if isinstance(value, str):
        return cut(value, cap)
    if isinstance(value, dict):
        return {key: _shrunk_value(item, cap) for key, item in value.items()}
    if isinstance(value, list):
        return [_shrunk_value(item, cap) for item in value]
    return value
