"""Show a request: the next one as it will be sent, or the one that began an earlier turn, in outline or in full.

Both views are made of the messages and tools of the request itself, which `--json` prints.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from swecli.models.action import ActionResult
from swecli.models.api_message import ApiMessage, calls_of
from swecli.models.context import interaction_of
from swecli.models.counts import pluralize
from swecli.models.ids import parse_short_id, parse_turn
from swecli.models.json_value import Json
from swecli.text import one_line
from swecli.values import dataclass

if TYPE_CHECKING:
    from swecli.agent.context_control import Meter, PastPrompt
    from swecli.app import Runtime
    from swecli.context.prepare import PreparedRequest, Segment
    from swecli.context.tokens import TokenCounter
    from swecli.models.message import ToolSpec

FULL = "full"
_CACHED = "everything above was sent before and may be billed as cached"
_REBUILT = "the request is rebuilt: only the tools and the system text were sent before"
_RESENT = "what is above turn {turn}, which had an earlier turn with it, was sent before and may be billed as cached"
_FIRST_WORDS = 40  # characters of a message in an outline, whose lines then fit into 60 columns
_SHOWN_FIELDS = frozenset({"role", "content", "tool_calls", "tool_call_id"})


def show_prompt(runtime: Runtime, text: str = "") -> ActionResult:
    """Show the next request in outline, with `text` as its query; for `T7` the request of that turn. With "full" in
    front, show all of it."""
    query = text.strip()
    word, _, rest = query.partition(" ")
    is_full = word == FULL
    if is_full:
        query = rest.strip()
    if parse_short_id("T", query) is not None:
        return _show_past(runtime, parse_turn(query), is_full)
    return _show_next(runtime, query, is_full)


def outline_next(runtime: Runtime, meter: Meter) -> Iterator[tuple[str, int, str]]:
    """Yield the parts of the next request, each with its tokens and what it is about: of tools their names, of a turn
    the beginning of your message."""
    request = runtime.agent.prepare("").request
    segments = (*request.segments, *request.brought_back)
    texts = {segment.name: segment.text for segment in segments}
    queries = {
        interaction_of(message): str(message["content"])
        for message in request.keyed_messages
        if message["role"] == "user"
    }
    for name, tokens in meter.parts:
        kind, _, number = name.partition(" ")
        content = texts.get(name, "")
        shown_name = name
        if name == "tools":
            content = ", ".join(spec.name for spec in runtime.agent.specs())
        elif name == "query":
            shown_name = "your message"
            content = "what you type next, with notes on folder, mode and strategies"
        elif number.isdecimal() and kind in ("turn", "pinned"):
            content = queries.get(int(number), content)
        elif name.startswith("brought back"):
            content = texts[name].partition("\n")[0].removeprefix("user: ")
        yield shown_name, tokens, one_line(content.lstrip("# "), _FIRST_WORDS)
    if meter.residual:
        direction = "more" if meter.residual > 0 else "less"
        yield "provider", meter.residual, f"it counts {direction} than this program"


@dataclass(frozen=True, slots=True)
class _Part:
    """Messages of a request that belong together; `segments` are those of its system message."""

    name: str
    messages: Sequence[ApiMessage]
    segments: Sequence[Segment] = ()


def _parts(
    messages: Sequence[ApiMessage],
    keyed_messages: Sequence[ApiMessage],
    segments: Sequence[Segment],
    first_interaction: int,
) -> Iterator[_Part]:
    """Yield the parts of a request. `messages` are as they are sent, `keyed_messages` the same with their keys;
    interactions before `first_interaction` are pinned."""
    system, *window, query = messages
    numbers = [interaction_of(message) for message in keyed_messages[1:-1]]
    interactions = dict.fromkeys(numbers)
    # the segments are the parts of the system message, one for each interaction, and the query
    yield _Part("system", [system], segments[: len(segments) - len(interactions) - 1])
    for interaction in interactions:
        kind = "pinned" if interaction < first_interaction else "turn"
        members = [
            message
            for message, number in zip(window, numbers, strict=True)
            if number == interaction
        ]
        yield _Part(f"{kind} {interaction}", members)
    yield _Part("query", [query])


@dataclass(frozen=True, slots=True)
class _View:
    """Renders the parts of a request as lines."""

    counter: TokenCounter
    names: dict[str, str]  # of the called tools, by the ids of the calls
    is_full: bool

    @classmethod
    def for_messages(
        cls, messages: Sequence[ApiMessage], counter: TokenCounter, is_full: bool
    ) -> _View:
        calls = (call for message in messages for call in calls_of(message))
        names = {call["id"]: call["function"]["name"] for call in calls}
        return cls(counter, names, is_full)

    def format_tools(self, specs: Sequence[ToolSpec]) -> Iterator[str]:
        """Yield the names of the tools; in full the definition of each, as it is sent."""
        if not self.is_full:
            yield ", ".join(spec.name for spec in specs)
            return
        for spec in specs:
            yield _to_json(spec.to_api())

    def format_part(self, part: _Part) -> Iterator[str]:
        tokens = sum(self.counter.count_message(message) for message in part.messages)
        yield f"--- {part.name} · {tokens:,} tokens"
        if len(part.segments) > 1 and not self.is_full:
            for segment in part.segments:
                yield _outline_row(segment.name, segment.tokens, segment.text)
            return
        for message in part.messages:
            if self.is_full:
                yield from self._format_message(message)
            else:
                yield self._format_outline(message)

    def _format_outline(self, message: ApiMessage) -> str:
        """Return role, size, first words and called tools of a message."""
        tools = [call["function"]["name"] for call in calls_of(message)]
        text = str(message["content"] or "")
        if message["role"] == "tool":
            text = f"{self._tool_name(message['tool_call_id'])}: {text}"
        outline = _outline_row(message["role"], self.counter.count_message(message), text)
        return f"{outline} · calls {', '.join(tools)}" if tools else outline

    def _format_message(self, message: ApiMessage) -> Iterator[str]:
        """Yield all of a message: its text, the name and arguments of each call, and any other field."""
        title: str = message["role"]
        if message["role"] == "tool":
            call_id = message["tool_call_id"]
            title = f"tool, result of {self._tool_name(call_id)} ({call_id})"
        yield f"[{title} · {self.counter.count_message(message):,} tokens]"
        if message["content"]:
            yield str(message["content"])
        for call in calls_of(message):
            function = call["function"]
            yield f"[call {function['name']} ({call['id']})]"
            yield function["arguments"]
        for name, value in message.items():
            if name not in _SHOWN_FIELDS:
                yield f"[{name}]"
                yield _to_json(value)

    def _tool_name(self, call_id: str) -> str:
        return self.names.get(call_id, "unknown call")


def _outline_row(name: str, tokens: int, text: str) -> str:
    return f"{name:<9} {tokens:>6,}  {one_line(text, _FIRST_WORDS)}".rstrip()


def _to_json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def _show_next(runtime: Runtime, query: str, is_full: bool) -> ActionResult:
    agent = runtime.agent
    agent.count_exactly()
    turn = agent.prepare(query)
    request = turn.request
    specs = agent.specs()
    view = _View.for_messages(turn.messages, agent.counter, is_full)
    lines = [f"--- tools · {agent.counter.count_tools(specs):,} tokens", *view.format_tools(specs)]
    for part in _parts(turn.messages, request.keyed_messages, request.segments, request.window[0]):
        if part.name == "query":
            lines.append(_describe_cached(request))
        lines += view.format_part(part)
    total = runtime.context_control.meter(query).total
    remark = " (estimated)" if agent.counter.estimated else ""
    lines.append(f"--- {total:,} tokens{remark} with the tools, in {len(turn.messages)} messages")
    value: Json = {
        "model": agent.model.name,
        "messages": turn.messages,
        "tools": [spec.to_api() for spec in specs],
    }
    return ActionResult(value, tuple(lines))


def _describe_cached(request: PreparedRequest) -> str:
    """Return how much of a request was sent before."""
    if request.epoch_row is not None:
        return _REBUILT
    last = request.window[1]
    return _CACHED if request.first_new > last else _RESENT.format(turn=last)


def _show_past(runtime: Runtime, number: int, is_full: bool) -> ActionResult:
    """Show the first request of an earlier turn, and how exact it is."""
    past = runtime.context_control.past_prompt(number)
    counter = runtime.agent.counter
    view = _View.for_messages(past.messages, counter, is_full)
    lines = [
        line
        for part in _parts(past.messages, past.keyed_messages, past.segments, past.first)
        for line in view.format_part(part)
    ]
    remark = " (estimated)" if counter.estimated else ""
    size = f"{past.tokens:,} tokens{remark} without the tools"
    lines.append(f"--- T{number} · {size}, in {len(past.messages)} messages")
    lines.append(_describe_exactness(past))
    if past.steps > 1:
        more = pluralize(past.steps - 1, "more request")
        lines.append(f"T{number} sent {more}, each with the calls and results before it")
    value: Json = {
        "turn": number,
        "messages": past.messages,
        "tokens": past.tokens,
        "tools_tokens": past.tools,
        "counted": past.counted_tokens,
    }
    return ActionResult(value, tuple(lines))


def _describe_exactness(past: PastPrompt) -> str:
    """Return how far a rebuilt request is known to be the one that was sent."""
    rebuilt = "rebuilt from the stored messages and cuts"
    if not past.counted_tokens:
        return f"{rebuilt}; no token count of then is stored to check it by"
    if past.counted_tokens == past.tokens + past.tools:
        return f"{rebuilt}: with the tools {past.counted_tokens:,} tokens, as were counted when it was sent"
    tools_then = past.counted_tokens - past.tokens
    if tools_then < 0:
        return (
            f"NOT exact: when it was sent, its tokens with the tools were {past.counted_tokens:,}"
        )
    return (
        f"{rebuilt}, but not proved exact: {past.counted_tokens:,} tokens were counted when it was sent, "
        f"{tools_then:,} of them for tools, which are not stored and take {past.tools:,} today"
    )
