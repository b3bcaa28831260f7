"""Truncates a history, with calls and results kept together, and decides between a summary and a truncation."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from math import floor

from swecli.context.budget import allowed_tokens, effective_threshold
from swecli.context.tokens import estimate_token_count
from swecli.models.context import KEY, note_key
from swecli.models.message import ApiMessage

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


def truncate_safely(
    messages: list[ApiMessage], fraction: float = _TRUNCATE_FRACTION
) -> list[ApiMessage]:
    """Remove about `fraction` of a valid history after its first user message; the result is valid.

    The system message, the first and the last user message and the newest step stay. The cut moves forward to the next
    user or assistant message. A stub separates two user messages that would meet. Returns an equal list if nothing can
    be removed."""
    users = [i for i, message in enumerate(messages) if message["role"] == "user"]
    if not users:
        return list(messages)
    first, last = users[0], users[-1]
    head, middle = messages[: first + 1], messages[first + 1 : last]
    turn, steps = (
        ([messages[last]], messages[last + 1 :]) if last > first else ([], messages[first + 1 :])
    )
    if middle and middle[0].get("content") == _LEFT_OUT:
        middle = middle[1:]
    plain = [messages[first], *middle, *turn, *steps]
    share = len(plain) - len(truncate_conversation(plain, fraction))
    from_middle = _safe_boundary(middle, min(share, len(middle)))
    newest = max(
        (i for i, message in enumerate(steps) if message["role"] == "assistant"), default=0
    )
    from_steps = (
        min(_safe_boundary(steps, share - from_middle), newest) if share > from_middle else 0
    )
    middle, steps = middle[from_middle:], steps[from_steps:]
    rest = [*middle, *turn]
    stubs: list[ApiMessage] = []
    if rest and rest[0]["role"] == "user":
        key = {KEY: note_key(rest[0][KEY])} if KEY in rest[0] else {}
        stubs.append({"role": "assistant", "content": _LEFT_OUT, **key})
    shorter = [*head, *stubs, *rest, *steps]
    return shorter if len(shorter) < len(messages) else list(messages)


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


async def _try_condensing(
    options: TruncateOptions, condense: _Condense, before: int
) -> TruncateResponse:
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
        after = _size(answer.messages, options) + estimate_token_count(
            options.system_prompt, options.count_tokens
        )
    if error is None and not (answer.messages and answer.summary.strip()):
        error = "condensing returned no summary"
    elif error is None and after >= before:
        error = f"the summary is no smaller: {after:,} tokens after, {before:,} before"
    if error is not None:
        return replace(untouched, cost=answer.cost, error=error or "condensing failed")
    return replace(answer, prev_context_tokens=before, new_context_tokens=after)


def _size(messages: list[ApiMessage], options: TruncateOptions) -> int:
    return sum(
        estimate_token_count(message.get("content"), options.count_tokens) for message in messages
    )


def _safe_boundary(messages: list[ApiMessage], wanted: int) -> int:
    """Return the first index from `wanted` on that does not separate a call from its result."""
    while wanted < len(messages) and messages[wanted]["role"] == "tool":
        wanted += 1
    return wanted
