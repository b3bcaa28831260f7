"""Extract JSON values from model output: surrounded by prose or code fences, with syntax errors, or truncated. Invalid
values are delimited by one scan and passed to json-repair."""

from __future__ import annotations

import ast
import json
import re
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

_MOST_TRIES = 2_000  # opening brackets tried per text
_DEEPEST = 60
_CALL = (
    "tool_calls",
    "function_call",
    "function",
    "arguments",
    "parameters",
)  # from the outside to the inside
_CALL_FIELDS = {*_CALL, "name", "id", "index", "type", "role", "content"}
_AROUND = re.compile(r"\A\s*```\w*\s*\n|\n\s*```\s*\Z|(?:\s*<\|[^|<>]*\|>)+\s*\Z")
_FINAL_COMMA = re.compile(r'(?P<string>"(?:[^"\\]|\\.)*")|,(?=\s*[}\]])', re.DOTALL)
_OPENS = re.compile(r"[\[{]")
_CLOSES = {"{": "}", "[": "]"}
# A quote closes a string only before a delimiter, since models forget to escape quotes inside. A closing code fence
# ends the value, unless the fence was opened inside a string.
_MARKS = re.compile(
    r"""
    (?P<fence>^[ \t]*```) | //[^\n]* | /\*.*?\*/ | (?P<mark>[\[\]{},])
    | (?P<quote>["'])
      (?> \\. | (?!(?P=quote)(?=\s*(?:[,:}\]=/\#]|\Z)))[^\n\\] | \n[ \t]*```[A-Za-z].*?\n[ \t]*``` | \n(?![ \t]*```) )*
      (?P<end>(?P=quote)?)
    """,
    re.VERBOSE | re.MULTILINE | re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class Found:
    """A JSON value found at `start` to `end`. `repaired` if it was not valid JSON, `cut` if its end is missing."""

    value: Any
    repaired: bool = False
    cut: bool = False
    start: int = 0
    end: int = 0


def parse_unambiguously(text: str) -> Any:
    """Parse JSON, also with faults that leave one reading only: the value twice or {} before it, line breaks in
    strings, commas before a closing bracket, a code fence or special tokens around it, a Python literal in its place.
    Nothing else is guessed: what is parsed here may be written to a file. Raises ValueError."""
    with suppress(ValueError):
        return _parse_repeated(text)
    bare = _AROUND.sub("", text)
    plain = _FINAL_COMMA.sub(lambda match: match["string"] or "", bare)
    try:
        return json.loads(plain, strict=False)
    except ValueError as error:
        try:
            return ast.literal_eval(bare.strip())
        except (ValueError, SyntaxError, MemoryError):
            raise error from None


def _parse_repeated(text: str) -> Any:
    """Parse JSON, also if a gateway sends the value twice, or {} before it. Raises ValueError."""
    value: Any = {}
    while text := text.strip():
        found, end = json.JSONDecoder().raw_decode(text)
        if value and found not in ({}, value):
            raise ValueError("two values in a row")
        value, text = value or found, text[end:]
    return value


def find_json_values(text: str) -> list[Found]:
    """Return all outermost objects and arrays in a text, in order; of a tool call that was written as text, its
    arguments. Never raises."""
    found: list[Found] = []
    at = 0
    for _ in range(_MOST_TRIES):
        opens = _OPENS.search(text, at)
        if opens is None:
            break
        try:
            read, end = json.JSONDecoder().raw_decode(text, opens.start())
            value: Found | None = Found(read, start=opens.start(), end=end)
        except (ValueError, RecursionError):
            value = _repaired(text, opens.start())
        if value is not None:
            found.append(_unwrap_call(value))
        at = value.end if value is not None else opens.end()
    return found


def _unwrap_call(found: Found) -> Found:
    """Return the arguments in place of a call, in the forms of common chat templates and services."""
    inner, arguments = found.value, None
    for key in _CALL:
        inner = inner[0] if isinstance(inner, list) and len(inner) == 1 else inner
        if (
            isinstance(inner, dict)
            and inner.keys() <= _CALL_FIELDS
            and not isinstance(inner.get(key, ""), str)
        ):
            inner = arguments = inner[key]
    text = inner.get("arguments", inner.get("parameters")) if isinstance(inner, dict) else None
    if isinstance(text, str) and inner.keys() <= _CALL_FIELDS:
        return next(
            (replace(one, start=found.start, end=found.end) for one in find_json_values(text)),
            found,
        )
    return found if arguments is None else replace(found, value=arguments)


def _repaired(text: str, at: int) -> Found | None:
    """Repair the value that starts at `at`; a truncated one is cut after its last complete element."""
    open_ones = whole_open = ""
    whole, end = at, len(text)  # of its last complete element, and of the value
    for match in _MARKS.finditer(text, at):
        fence = (
            _MARKS.match(text, match.end() + 1) if match["quote"] and not match["end"] else match
        )
        if fence and fence["fence"]:
            end = fence.end()  # the surrounding code block ends first
        if fence is not match or fence["fence"]:
            break
        mark = match["mark"]
        if not mark:
            continue
        open_ones = (
            open_ones + mark if mark in _CLOSES else open_ones if mark == "," else open_ones[:-1]
        )
        whole, whole_open = (match.start() if mark == "," else match.end()), open_ones
        if not open_ones or len(open_ones) > _DEEPEST:
            end = match.end()
            break
    if len(whole_open) > _DEEPEST:
        return None
    # late: 0.1 s, rarely needed
    import json_repair

    source = text[at:whole] + "".join(_CLOSES[mark] for mark in reversed(whole_open))
    try:
        value = json_repair.loads(source, skip_json_loads=True)
    except (ValueError, RecursionError):
        return None
    return (
        Found(value, True, bool(whole_open), at, max(end, at + 1))
        if isinstance(value, (dict, list))
        else None
    )
