"""The reduction ladder: makes a request fit, rung by rung, and only as far as needed."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import ceil

from swecli.context.budget import MAX_CHARACTERS, SMALL_WINDOW, RequestLimits, RequestSize
from swecli.context.keyed import diff_messages, normalize_keyed
from swecli.context.repair import SIGNED, normalize
from swecli.context.tokens import TokenCounter
from swecli.context.truncate import merge_pinned, truncate_safely
from swecli.models.api_message import (
    ApiCall,
    FunctionCall,
    call_id_of,
    calls_of,
    images_of,
    notes_of,
    text_of,
    with_fields,
)
from swecli.models.context import Edits, interaction_of, key_of
from swecli.models.errors import ContextFull
from swecli.models.json_value import Json
from swecli.models.message import ApiMessage

# Shares of the conversation's room: the least gain of an optional reduction; the least that a summary, which costs
# money, must replace, and in a small model whose window still holds turns; what a necessary reduction leaves, and what
# it leaves if there were too many.
_BATCH, _SUMMARY_BATCH, _SUMMARY_OF_TURNS, LEFT, LEFT_DEEP = 0.2, 0.5, 0.7, 0.75, 0.5
CLEAR, TRUNCATE, SHRINK = _RUNGS = ("clear", "truncate", "shrink")
_KEPT_RESULTS = 5
_TOKENS_PER_RESULT = 4_000  # of a request's limit, for each result that is kept
_WORTH_CLEARING = 300  # characters
# Maximum length of a text in characters, from one attempt to the next.
_CAPS = (40_000, 20_000, 10_000, 5_000, 2_000, 1_000, 500, 200)

_NOTICE = re.compile(r"\A\[Cut to save room: [^\n]*\]\n")
_CLEARED = "[Cleared to save room: "
# What is cut, in this order, and to which lengths: of the user's text first what was pasted, the rest last of all.
_SHRINKS = (
    ("user", _CAPS[:3], "earlier queries"),
    ("tool", _CAPS, "tool results"),
    ("assistant", _CAPS, "the assistant's texts"),
    ("user", _CAPS[3:], "earlier queries"),
)


@dataclass(frozen=True, slots=True)
class RungResult:
    """The effect of one rung: `how` is clear, truncate or shrink; `edits` lead to `messages`; `before` and `after` are
    its sizes in tokens."""

    how: str
    messages: list[ApiMessage]
    edits: Edits
    before: int
    after: int
    detail: str


@dataclass(frozen=True, slots=True)
class Ladder:
    """Reduces keyed messages to `limits`, rung by rung."""

    limits: RequestLimits
    counter: TokenCounter

    def reduce(self, messages: list[ApiMessage], rung: str) -> RungResult | None:
        """Apply one rung as far as needed; return None if nothing is needed or gained. The input is not changed.

        "clear" replaces old results by stubs once the threshold is reached. "truncate" repeatedly removes half of the
        messages after the first user message, and "shrink" cuts long texts (see _SHRINKS), both only until it fits."""

        def is_needed(size: RequestSize) -> bool:
            return size.over if rung == CLEAR else not size.fits

        size = self.limits.measure(messages, self.counter)
        current, detail, batch = messages, "", self.room(messages) * _BATCH
        for smaller, line in _versions(messages, rung, self.limits) if is_needed(size) else ():
            after = self.limits.measure(smaller, self.counter)
            if not _is_worthwhile(size, after, batch):
                continue
            current, size, detail = smaller, after, line
            if not is_needed(size):
                break
        return self.compare(messages, current, rung, detail) if detail else None

    def compare(
        self, before: list[ApiMessage], after: list[ApiMessage], how: str, detail: str
    ) -> RungResult:
        """Return the result of a reduction that led from one list of keyed messages to the other."""
        return RungResult(
            how=how,
            messages=after,
            edits=diff_messages(before, after),
            before=self.limits.measure(before, self.counter).tokens,
            after=self.limits.measure(after, self.counter).tokens,
            detail=detail,
        )

    def fit(
        self, messages: list[ApiMessage], rungs: Sequence[str] = _RUNGS
    ) -> tuple[list[ApiMessage], list[RungResult]]:
        """Return the messages as a valid request that fits, and the rungs applied, in their order. The input is not
        changed. Raises ContextFull if the request is too long after all rungs."""
        current, applied = normalize(messages), list[RungResult]()
        for rung in rungs:
            if result := self.reduce(current, rung):
                current = result.messages
                applied.append(result)
        self.require_fit(current)
        return current, applied

    def require_fit(self, messages: list[ApiMessage]) -> None:
        """Raise ContextFull, with the sizes of all parts, if the request is too long."""
        size = self.limits.measure(messages, self.counter)
        if size.fits:
            return
        parts, pinned = {"tools": self.limits.tools_tokens}, 0
        for message in messages:
            name = {"system": "system prompt", "user": "your messages"}.get(
                message["role"], "answers and results"
            )
            tokens = self.counter.count_message(message)
            parts[name] = parts.get(name, 0) + tokens
            pinned += tokens if interaction_of(message) in self.limits.pins else 0
        listed = ", ".join(f"{name} {tokens:,}" for name, tokens in parts.items() if tokens)
        has = f"{size.characters:,} characters, {MAX_CHARACTERS:,} fit"
        if size.limit is not None and size.tokens > size.limit:
            has = f"{size.tokens:,} tokens, {size.limit:,} fit"
        less = f"Send less, /unpin a turn (all of them: {pinned:,})" if pinned else "Send less"
        hint = f"Sizes in tokens: {listed}. {less}, start a /new session, or choose a model with a larger window."
        raise ContextFull(f"The request has {has}, and nothing more can be taken out.", hint)

    def room(self, messages: list[ApiMessage]) -> float:
        """Return the tokens left for the conversation besides tools and system message; 0 if the limit is unknown."""
        return max(0.0, (self.limits.limit or 0) - self.fixed(messages))

    def fixed(self, messages: list[ApiMessage]) -> int:
        """Count the tokens that no reduction removes: tools and system message."""
        system = sum(
            self.counter.count_message(message)
            for message in messages[:1]
            if message["role"] == "system"
        )
        return ceil((self.limits.tools_tokens + system) * self.limits.scale)

    def lower(self, messages: list[ApiMessage], share: float) -> Ladder:
        """Return a ladder that leaves the conversation only a `share` of its room, to delay the next reduction."""
        if self.limits.limit is None:
            return self
        fixed = self.fixed(messages)
        allowed = max(1, fixed + int((self.limits.limit - fixed) * share))
        return Ladder(replace(self.limits, allowed=allowed), self.counter)

    def pays(self, messages: list[ApiMessage], gain: float, *, keeps_turns: bool) -> bool:
        """Return whether a summary that replaces `gain` tokens is worth its cost; `keeps_turns`: it replaces turns that
        the window still holds."""
        window = self.limits.window or 0
        share = _SUMMARY_OF_TURNS if keeps_turns and 0 < window <= SMALL_WINDOW else _SUMMARY_BATCH
        return gain * self.limits.scale >= self.room(messages) * share


def _is_worthwhile(before: RequestSize, after: RequestSize, batch: float) -> bool:
    """Return whether `after` is smaller; for an optional reduction, by at least a `batch`: the provider bills all that
    follows a change in full again."""
    if not before.fits:
        same = (after.tokens, after.characters) == (before.tokens, before.characters)
        return after.tokens <= before.tokens and after.characters <= before.characters and not same
    return before.tokens - after.tokens >= max(1.0, batch)


_Versions = Iterator[tuple[list[ApiMessage], str]]


def _versions(messages: list[ApiMessage], rung: str, limits: RequestLimits) -> _Versions:
    """Yield ever smaller versions of the messages, each with a line for the user; pinned messages stay in place."""
    free = [message for message in messages if interaction_of(message) not in limits.pins]
    for smaller, detail in _unpinned_versions(free, rung, limits):
        has_pins = len(free) < len(messages)
        yield (
            normalize_keyed(merge_pinned(messages, smaller, limits.pins)) if has_pins else smaller,
            detail,
        )


def _unpinned_versions(messages: list[ApiMessage], rung: str, limits: RequestLimits) -> _Versions:
    current = messages
    if rung == CLEAR:
        cleared, count = _clear_old_results(messages, _count_kept_results(limits.limit))
        cleared, pictures = _clear_old_pictures(cleared)
        named = [f"{count} old tool results replaced by stubs"] if count else []
        named += [f"{pictures} old pictures left out"] if pictures else []
        if named:
            yield cleared, ", ".join(named)
    elif rung == TRUNCATE:
        while len(shorter := truncate_safely(current)) < len(current):
            current = shorter
            yield current, describe_truncation(messages, current)
    else:
        named = list[str]()
        for role, caps, name in _SHRINKS:
            for cap in caps:
                shorter = _shrink_texts(current, role, cap)
                if shorter != current:
                    current, named = shorter, named if name in named else [*named, name]
                    yield current, f"{' and '.join(named)} cut to {cap} characters"


def describe_truncation(before: list[ApiMessage], after: list[ApiMessage]) -> str:
    """Return the line for the user on a truncation of keyed messages: stubs between them do not count."""
    kept = {key_of(message) for message in after}
    removed = sum(key_of(message) not in kept for message in before)
    return f"{removed} old messages left out"


def _count_kept_results(limit: int | None) -> int:
    """Return how many of the newest results a request with that token limit keeps (None: unknown)."""
    return (
        _KEPT_RESULTS if limit is None else min(_KEPT_RESULTS, max(1, limit // _TOKENS_PER_RESULT))
    )


def _clear_old_results(
    messages: list[ApiMessage], keep: int = _KEPT_RESULTS
) -> tuple[list[ApiMessage], int]:
    """Replace all results except the newest `keep` and those of the newest step by stubs that name the call. Returns
    the messages and the number of stubs."""
    results = [(i, message) for i, message in enumerate(messages) if message["role"] == "tool"]
    replies = [i for i, message in enumerate(messages) if message["role"] == "assistant"]
    step = replies[-1] if replies else len(messages)
    kept = max(0, len(results) - keep)
    out = list(messages)
    count = 0
    for i, result in results[:kept]:
        text = result["content"]
        if i < step and len(text) > _WORTH_CLEARING:  # a stub is shorter
            name = _strip_signature(result["tool_call_id"])
            stub = (
                f"{_CLEARED}a result of {len(text)} characters. read_result {name} gives it back.]"
            )
            out[i] = with_fields(result, {"content": stub})
            count += 1
    return out, count


def _clear_old_pictures(messages: list[ApiMessage]) -> tuple[list[ApiMessage], int]:
    """Remove the pictures of all user messages except the newest, each with a note in their place. Returns the messages
    and the number of pictures."""
    newest = max((i for i, message in enumerate(messages) if message["role"] == "user"), default=0)
    out = list(messages)
    count = 0
    for i, message in enumerate(messages[:newest]):
        pictures = images_of(message)
        if pictures:
            text = f"{_CLEARED}its pictures are left out.]\n\n{message['content']}"
            out[i] = with_fields(message, {"images": [], "content": text})
            count += len(pictures)
    return out, count


def _shrink_texts(messages: list[ApiMessage], role: str, cap: int) -> list[ApiMessage]:
    """Cut the texts of one role to `cap` characters: tool results; the assistant's texts and the strings in its calls'
    arguments; or all user messages except the newest."""
    newest = max((i for i, message in enumerate(messages) if message["role"] == "user"), default=0)
    out = list(messages)
    for i, message in enumerate(messages):
        if message["role"] != role or (role == "user" and i >= newest):
            continue
        text = text_of(message)
        call_id = _strip_signature(call_id_of(message))
        cut = _cut_text(text, cap, call_id)
        if cut != text:
            out[i] = with_fields(message, {"content": cut})
            if notes_of(message):
                # cut with the text: what they told is told again
                out[i] = with_fields(out[i], {"notes": []})
        if calls := calls_of(message):
            out[i] = with_fields(out[i], {"tool_calls": [_cut_call(call, cap) for call in calls]})
    return out


def _cut_text(text: str, cap: int, name: str = "") -> str:
    """Return a notice, the head and the tail of a text in about `cap` characters (at least 200), never more than the
    text. The notice of an earlier cut is kept. `name` is the id of the call the text belongs to."""
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


def _strip_signature(call_id: str) -> str:
    """Return the id without the signature that some services append, which may have thousands of characters."""
    return call_id.split(SIGNED, 1)[0]


def _cut_call(call: ApiCall, cap: int) -> ApiCall:
    arguments = call["function"]["arguments"]
    if len(arguments) <= cap:
        return call
    try:
        shorter = json.dumps(_cut_value(json.loads(arguments), cap), ensure_ascii=False)
    except RecursionError:  # nested too deep to be walked
        return call
    function: FunctionCall = {**call["function"], "arguments": min(shorter, arguments, key=len)}
    return {**call, "function": function}


def _cut_value(value: Json, cap: int) -> Json:
    if isinstance(value, str):
        return _cut_text(value, cap)
    if isinstance(value, dict):
        return {key: _cut_value(item, cap) for key, item in value.items()}
    if isinstance(value, list):
        return [_cut_value(item, cap) for item in value]
    return value
