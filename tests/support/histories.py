"""Hypothesis strategies for valid and arbitrary histories, and a validator that shares no code with the product."""

from __future__ import annotations

import json
import re
from typing import Any

from hypothesis import strategies as st

Message = Any  # not typed: invalid ones are made too

NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")


def complaint(messages: list[Message]) -> str:
    """Return the error of a strict service for a history, or "" if the history is valid."""
    body = [m for m in messages if m["role"] != "system"]
    if [m["role"] for m in messages].count("system") > 1 or (
        messages and body and body != messages[-len(body) :]
    ):
        return "the system message is not one and first"
    if body and body[0]["role"] != "user":
        return f"opens with {body[0]['role']}"
    seen: set[str] = set()
    at = 0
    previous = ""
    while at < len(body):
        message = body[at]
        role = message["role"]
        if role not in ("user", "assistant"):
            return f"{role} at {at} answers nothing"
        if role == previous:
            return f"two {role} messages in a row"
        at += 1
        previous = role
        calls = message.get("tool_calls", [])
        if problem := _message_error(message, calls, seen):
            return problem
        for call in calls:
            if (
                at >= len(body)
                or body[at].get("tool_call_id") != call["id"]
                or body[at]["role"] != "tool"
            ):
                return f"call {call['id']} is not answered in its place"
            if not isinstance(body[at]["content"], (str, list)):
                return "a result without content"
            at += 1
            previous = "tool"
    return _text_error(messages)


def _message_error(message: Message, calls: list[Any], seen: set[str]) -> str:
    content = message.get("content")
    if "tool_calls" in message and (message["role"] != "assistant" or not calls):
        return "tool_calls where there are none"
    if (
        not calls
        and not (isinstance(content, list) and content)
        and not (isinstance(content, str) and content.strip())
    ):
        return f"an empty {message['role']} message"
    for call in calls:
        if not isinstance(call["id"], str) or not call["id"] or call["id"] in seen:
            return f"id {call['id']!r} is empty or taken"
        seen.add(call["id"])
        if not NAME.fullmatch(call["function"]["name"]):
            return f"name {call['function']['name']!r}"
        if not isinstance(json.loads(call["function"]["arguments"]), dict):
            return "arguments are no object"
    return ""


def _text_error(value: Any) -> str:
    if isinstance(value, str):
        bad = any("\ud800" <= char <= "\udfff" or char == "\x00" for char in value)
        return "text that is not UTF-8, or NUL" if bad else ""
    parts = (
        [*value.keys(), *value.values()]
        if isinstance(value, dict)
        else value
        if isinstance(value, list)
        else []
    )
    return next((problem for part in parts if (problem := _text_error(part))), "")


def call(call_id: str, name: str = "read_file", arguments: Any = "{}") -> Message:
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}


def result(call_id: str, text: str = "ok") -> Message:
    return {"role": "tool", "tool_call_id": call_id, "content": text}


texts = st.one_of(
    st.text(max_size=12),
    st.sampled_from(["", "  ", "\x00", "\ud800 half", "\udfff", "漢字", "a" * 50, "{", "NaN"]),
)
ids = st.sampled_from(["a", "b", "c", "a-2", "", "x y", "\ud800", "i" * 60])
arguments = st.one_of(
    st.sampled_from(
        [
            "{}",
            '{"a": 1}',
            "[]",
            "",
            '{"a": NaN}',
            '{"a": "\\ud800"}',
            '{"a": "\\u0000"}',
            '{"cut": "o',
        ]
    ),
    texts,
)
calls = st.builds(
    call, ids, st.one_of(st.sampled_from(["read_file", "", "two words"]), texts), arguments
)
contents = st.one_of(texts, st.none())
wild_messages = st.one_of(
    st.builds(lambda t: {"role": "system", "content": t}, texts),
    st.builds(lambda t: {"role": "user", "content": t}, contents),
    st.builds(lambda t: {"role": "assistant", "content": t}, contents),
    st.builds(
        lambda t, c: {"role": "assistant", "content": t, "tool_calls": c},
        contents,
        st.lists(calls, max_size=3),
    ),
    st.builds(lambda i, t: {"role": "tool", "tool_call_id": i, "content": t}, ids, contents),
)
wild_histories = st.lists(wild_messages, max_size=14)


@st.composite
def legal_histories(draw: st.DrawFn, longest: int = 60, turns: int = 5) -> list[Message]:
    """Draw a history of a system message and whole turns, the last of which may be unfinished. Texts have up to
    `longest` characters."""
    short = st.text(st.sampled_from("ab c\n漢"), min_size=1, max_size=8).filter(
        lambda t: bool(t.strip())
    )
    words = st.builds(
        lambda text, times: text * times, short, st.sampled_from([1, 1, 1, max(1, longest // 8)])
    )
    out: list[Message] = [{"role": "system", "content": draw(words)}]
    count = draw(st.integers(1, turns))
    number = 0
    for turn in range(count):
        out.append({"role": "user", "content": draw(words)})
        steps = draw(st.integers(0, 4))
        for _ in range(steps):
            names = [f"c{number + n}" for n in range(draw(st.integers(1, 3)))]
            number += len(names)
            asked = [
                call(name, arguments=json.dumps({"path": draw(words)}, ensure_ascii=False))
                for name in names
            ]
            out.append(
                {
                    "role": "assistant",
                    "content": draw(st.one_of(st.none(), words)),
                    "tool_calls": asked,
                }
            )
            out += [result(name, draw(words)) for name in names]
        if draw(st.booleans()) or (turn < count - 1 and not steps):
            out.append({"role": "assistant", "content": draw(words)})
    return out
