"""What a condensing step is given and returns, and the one place that decides whether its answer is accepted."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace

from swecli.context.tokens import estimate_token_count
from swecli.models.message import ApiMessage


@dataclass(slots=True)
class TruncateResponse:
    """Outcome of one decision.

    `cost` in US dollars; `prev_context_tokens` is the size before, with the last message; `new_context_tokens` the
    size after a summary, None where there was none; `error` says why a condenser's answer was not taken.
    """

    messages: list[ApiMessage]
    summary: str = ""
    cost: float = 0.0
    prev_context_tokens: int = 0
    new_context_tokens: int | None = None
    error: str | None = None


@dataclass(slots=True, kw_only=True)
class TruncateOptions:
    """All that one decision depends on.

    `total_tokens` leaves out the last message; `context_window` and `max_tokens` are in tokens;
    `auto_condense_context_percent` is the global threshold, `profile_thresholds` the profiles' own (-1 inherits);
    `count_tokens` counts a text; `condense` makes a summary, None where none can be made. `allowed` are the tokens
    that a request may have where more is known of the model than its window; `truncate` cuts what a decision has come
    to so far where more has to be kept than `truncate_safely` knows of.
    """

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
    condense: Callable[[TruncateOptions], Awaitable[TruncateResponse]] | None = None
    allowed: int | None = None
    truncate: Callable[[TruncateResponse], list[ApiMessage]] | None = None


async def try_condensing(options: TruncateOptions, before: int) -> TruncateResponse:
    """Ask `options.condense`, and judge what comes back; `before` is the size in tokens until now.

    The answer is taken when it has messages and a summary and is smaller than what it replaces; its size is
    counted where it does not say it. Otherwise `error` is set and the messages are the old ones. A cancellation
    passes through.
    """
    untouched = TruncateResponse(messages=options.messages, prev_context_tokens=before)
    if options.condense is None:
        return replace(untouched, error="there is no condenser")
    try:
        answer = await options.condense(options)
    except Exception as failure:  # noqa: BLE001  # a condenser is foreign code: its failure is a value here
        return replace(untouched, error=f"condensing failed: {failure or type(failure).__name__}")
    if not isinstance(answer, TruncateResponse):
        return replace(untouched, error="condensing returned nothing")
    after = answer.new_context_tokens if answer.new_context_tokens is not None else _size(answer, options)
    if reason := _refused(answer, before, after):
        return replace(untouched, cost=answer.cost, error=reason)
    return replace(answer, prev_context_tokens=before, new_context_tokens=after)


def _refused(answer: TruncateResponse, before: int, after: int) -> str | None:
    if answer.error is not None:
        return answer.error or "condensing failed"
    if not answer.messages or not answer.summary.strip():
        return "condensing returned no summary"
    if after >= before:
        return f"the summary is no smaller: {after:,} tokens after, {before:,} before"
    return None


def _size(answer: TruncateResponse, options: TruncateOptions) -> int:
    contents = sum(estimate_token_count(message.get("content"), options.count_tokens) for message in answer.messages)
    return contents + estimate_token_count(options.system_prompt, options.count_tokens)
