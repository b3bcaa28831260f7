"""Tool calls that stand in the text of an answer: the chat templates of local models write them there, and not every
server reads them back. No template is known by name; what counts is marked by tags or special tokens, names an offered
tool, gives the arguments that this tool takes, and ends the answer."""

from __future__ import annotations

import json
import re
import secrets
from bisect import bisect
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from swecli.models.message import ModelReply, ToolCall, ToolSpec

# Special tokens (`<|name|>`, DeepSeek's wide bars), tokens in brackets, and tags.
_MARK = re.compile(
    r"<[|｜][^<>]*[|｜]>|\[/?[A-Z]+(?:_[A-Z]+)+\]|</?[A-Za-z][\w:.-]*(?:[ =][^<>\n]*)?>"
)
_WORD = re.compile(r"[^\W\d_]+")
_MOST_WORDS = (
    3  # between two marks, as in gpt-oss's `commentary to=functions.`; a sentence has more
)
# <parameter=path>x</parameter>, <parameter name="path">x</parameter>
_TAGGED = re.compile(
    r"<(?P<tag>\w+)(?:=|\s+name\s*=\s*)[\"']?(?P<key>[\w.-]+)[\"']?\s*>(?P<value>.*?)</(?P=tag)>",
    re.DOTALL,
)
# <arg_key>path</arg_key><arg_value>x</arg_value>
_PAIRED = re.compile(
    r"<(?P<tag>\w+)_key>(?P<key>[^<>]+)</(?P=tag)_key>\s*<(?P=tag)_value>(?P<value>.*?)</(?P=tag)_value>",
    re.DOTALL,
)
_NEAR = 200  # characters from a mark to the name: some other marks and three words
# {"name": after a mark: a call, also if no such tool is offered
_NAMED = re.compile(r'\s*\[?\s*\{\s*"name"\s*:')
_FENCE = re.compile(r"^[ \t]*```", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class WrittenCalls:
    """What was found in an answer: the text before it, and the calls; none if it looks like a call and is not a
    well-formed one of an offered tool."""

    text: str
    calls: tuple[ToolCall, ...] = ()


@dataclass(frozen=True, slots=True)
class _Span:
    start: int
    end: int
    call: ToolCall


def find_written_calls(text: str, tools: Sequence[ToolSpec]) -> WrittenCalls | None:
    """Return the calls at the end of a text, None if nothing looks like one."""
    offered = {tool.name: tool for tool in tools}
    if not offered or not text.strip():
        return None
    bare = _bare_call(text, offered)
    if bare is not None:
        return WrittenCalls("", (bare,))
    start = _first_mark_of_a_call(text, offered)
    if start is None:
        return None
    spans = list(_spans(text, start, offered))
    between = []
    at = start
    for span in spans:
        between.append(text[at : span.start])
        at = span.end
    ends_with_call = not _WORD.search(_MARK.sub("", text[at:]))
    if spans and ends_with_call and all(map(_is_filling, between)):
        return WrittenCalls(text[:start].rstrip(), tuple(span.call for span in spans))
    return WrittenCalls(text) if _looks_like_call(text[start:]) else None


def take_written_calls(reply: ModelReply, tools: Sequence[ToolSpec]) -> ModelReply:
    """Return a reply with the calls that its text holds as calls, if it has no others."""
    found = None if reply.calls else find_written_calls(reply.text, tools)
    if found is None or not found.calls:
        return reply
    calls = list(found.calls)
    return replace(reply, text=found.text, calls=calls, stop="tool_calls", wrote_calls=True)


def _bare_call(text: str, offered: Mapping[str, ToolSpec]) -> ToolCall | None:
    """Return the call that an answer consists of, without any mark."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return _named_call(value, offered)


def _named_call(value: Any, offered: Mapping[str, ToolSpec]) -> ToolCall | None:
    """Return the call that an object with a name and arguments stands for."""
    if not isinstance(value, dict):
        return None
    name = value.get("name")
    arguments = value.get("arguments", value.get("parameters"))
    if isinstance(arguments, str):
        try:
            arguments = json.loads(arguments)
        except (ValueError, RecursionError):
            return None
    if not isinstance(name, str) or name not in offered:
        return None
    return _call(offered[name], arguments)


def _call(tool: ToolSpec, arguments: Any) -> ToolCall | None:
    """Return a call if the tool takes these arguments."""
    known = tool.parameters.get("properties", {})
    required = tool.parameters.get("required", ())
    if not isinstance(arguments, dict) or not set(required) <= arguments.keys() <= known.keys():
        return None
    return ToolCall(id=f"call_{secrets.token_hex(8)}", name=tool.name, parameters=arguments)


def _first_mark_of_a_call(text: str, offered: Mapping[str, ToolSpec]) -> int | None:
    """Return where the first mark stands that a tool's name, or an object with a name, follows; None if there is none.
    Not in a code block or in backticks: there the answer is about calls."""
    names = re.compile(rf"(?<![\w-])(?:{'|'.join(map(re.escape, offered))})(?![\w-])")
    fences = [fence.start() for fence in _FENCE.finditer(text)]
    for mark in _MARK.finditer(text):
        is_in_code = bisect(fences, mark.start()) % 2
        if is_in_code or text[mark.start() - 1 : mark.start()] == "`":
            continue
        if names.search(mark[0]) or _NAMED.match(text, mark.end()):
            return mark.start()
        name = names.search(text, mark.end(), mark.end() + _NEAR)
        if name is not None and _is_filling(text[mark.end() : name.start()]):
            return mark.start()
    return None


def _looks_like_call(region: str) -> bool:
    """Return whether a text has arguments and ends with them, or with a mark."""
    has_arguments = "{" in region or _TAGGED.search(region) or _PAIRED.search(region)
    last = _MARK.split(region.rstrip("` \n"))[-1].rstrip()
    return bool(has_arguments) and (not last or last.endswith(("}", "]")))


def _spans(text: str, start: int, offered: Mapping[str, ToolSpec]) -> Iterator[_Span]:
    """Find the calls from `start` on, in order."""
    at = start
    while at < len(text):
        found = _object_at_or_after(text, at, offered) or _tagged_at_or_after(text, at, offered)
        if found is None:
            return
        yield found
        at = found.end


def _object_at_or_after(text: str, at: int, offered: Mapping[str, ToolSpec]) -> _Span | None:
    """Return the next call whose arguments are a JSON object: with its name inside, or before it."""
    opens = text.find("{", at)
    if opens < 0:
        return None
    try:
        value, end = json.JSONDecoder(strict=False).raw_decode(text, opens)
    except (ValueError, RecursionError):
        return None
    call = _named_call(value, offered)
    if call is not None:
        return _Span(opens, end, call)
    before = text[at:opens]
    for name in sorted(offered, key=before.rfind, reverse=True):
        place = before.rfind(name)
        if place < 0:
            return None
        call = _call(offered[name], value)
        if call is not None and _is_filling(before[place + len(name) :]):
            return _Span(at + place, end, call)
    return None


def _tagged_at_or_after(text: str, at: int, offered: Mapping[str, ToolSpec]) -> _Span | None:
    """Return the next call whose arguments are tags."""
    places = {name: place for name in offered if (place := _find_name(text, name, at)) is not None}
    if not places:
        return None
    name = min(places, key=lambda one: places[one])
    start = places[name]
    ends = [
        place
        for other in offered
        if (place := _find_name(text, other, start + len(name))) is not None
    ]
    block = text[start : min(ends, default=len(text))]
    found = [match for kind in (_TAGGED, _PAIRED) for match in kind.finditer(block)]
    tool = offered[name]
    arguments = {
        match["key"].strip(): _typed(match["value"], match["key"].strip(), tool) for match in found
    }
    call = _call(tool, arguments)
    if call is None:
        return None
    return _Span(start, start + max((match.end() for match in found), default=len(name)), call)


def _find_name(text: str, name: str, at: int) -> int | None:
    """Return where a tool's name stands as a call's: in a tag, or alone on a line after one."""
    found = re.compile(rf"(?:[=\"']|>\s*){re.escape(name)}(?=[\"'>\s])").search(text, at)
    return found.end() - len(name) if found else None


def _typed(value: str, key: str, tool: ToolSpec) -> Any:
    """Return the value of a tag as its parameter's type; templates put it on lines of its own."""
    stripped = value.removeprefix("\n").removesuffix("\n")
    wanted = tool.parameters.get("properties", {}).get(key, {})
    if wanted.get("type") == "string":
        return stripped
    try:
        return json.loads(stripped)
    except (ValueError, RecursionError):
        return stripped


def _is_filling(piece: str) -> bool:
    """Return whether a piece of text between marks, names and arguments says nothing: a role, an index, a fence."""
    return all(len(_WORD.findall(part)) <= _MOST_WORDS for part in _MARK.split(piece))
