"""Truncates a history, with calls and results kept together, and decides between a summary and a truncation."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import field, replace
from math import floor

from swecli.context.budget import allowed_tokens, effective_threshold
from swecli.context.keyed_messages import normalize_keyed
from swecli.context.tokens import count_text, estimate_token_count
from swecli.models.context import KEY, interaction_of, key_of, note_key
from swecli.models.message import ApiMessage
from swecli.values import dataclass

_LEFT_OUT = "(Messages between the first request and this point were left out to save room.)"
_TRUNCATE_FRACTION = 0.5  # what one truncation removes; halves reach any size in few rounds

_log = logging.getLogger(__name__)


@dataclass(slots=True)
class TruncateResponse:
    """Result of one decision."""

    messages: list[ApiMessage]
    summary: str = ""
    cost: float = 0.0  # of the summary, in US dollars
    prev_context_tokens: int = 0  # with the last message
    new_context_tokens: int | None = None  # None without a summary
    error: str | None = None  # why the condenser's answer was rejected


@dataclass(slots=True, kw_only=True)
class TruncateOptions:
    """Inputs of one decision. All sizes are in the unit of `count_tokens`."""

    messages: list[ApiMessage]
    total_tokens: int  # without the last message
    context_window: int
    max_tokens: int | None = None  # kept for the answer (None or 0: 8192)
    auto_condense_context: bool = True
    auto_condense_context_percent: int = 75  # of the window, for profiles without a threshold
    system_prompt: str = ""  # unless it is the first of the messages
    task_id: str = ""  # names the conversation in the log
    custom_condensing_prompt: str | None = None  # for the condenser
    profile_thresholds: Mapping[str, int] = field(default_factory=dict)  # -1 inherits
    current_profile_id: str = "default"
    count_tokens: Callable[[str], int]
    condense: Condense | None = None  # None: nothing can write a summary
    allowed: int | None = None  # replaces the limit that follows from the window
    pins: tuple[int, ...] = ()  # interactions of keyed messages that are never removed


Condense = Callable[[TruncateOptions], Awaitable[TruncateResponse]]


def truncate_conversation(messages: list[ApiMessage], frac_to_remove: float) -> list[ApiMessage]:
    """Remove a fraction of a plain user/assistant list: index 0 stays; of the others the first `floor((n - 1) *
    frac_to_remove)`, rounded down to an even number, are removed. Seven messages at 0.5 lose two. Ignores calls: see
    `truncate_safely`. Raises ValueError unless 0 <= `frac_to_remove` <= 1."""
    if not 0 <= frac_to_remove <= 1:
        raise ValueError(f"frac_to_remove must be between 0 and 1, got {frac_to_remove}")
    share = floor(max(0, len(messages) - 1) * frac_to_remove)
    return messages[:1] + messages[1 + share - share % 2 :]


def truncate_safely(
    messages: list[ApiMessage],
    fraction: float = _TRUNCATE_FRACTION,
    pins: tuple[int, ...] = (),
) -> list[ApiMessage]:
    """Remove about `fraction` of a valid history after its first user message; the result is valid.

    The system message, the first and the last user message, the newest step and, of keyed messages, the interactions in
    `pins` stay. The cut moves forward to the next user or assistant message. A stub separates two user messages that
    would meet. Returns an equal list if nothing can be removed."""
    unpinned = [message for message in messages if interaction_of(message) not in pins]
    shorter = _truncate_unpinned(unpinned, fraction)
    if len(unpinned) == len(messages):
        return shorter
    return normalize_keyed(merge_pinned(messages, shorter, pins))


def merge_pinned(
    messages: list[ApiMessage], smaller: list[ApiMessage], pins: tuple[int, ...]
) -> list[ApiMessage]:
    """Put the pinned ones of keyed messages back among those that are left; an inserted note stays before the message
    it precedes."""
    indexes = {key_of(message): index for index, message in enumerate(messages)}
    pinned = [message for message in messages if interaction_of(message) in pins]

    def position(message: ApiMessage) -> tuple[int, bool]:
        key = key_of(message)
        return indexes.get(key.removeprefix(note_key("")), len(indexes)), key in indexes

    return sorted([*smaller, *pinned], key=position)


def _truncate_unpinned(messages: list[ApiMessage], fraction: float) -> list[ApiMessage]:
    users = [i for i, message in enumerate(messages) if message["role"] == "user"]
    if not users:
        return list(messages)
    first = users[0]
    last = users[-1]
    beginning = messages[: first + 1]
    middle = messages[first + 1 : last]
    query: list[ApiMessage] = []
    steps = messages[first + 1 :]
    if last > first:
        query = [messages[last]]
        steps = messages[last + 1 :]
    if middle and middle[0].get("content") == _LEFT_OUT:
        middle = middle[1:]

    countable = [messages[first], *middle, *query, *steps]
    share = len(countable) - len(truncate_conversation(countable, fraction))
    from_middle = _safe_boundary(middle, min(share, len(middle)))
    from_steps = 0
    if share > from_middle:
        replies = [i for i, message in enumerate(steps) if message["role"] == "assistant"]
        newest = replies[-1] if replies else 0
        from_steps = min(_safe_boundary(steps, share - from_middle), newest)

    rest = [*middle[from_middle:], *query]
    shorter = [*beginning, *_separator(rest), *rest, *steps[from_steps:]]
    return shorter if len(shorter) < len(messages) else list(messages)


def _separator(rest: list[ApiMessage]) -> list[ApiMessage]:
    """Return what must stand between the first user message and the rest of a history: nothing, or a stub."""
    if not rest or rest[0]["role"] != "user":
        return []
    stub: ApiMessage = {"role": "assistant", "content": _LEFT_OUT}
    if KEY in rest[0]:
        stub[KEY] = note_key(rest[0][KEY])
    return [stub]


def loop_window(
    messages: list[ApiMessage],
    loop: int,
    after_loop: int = 5,
    more_than: int = 15,
    keep_last: int = 10,
) -> list[ApiMessage]:
    """Return the messages that a review loop continues with: after `after_loop` loops (`loop` counts from 1), if there
    are more than `more_than` messages, the first and the newest `keep_last`. The cut moves forward past results whose
    call would be missing, or back to their call if only such results would remain."""
    if loop <= after_loop or len(messages) <= more_than or not messages:
        return list(messages)
    if keep_last <= 0:
        return messages[:1]
    target = max(1, len(messages) - keep_last)
    start = target + _safe_boundary(messages[target:], 0)
    if start == len(messages):
        start = target
        while start > 1 and messages[start]["role"] == "tool":
            start -= 1
    return [messages[0], *messages[start:]]


async def truncate_conversation_if_needed(options: TruncateOptions) -> TruncateResponse:
    """Return the messages unchanged, summarised, or truncated by half.

    A summary is requested if it is enabled, there is a condenser, and the context (with its last message) has reached
    the effective threshold or exceeds the allowed tokens; truncation follows if it is still too large. A failure of the
    condenser is not raised but returned in `error`."""
    before = _context_tokens(options)
    allowed = options.allowed or allowed_tokens(options.context_window, options.max_tokens)
    threshold = effective_threshold(
        options.auto_condense_context_percent,
        options.profile_thresholds,
        options.current_profile_id,
    )
    has_reached = 100 * before >= threshold * options.context_window or before > allowed

    answer = TruncateResponse(messages=options.messages, prev_context_tokens=before)
    if options.auto_condense_context and options.condense is not None and has_reached:
        answer = await condense_checked(options, options.condense)
    after = before if answer.new_context_tokens is None else answer.new_context_tokens
    if after <= allowed:
        return answer
    return _truncate_once(options, answer)


async def condense_checked(options: TruncateOptions, condense: Condense) -> TruncateResponse:
    """Return a summarised conversation if the condenser's answer has messages and a summary and is smaller than what it
    replaces; otherwise the messages unchanged, with the `error`."""
    before = _context_tokens(options)
    untouched = TruncateResponse(messages=options.messages, prev_context_tokens=before)
    try:
        answer = await condense(options)
    except Exception as failure:  # noqa: BLE001  # a condenser may raise anything
        return replace(untouched, error=f"condensing failed: {failure or type(failure).__name__}")
    if not isinstance(answer, TruncateResponse):
        return replace(untouched, error="condensing returned nothing")

    after = answer.new_context_tokens
    if after is None:
        system = estimate_token_count(options.system_prompt, options.count_tokens)
        after = system + _size(answer.messages, options)
    error = answer.error
    if error is None and not (answer.messages and answer.summary.strip()):
        error = "condensing returned no summary"
    elif error is None and after >= before:
        error = f"the summary is no smaller: {after:,} tokens after, {before:,} before"
    if error is not None:
        return replace(untouched, cost=answer.cost, error=error or "condensing failed")
    return replace(answer, prev_context_tokens=before, new_context_tokens=after)


def _truncate_once(options: TruncateOptions, answer: TruncateResponse) -> TruncateResponse:
    """Truncate the answer's messages by half, unless a stub would take more than what is removed."""
    kept_messages = truncate_safely(answer.messages, pins=options.pins)
    gain = _size(answer.messages, options) - _size(kept_messages, options)
    if gain < 0:
        return answer
    _log.debug(
        "truncated conversation %s: %s of %s messages stay",
        options.task_id,
        len(kept_messages),
        len(answer.messages),
    )
    tokens = answer.new_context_tokens
    if tokens is not None:
        tokens -= gain
    return replace(answer, messages=kept_messages, new_context_tokens=tokens)


def _context_tokens(options: TruncateOptions) -> int:
    """Return the size of the whole context, with the last message."""
    return options.total_tokens + _size(options.messages[-1:], options)


def _size(messages: list[ApiMessage], options: TruncateOptions) -> int:
    return sum(count_text(message, options.count_tokens) for message in messages)


def _safe_boundary(messages: list[ApiMessage], target: int) -> int:
    """Return the first index from `target` on that does not separate a call from its result."""
    while target < len(messages) and messages[target]["role"] == "tool":
        target += 1
    return target
