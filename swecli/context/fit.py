"""Makes a request fit: applies the methods of reduction one after another, and only as far as needed."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from math import ceil
from typing import Literal

from swecli.context.budget import MAX_CHARACTERS, SMALL_WINDOW, RequestLimits, RequestSize
from swecli.context.keyed_messages import diff_messages, normalize_keyed
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
from swecli.models.counts import pluralize
from swecli.models.errors import ContextFull
from swecli.models.json_value import Json
from swecli.models.message import ApiMessage
from swecli.values import dataclass

ReductionMethod = Literal["clear", "truncate", "shrink"]
METHODS: tuple[ReductionMethod, ...] = ("clear", "truncate", "shrink")  # in the order of their use

# Shares of the conversation's room.
_MIN_GAIN = 0.2  # of an optional reduction
_MIN_SUMMARY_GAIN = 0.5  # of a summary, which costs money
_MIN_SUMMARY_GAIN_OF_TURNS = 0.7  # the same in a small model whose window still holds turns
SHARE_LEFT = 0.75  # what a necessary reduction leaves
SHARE_LEFT_DEEP = 0.5  # what it leaves if there were too many
_KEPT_RESULTS = 5
_TOKENS_PER_RESULT = 4_000  # of a request's limit, for each result that is kept
_WORTH_CLEARING = 300  # characters
# Maximum length of a text in characters, from one attempt to the next.
_TEXT_LENGTHS = (40_000, 20_000, 10_000, 5_000, 2_000, 1_000, 500, 200)

_NOTICE = re.compile(r"\A\[Cut to save room: [^\n]*\]\n")
_CLEARED = "[Cleared to save room: "
_PART_NAMES = {"system": "system prompt", "user": "your messages"}  # by role
# What is cut, in this order, and to which lengths: of the user's text first what was pasted, the rest last of all.
_SHRINK_ORDER = (
    ("user", _TEXT_LENGTHS[:3], "earlier queries"),
    ("tool", _TEXT_LENGTHS, "tool results"),
    ("assistant", _TEXT_LENGTHS, "the assistant's texts"),
    ("user", _TEXT_LENGTHS[3:], "earlier queries"),
)


@dataclass(frozen=True, slots=True)
class ReducedMessages:
    """The effect of one method."""

    method: ReductionMethod
    messages: list[ApiMessage]
    edits: Edits  # that lead to the messages
    before: int  # tokens
    after: int
    detail: str  # for the user, such as "12 old messages left out"


@dataclass(frozen=True, slots=True)
class RequestReducer:
    """Reduces keyed messages to `limits`, one method after another."""

    limits: RequestLimits
    counter: TokenCounter

    def reduce(self, messages: list[ApiMessage], method: ReductionMethod) -> ReducedMessages | None:
        """Apply one method as far as needed; return None if nothing is needed or gained. The input is not changed.

        "clear" replaces old results by stubs once the threshold is reached. "truncate" repeatedly removes half of the
        messages after the first user message, and "shrink" cuts long texts (see `_SHRINK_ORDER`), both only until it
        fits."""

        def is_needed(size: RequestSize) -> bool:
            return size.needs_reduction if method == "clear" else not size.fits

        size = self.limits.measure(messages, self.counter)
        if not is_needed(size):
            return None
        current = messages
        detail = ""
        min_gain = self.room(messages) * _MIN_GAIN
        for smaller, line in _versions(messages, method, self.limits):
            after = self.limits.measure(smaller, self.counter)
            if not _is_worthwhile(size, after, min_gain):
                continue
            current = smaller
            size = after
            detail = line
            if not is_needed(size):
                break
        return self.compare(messages, current, method, detail) if detail else None

    def compare(
        self,
        before: list[ApiMessage],
        after: list[ApiMessage],
        method: ReductionMethod,
        detail: str,
    ) -> ReducedMessages:
        """Return the result of a reduction that led from one list of keyed messages to the other."""
        return ReducedMessages(
            method=method,
            messages=after,
            edits=diff_messages(before, after),
            before=self.limits.measure(before, self.counter).tokens,
            after=self.limits.measure(after, self.counter).tokens,
            detail=detail,
        )

    def fit(
        self, messages: list[ApiMessage], methods: Sequence[ReductionMethod] = METHODS
    ) -> tuple[list[ApiMessage], list[ReducedMessages]]:
        """Return the messages as a valid request that fits, and the reductions, in their order. The input is not
        changed. Raises ContextFull if the request is too long after all methods."""
        current = normalize(messages)
        reductions: list[ReducedMessages] = []
        for method in methods:
            reduction = self.reduce(current, method)
            if reduction is not None:
                current = reduction.messages
                reductions.append(reduction)
        self.require_fit(current)
        return current, reductions

    def require_fit(self, messages: list[ApiMessage]) -> None:
        """Raise ContextFull, with the sizes of all parts, if the request is too long."""
        size = self.limits.measure(messages, self.counter)
        if size.fits:
            return
        parts = {"tools": self.limits.tools_tokens}
        pinned = 0
        for message in messages:
            name = _PART_NAMES.get(message["role"], "answers and results")
            tokens = self.counter.count_message(message)
            parts[name] = parts.get(name, 0) + tokens
            if interaction_of(message) in self.limits.pins:
                pinned += tokens
        sizes = ", ".join(f"{name} {tokens:,}" for name, tokens in parts.items() if tokens)
        length = f"{size.characters:,} characters, {MAX_CHARACTERS:,} fit"
        if size.limit is not None and size.tokens > size.limit:
            length = f"{size.tokens:,} tokens, {size.limit:,} fit"
        advice = f"Send less, /unpin a turn (all of them: {pinned:,})" if pinned else "Send less"
        hint = f"Sizes in tokens: {sizes}. {advice}, start a /new session, or choose a model with a larger window."
        raise ContextFull(f"The request has {length}, and nothing more can be taken out.", hint)

    def room(self, messages: list[ApiMessage]) -> float:
        """Return the tokens left for the conversation besides tools and system message; 0 if the limit is unknown."""
        return max(0.0, (self.limits.limit or 0) - self.count_fixed(messages))

    def count_fixed(self, messages: list[ApiMessage]) -> int:
        """Count the tokens that no reduction removes: tools and system message."""
        tokens = self.limits.tools_tokens
        if messages and messages[0]["role"] == "system":
            tokens += self.counter.count_message(messages[0])
        return ceil(tokens * self.limits.scale)

    def lower(self, messages: list[ApiMessage], share: float) -> RequestReducer:
        """Return a reducer that leaves the conversation only a `share` of its room, to delay the next reduction."""
        if self.limits.limit is None:
            return self
        fixed = self.count_fixed(messages)
        allowed = max(1, fixed + int((self.limits.limit - fixed) * share))
        return RequestReducer(replace(self.limits, allowed=allowed), self.counter)

    def is_summary_worthwhile(
        self, messages: list[ApiMessage], gain: float, *, keeps_turns: bool
    ) -> bool:
        """Return whether a summary that replaces `gain` tokens is worth its cost; `keeps_turns`: it replaces turns that
        the window still holds."""
        window = self.limits.window or 0
        share = (
            _MIN_SUMMARY_GAIN_OF_TURNS
            if keeps_turns and 0 < window <= SMALL_WINDOW
            else _MIN_SUMMARY_GAIN
        )
        return gain * self.limits.scale >= self.room(messages) * share


def _is_worthwhile(before: RequestSize, after: RequestSize, min_gain: float) -> bool:
    """Return whether `after` is smaller; for an optional reduction, by at least `min_gain` tokens: the provider bills
    all that follows a change in full again."""
    if not before.fits:
        same = (after.tokens, after.characters) == (before.tokens, before.characters)
        return after.tokens <= before.tokens and after.characters <= before.characters and not same
    return before.tokens - after.tokens >= max(1.0, min_gain)


_Versions = Iterator[tuple[list[ApiMessage], str]]


def _versions(
    messages: list[ApiMessage], method: ReductionMethod, limits: RequestLimits
) -> _Versions:
    """Yield ever smaller versions of the messages, each with a line for the user; pinned messages stay in place."""
    unpinned = [message for message in messages if interaction_of(message) not in limits.pins]
    for smaller, detail in _unpinned_versions(unpinned, method, limits):
        if len(unpinned) < len(messages):
            smaller = normalize_keyed(merge_pinned(messages, smaller, limits.pins))
        yield smaller, detail


def _unpinned_versions(
    messages: list[ApiMessage], method: ReductionMethod, limits: RequestLimits
) -> _Versions:
    current = messages
    changes: list[str] = []
    if method == "clear":
        current, results = _clear_old_results(current, _count_kept_results(limits.limit))
        current, pictures = _clear_old_pictures(current)
        if results:
            changes.append(f"{pluralize(results, 'old tool result')} cleared")
        if pictures:
            changes.append(f"{pluralize(pictures, 'old picture')} left out")
        if changes:
            yield current, ", ".join(changes)
    elif method == "truncate":
        while len(shorter := truncate_safely(current)) < len(current):
            current = shorter
            yield current, describe_truncation(messages, current)
    else:
        for role, lengths, name in _SHRINK_ORDER:
            for max_length in lengths:
                shorter = _shrink_texts(current, role, max_length)
                if shorter == current:
                    continue
                current = shorter
                if name not in changes:
                    changes.append(name)
                yield current, f"{' and '.join(changes)} cut to {max_length} characters"


def describe_truncation(before: list[ApiMessage], after: list[ApiMessage]) -> str:
    """Return the line for the user on a truncation of keyed messages: stubs between them do not count."""
    kept_keys = {key_of(message) for message in after}
    removed = sum(key_of(message) not in kept_keys for message in before)
    return f"{pluralize(removed, 'old message')} left out"


def _count_kept_results(limit: int | None) -> int:
    """Return how many of the newest results a request with that token limit keeps (None: unknown)."""
    if limit is None:
        return _KEPT_RESULTS
    return min(_KEPT_RESULTS, max(1, limit // _TOKENS_PER_RESULT))


def _clear_old_results(messages: list[ApiMessage], keep: int) -> tuple[list[ApiMessage], int]:
    """Replace all results except the newest `keep` and those of the newest step by stubs that name the call. Returns
    the messages and the number of stubs."""
    results = [(i, message) for i, message in enumerate(messages) if message["role"] == "tool"]
    replies = [i for i, message in enumerate(messages) if message["role"] == "assistant"]
    step = replies[-1] if replies else len(messages)
    clear_count = max(0, len(results) - keep)
    changed_messages = list(messages)
    count = 0
    for i, result in results[:clear_count]:
        text = result["content"]
        if i < step and len(text) > _WORTH_CLEARING:  # a stub is shorter
            name = _strip_signature(result["tool_call_id"])
            stub = (
                f"{_CLEARED}a result of {len(text)} characters. read_result {name} gives it back.]"
            )
            changed_messages[i] = with_fields(result, {"content": stub})
            count += 1
    return changed_messages, count


def _clear_old_pictures(messages: list[ApiMessage]) -> tuple[list[ApiMessage], int]:
    """Remove the pictures of all user messages except the newest, each with a note in their place. Returns the messages
    and the number of pictures."""
    changed_messages = list(messages)
    count = 0
    for i, message in enumerate(messages[: _newest_query(messages)]):
        pictures = images_of(message)
        if pictures:
            text = f"{_CLEARED}its pictures are left out.]\n\n{message['content']}"
            changed_messages[i] = with_fields(message, {"images": [], "content": text})
            count += len(pictures)
    return changed_messages, count


def _shrink_texts(messages: list[ApiMessage], role: str, max_length: int) -> list[ApiMessage]:
    """Cut the texts of one role to `max_length` characters: tool results; the assistant's texts and the strings in its
    calls' arguments; or all user messages except the newest."""
    newest = _newest_query(messages)
    changed_messages = list(messages)
    for i, message in enumerate(messages):
        if message["role"] != role or (role == "user" and i >= newest):
            continue
        text = text_of(message)
        call_id = _strip_signature(call_id_of(message))
        shortened = _cut_text(text, max_length, call_id)
        if shortened != text:
            changed_messages[i] = with_fields(message, {"content": shortened})
            if notes_of(message):
                # cut with the text: what they told is told again
                changed_messages[i] = with_fields(changed_messages[i], {"notes": []})
        if calls := calls_of(message):
            changed_messages[i] = with_fields(
                changed_messages[i], {"tool_calls": [_cut_call(call, max_length) for call in calls]}
            )
    return changed_messages


def _newest_query(messages: list[ApiMessage]) -> int:
    """Return the index of the newest user message; 0 if there is none."""
    return max((i for i, message in enumerate(messages) if message["role"] == "user"), default=0)


def _cut_text(text: str, max_length: int, call_id: str = "") -> str:
    """Return a notice, the beginning and the end of a text in about `max_length` characters (at least 200), never more
    than the text. The notice of an earlier cut is kept. `call_id` names the call that the text is the result of."""
    if len(text) <= max_length:
        return text
    max_length = max(max_length, 200)
    read_hint = f"; read_result {call_id} reads all of it" if call_id else ""
    earlier = _NOTICE.match(text)
    notice = (
        earlier[0] if earlier else f"[Cut to save room: {len(text)} characters before{read_hint}]\n"
    )
    body = text[len(notice) :] if earlier else text
    room = max(0, max_length - len(notice) - 3)
    tail = room // 3
    shorter = f"{notice}{body[: room - tail]}\n…\n{body[len(body) - tail :]}"
    return shorter if len(shorter) < len(text) else text


def _strip_signature(call_id: str) -> str:
    """Return the id without the signature that some services append, which may have thousands of characters."""
    return call_id.split(SIGNED, 1)[0]


def _cut_call(call: ApiCall, max_length: int) -> ApiCall:
    arguments = call["function"]["arguments"]
    if len(arguments) <= max_length:
        return call
    try:
        shorter = json.dumps(_cut_value(json.loads(arguments), max_length), ensure_ascii=False)
    except RecursionError:  # nested too deep to be walked
        return call
    function: FunctionCall = {**call["function"], "arguments": min(shorter, arguments, key=len)}
    return {**call, "function": function}


def _cut_value(value: Json, max_length: int) -> Json:
    if isinstance(value, str):
        return _cut_text(value, max_length)
    if isinstance(value, dict):
        return {key: _cut_value(item, max_length) for key, item in value.items()}
    if isinstance(value, list):
        return [_cut_value(item, max_length) for item in value]
    return value
