"""Cutting old messages away: the plain rule for two roles, the pair-safe one for real histories, the loop's window."""

from __future__ import annotations

from dataclasses import replace
from math import floor

from swecli.context.budget import allowed_tokens, effective_threshold
from swecli.context.condense import TruncateOptions, TruncateResponse, try_condensing
from swecli.context.tokens import estimate_token_count
from swecli.models.message import ApiMessage

LEFT_OUT = "(Messages between the first request and this point were left out to save room.)"
TRUNCATE_FRACTION = 0.5


def truncate_conversation(messages: list[ApiMessage], frac_to_remove: float) -> list[ApiMessage]:
    """Remove a fraction of a plain user/assistant list once, behind its first message.

    Index 0 stays; of the others `floor((n - 1) * frac_to_remove)`, rounded down to an even number, are removed
    from the front. Seven messages at 0.5 lose two. Knows nothing of calls and results: see `truncate_safely`.

    Raises:
        ValueError: when `frac_to_remove` is not between 0 and 1.
    """
    return messages[:1] + messages[1 + _even_share(max(0, len(messages) - 1), frac_to_remove) :]


def truncate_safely(messages: list[ApiMessage], fraction: float = TRUNCATE_FRACTION) -> list[ApiMessage]:
    """Remove about `fraction` of a legal history behind its first user message; it stays legal.

    What stays in any case: the system message, the first user message, the last user message (the turn that is
    running) and the newest step. The cut moves on to the next safe boundary: before a user message, or before an
    assistant message (whose predecessor's calls are all answered, the history being legal). Where two user
    messages would meet, one line says that something is missing. When nothing can be removed an equal list comes
    back.
    """
    users = [i for i, message in enumerate(messages) if message["role"] == "user"]
    if not users:
        return list(messages)
    first, last = users[0], users[-1]
    head, middle = messages[: first + 1], messages[first + 1 : last]
    turn, steps = ([messages[last]], messages[last + 1 :]) if last > first else ([], messages[first + 1 :])
    if middle and middle[0].get("content") == LEFT_OUT:
        middle = middle[1:]
    plain = [messages[first], *middle, *turn, *steps]
    share = len(plain) - len(truncate_conversation(plain, fraction))
    from_middle = _safe_boundary(middle, min(share, len(middle)))
    from_steps = min(_safe_boundary(steps, share - from_middle), _newest_step(steps)) if share > from_middle else 0
    middle, steps = middle[from_middle:], steps[from_steps:]
    behind = [*middle, *turn]
    joint = [_note()] if behind and behind[0]["role"] == "user" else []
    shorter = [*head, *joint, *behind, *steps]
    return shorter if len(shorter) < len(messages) else list(messages)


def loop_window(
    messages: list[ApiMessage], loop: int, after_loop: int = 5, more_than: int = 15, keep_last: int = 10
) -> list[ApiMessage]:
    """What a review loop goes on with: from a certain loop on, the first message and the newest few.

    Args:
        messages: the system message (or the task) first.
        loop: number of the loop, from 1.
        after_loop: nothing is cut up to and including this loop.
        more_than: nothing is cut while there are no more messages than this.
        keep_last: messages kept at most, besides the first. The cut moves forward past results whose call would
            be missing; where only such results would be left it moves back to their call.
    """
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
    """Decide once: nothing, a summary, or one truncation of a half.

    A summary is asked for when it is enabled, there is a condenser, and the context (with its last message) has
    reached the effective threshold or exceeds what is allowed. After it the size is checked again, and truncation
    follows if it is still too large. A condenser that fails, or returns nothing useful, never raises here: its
    reason stands in `error`, and truncation takes its place if the context exceeds what is allowed.
    """
    last = options.messages[-1].get("content") if options.messages else None
    before = options.total_tokens + estimate_token_count(last, options.count_tokens)
    allowed = options.allowed or allowed_tokens(options.context_window, options.max_tokens)
    percent = options.auto_condense_context_percent
    threshold = effective_threshold(percent, options.profile_thresholds, options.current_profile_id)
    reached = 100 * before >= threshold * options.context_window or before > allowed
    answer = TruncateResponse(messages=options.messages, prev_context_tokens=before)
    if options.auto_condense_context and options.condense is not None and reached:
        answer = await try_condensing(options, before)
        if answer.error is None:
            return _checked_again(answer, allowed, options)
    return replace(answer, messages=_cut(answer, options)) if before > allowed else answer


def _checked_again(answer: TruncateResponse, allowed: int, options: TruncateOptions) -> TruncateResponse:
    if answer.new_context_tokens is None or answer.new_context_tokens <= allowed:
        return answer
    kept = _cut(answer, options)
    sizes = [
        sum(estimate_token_count(message.get("content"), options.count_tokens) for message in messages)
        for messages in (answer.messages, kept)
    ]
    return replace(answer, messages=kept, new_context_tokens=answer.new_context_tokens - sizes[0] + sizes[1])


def _cut(answer: TruncateResponse, options: TruncateOptions) -> list[ApiMessage]:
    return options.truncate(answer) if options.truncate else truncate_safely(answer.messages)


def _note() -> ApiMessage:
    return {"role": "assistant", "content": LEFT_OUT}


def _even_share(count: int, fraction: float) -> int:
    if not 0 <= fraction <= 1:
        raise ValueError(f"the fraction to remove is between 0 and 1, got {fraction}")
    share = floor(count * fraction)
    return share - share % 2


def _safe_boundary(messages: list[ApiMessage], wanted: int) -> int:
    """The first index from `wanted` on that does not stand between a call and its result."""
    while wanted < len(messages) and messages[wanted]["role"] == "tool":
        wanted += 1
    return wanted


def _newest_step(steps: list[ApiMessage]) -> int:
    """Index of the last assistant message of a turn: its results follow it."""
    found = [i for i, message in enumerate(steps) if message["role"] == "assistant"]
    return found[-1] if found else 0
