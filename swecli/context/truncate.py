"""Reduces a history: truncates old messages, with calls and results kept together; replaces old results by stubs; cuts
long texts; and decides between a summary and a truncation."""

from __future__ import annotations

import json
import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from math import floor
from typing import Any

from swecli.context.budget import allowed_tokens, effective_threshold
from swecli.context.tokens import estimate_token_count
from swecli.context.validate import SIGNED
from swecli.models.message import IMAGES, ApiMessage

_LEFT_OUT = "(Messages between the first request and this point were left out to save room.)"
_TRUNCATE_FRACTION = 0.5


@dataclass(slots=True)
class TruncateResponse:
    """Result of one decision. `cost` is in US dollars; `prev_context_tokens` includes the last message;
    `new_context_tokens` is None without a summary; `error` is why a condenser's answer was rejected."""

    messages: list[ApiMessage]
    summary: str = ""
    cost: float = 0.0
    prev_context_tokens: int = 0
    new_context_tokens: int | None = None
    error: str | None = None


@dataclass(slots=True, kw_only=True)
class TruncateOptions:
    """Inputs of one decision. `total_tokens` excludes the last message; `auto_condense_context_percent` is the global
    threshold, `profile_thresholds` the profiles' own (-1 inherits); `count_tokens` counts a text; `condense` makes a
    summary (None: disabled); `allowed` replaces the limit computed from the window."""

    messages: list[ApiMessage]
    total_tokens: int
    context_window: int
    max_tokens: int | None = None
    auto_condense_context: bool = True
    auto_condense_context_percent: int = 75
    system_prompt: str = ""
    task_id: str = ""
    custom_condensing_prompt: str | None = None
    profile_thresholds: Mapping[str, int] = field(default_factory=dict)
    current_profile_id: str = "default"
    count_tokens: Callable[[str], int]
    condense: _Condense | None = None
    allowed: int | None = None


_Condense = Callable[[TruncateOptions], Awaitable[TruncateResponse]]


def truncate_conversation(messages: list[ApiMessage], frac_to_remove: float) -> list[ApiMessage]:
    """Remove a fraction of a plain user/assistant list: index 0 stays; of the others the first `floor((n - 1) *
    frac_to_remove)`, rounded down to an even number, are removed. Seven messages at 0.5 lose two. Ignores calls: see
    `truncate_safely`. Raises ValueError unless 0 <= `frac_to_remove` <= 1."""
    if not 0 <= frac_to_remove <= 1:
        raise ValueError(f"frac_to_remove must be between 0 and 1, got {frac_to_remove}")
    share = floor(max(0, len(messages) - 1) * frac_to_remove)
    return messages[:1] + messages[1 + share - share % 2 :]


def truncate_safely(messages: list[ApiMessage], fraction: float = _TRUNCATE_FRACTION) -> list[ApiMessage]:
    """Remove about `fraction` of a valid history after its first user message; the result is valid.

    The system message, the first and the last user message and the newest step stay. The cut moves forward to the next
    user or assistant message. A stub separates two user messages that would meet. Returns an equal list if nothing can
    be removed."""
    users = [i for i, message in enumerate(messages) if message["role"] == "user"]
    if not users:
        return list(messages)
    first, last = users[0], users[-1]
    head, middle = messages[: first + 1], messages[first + 1 : last]
    turn, steps = ([messages[last]], messages[last + 1 :]) if last > first else ([], messages[first + 1 :])
    if middle and middle[0].get("content") == _LEFT_OUT:
        middle = middle[1:]
    plain = [messages[first], *middle, *turn, *steps]
    share = len(plain) - len(truncate_conversation(plain, fraction))
    from_middle = _safe_boundary(middle, min(share, len(middle)))
    newest = max((i for i, message in enumerate(steps) if message["role"] == "assistant"), default=0)
    from_steps = min(_safe_boundary(steps, share - from_middle), newest) if share > from_middle else 0
    middle, steps = middle[from_middle:], steps[from_steps:]
    rest = [*middle, *turn]
    stub = [{"role": "assistant", "content": _LEFT_OUT}] if rest and rest[0]["role"] == "user" else []
    shorter = [*head, *stub, *rest, *steps]
    return shorter if len(shorter) < len(messages) else list(messages)


def loop_window(
    messages: list[ApiMessage], loop: int, after_loop: int = 5, more_than: int = 15, keep_last: int = 10
) -> list[ApiMessage]:
    """Return the messages that a review loop continues with: after `after_loop` loops (`loop` counts from 1), if there
    are more than `more_than` messages, the first and the newest `keep_last`. The cut moves forward past results whose
    call would be missing, or back to their call if only such results would remain."""
    if loop <= after_loop or len(messages) <= more_than or not messages:
        return list(messages)
    if keep_last <= 0:
        return messages[:1]
    wanted = max(1, len(messages) - keep_last)
    start = wanted + _safe_boundary(messages[wanted:], 0)
    if start == len(messages):
        start = wanted
        while start > 1 and messages[start]["role"] == "tool":
            start -= 1
    return [messages[0], *messages[start:]]


async def truncate_conversation_if_needed(options: TruncateOptions) -> TruncateResponse:
    """Return the messages unchanged, summarised, or truncated by half.

    A summary is requested if it is enabled, there is a condenser, and the context (with its last message) has reached
    the effective threshold or exceeds the allowed tokens; truncation follows if it is still too large. A failure of the
    condenser is not raised but returned in `error`."""
    last = options.messages[-1].get("content") if options.messages else None
    before = options.total_tokens + estimate_token_count(last, options.count_tokens)
    allowed = options.allowed or allowed_tokens(options.context_window, options.max_tokens)
    percent = options.auto_condense_context_percent
    threshold = effective_threshold(percent, options.profile_thresholds, options.current_profile_id)
    reached = 100 * before >= threshold * options.context_window or before > allowed
    answer, left = TruncateResponse(messages=options.messages, prev_context_tokens=before), before
    if options.auto_condense_context and options.condense is not None and reached:
        answer = await _try_condensing(options, options.condense, before)
        left = before if answer.new_context_tokens is None else answer.new_context_tokens
    if left <= allowed:
        return answer
    kept = truncate_safely(answer.messages)
    if answer.new_context_tokens is not None:
        left -= _size(answer.messages, options) - _size(kept, options)
        answer = replace(answer, new_context_tokens=left)
    return replace(answer, messages=kept)


async def _try_condensing(options: TruncateOptions, condense: _Condense, before: int) -> TruncateResponse:
    """Request a summary and validate it; `before` is the current size in tokens. The answer is accepted if it has
    messages and a summary and is smaller than what it replaces; otherwise `error` is set and the messages stay."""
    untouched = TruncateResponse(messages=options.messages, prev_context_tokens=before)
    try:
        answer = await condense(options)
    except Exception as failure:  # noqa: BLE001  # a condenser may raise anything
        return replace(untouched, error=f"condensing failed: {failure or type(failure).__name__}")
    if not isinstance(answer, TruncateResponse):
        return replace(untouched, error="condensing returned nothing")
    after, error = answer.new_context_tokens, answer.error
    if after is None:
        after = _size(answer.messages, options) + estimate_token_count(options.system_prompt, options.count_tokens)
    if error is None and not (answer.messages and answer.summary.strip()):
        error = "condensing returned no summary"
    elif error is None and after >= before:
        error = f"the summary is no smaller: {after:,} tokens after, {before:,} before"
    if error is not None:
        return replace(untouched, cost=answer.cost, error=error or "condensing failed")
    return replace(answer, prev_context_tokens=before, new_context_tokens=after)


def _size(messages: list[ApiMessage], options: TruncateOptions) -> int:
    return sum(estimate_token_count(message.get("content"), options.count_tokens) for message in messages)


def _safe_boundary(messages: list[ApiMessage], wanted: int) -> int:
    """Return the first index from `wanted` on that does not separate a call from its result."""
    while wanted < len(messages) and messages[wanted]["role"] == "tool":
        wanted += 1
    return wanted


_KEPT_RESULTS = 5
_TOKENS_PER_RESULT = 4_000  # of a request's limit, for each result that is kept
_WORTH_CLEARING = 300  # characters
# Maximum length of a text in characters, from one attempt to the next.
CAPS = (40_000, 20_000, 10_000, 5_000, 2_000, 1_000, 500, 200)

_NOTICE = re.compile(r"\A\[Cut to save room: [^\n]*\]\n")
_CLEARED = "[Cleared to save room: "


def count_kept_results(limit: int | None) -> int:
    """Return how many of the newest results a request with that token limit keeps (None: unknown)."""
    return _KEPT_RESULTS if limit is None else min(_KEPT_RESULTS, max(1, limit // _TOKENS_PER_RESULT))


def clear_old_results(messages: list[ApiMessage], keep: int = _KEPT_RESULTS) -> tuple[list[ApiMessage], int]:
    """Replace all results except the newest `keep` and those of the newest step by stubs that name the call. Returns
    the messages and the number of stubs."""
    results = [i for i, message in enumerate(messages) if message["role"] == "tool"]
    step = max((i for i, message in enumerate(messages) if message["role"] == "assistant"), default=len(messages))
    kept = max(0, len(results) - keep)
    out, count = list(messages), 0
    for i in results[:kept]:
        text = messages[i]["content"]
        if i < step and len(text) > _WORTH_CLEARING and not text.startswith(_CLEARED):
            name = _strip_signature(str(messages[i].get("tool_call_id")))
            stub = f"{_CLEARED}a result of {len(text)} characters. read_result {name} gives it back.]"
            out[i], count = messages[i] | {"content": stub}, count + 1
    return out, count


def clear_old_pictures(messages: list[ApiMessage]) -> tuple[list[ApiMessage], int]:
    """Remove the pictures of all user messages except the newest, each with a note in their place. Returns the messages
    and the number of pictures."""
    newest = max((i for i, message in enumerate(messages) if message["role"] == "user"), default=0)
    old = {i: message for i, message in enumerate(messages[:newest]) if message.get(IMAGES)}
    out = list(messages)
    for i, message in old.items():
        out[i] = message | {IMAGES: [], "content": f"{_CLEARED}its pictures are left out.]\n\n{message['content']}"}
    return out, sum(len(message[IMAGES]) for message in old.values())


def shrink_texts(messages: list[ApiMessage], role: str, cap: int) -> list[ApiMessage]:
    """Cut the texts of one role to `cap` characters: tool results; the assistant's texts and the strings in its calls'
    arguments; or all user messages except the newest."""
    newest = max((i for i, message in enumerate(messages) if message["role"] == "user"), default=0)
    out = list(messages)
    for i, message in enumerate(messages):
        if message["role"] != role or (role == "user" and i >= newest):
            continue
        if text := message.get("content"):
            call_id = _strip_signature(str(message.get("tool_call_id") or ""))
            out[i] = message | {"content": _cut_text(text, cap, call_id)}
        if calls := message.get("tool_calls"):
            out[i] = out[i] | {"tool_calls": [_cut_call(call, cap) for call in calls]}
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


def _cut_call(call: dict[str, Any], cap: int) -> dict[str, Any]:
    arguments = call["function"]["arguments"]
    if len(arguments) <= cap:
        return call
    try:
        shorter = json.dumps(_cut_value(json.loads(arguments), cap), ensure_ascii=False)
    except RecursionError:  # nested too deep to be walked
        return call
    return call | {"function": call["function"] | {"arguments": min(shorter, arguments, key=len)}}


def _cut_value(value: Any, cap: int) -> Any:
    if isinstance(value, str):
        return _cut_text(value, cap)
    if isinstance(value, dict):
        return {key: _cut_value(item, cap) for key, item in value.items()}
    if isinstance(value, list):
        return [_cut_value(item, cap) for item in value]
    return value
