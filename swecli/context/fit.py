"""Makes a request fit: measured before every step, reduced rung by rung only when it is too long."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from math import ceil

from swecli.context.budget import MAX_CHARACTERS, MAX_CONDENSE_THRESHOLD, request_limit
from swecli.context.keyed import lawful, with_note_keys
from swecli.context.shrink import CAPS, characters, clear_old_results, shrink_answers, shrink_results
from swecli.context.tokens import TokenCounter
from swecli.context.truncate import truncate_safely
from swecli.context.validate import legal
from swecli.models.context import KEY
from swecli.models.errors import ContextFull
from swecli.models.message import ApiMessage

CLEAR, TRUNCATE, SHRINK = RUNGS = ("clear", "truncate", "shrink")


@dataclass(frozen=True, slots=True)
class Taken:
    """A rung that was taken: `how` is clear, truncate or shrink; sizes of the whole request in tokens; `messages`
    are what it left."""

    how: str
    before: int
    after: int
    detail: str
    messages: list[ApiMessage]


@dataclass(frozen=True, slots=True)
class Fit:
    """A request that fits.

    `tokens` counts the tools too; `limit` is what is allowed, None where the model's window is unknown (then
    500,000 characters are); `estimated` is set when no table counted. A turn goes on from `messages`: what was
    taken out stays out, so that later requests only add to this one. `over` is set when it has reached the
    threshold or is too long even so, because not all rungs were to be taken.
    """

    messages: list[ApiMessage]
    tokens: int
    limit: int | None
    reduced: list[Taken] = field(default_factory=list)
    estimated: bool = False
    over: bool = False
    fits: bool = True


@dataclass(frozen=True, slots=True)
class _Size:
    tokens: int
    characters: int


@dataclass(frozen=True, slots=True)
class _Scales:
    counter: TokenCounter
    tools_tokens: int
    limit: int | None
    start: int | None
    scale: float

    def weigh(self, messages: list[ApiMessage]) -> _Size:
        counted = self.counter.count_messages(messages) + self.tools_tokens
        return _Size(ceil(counted * self.scale), characters(messages))

    def fits(self, size: _Size) -> bool:
        return size.characters <= MAX_CHARACTERS and (self.limit is None or size.tokens <= self.limit)

    def below_start(self, size: _Size) -> bool:
        return self.fits(size) and (self.start is None or size.tokens < self.start)

    def worth_it(self, before: _Size, after: _Size) -> bool:
        """Whether `after` is smaller; by a tenth of the limit at least when nothing forces the reduction.

        Each reduction changes bytes already sent, which the provider then bills in full once more.
        """
        if not self.fits(before):
            return after.tokens <= before.tokens and after.characters <= before.characters and after != before
        return before.tokens - after.tokens >= (self.limit or 0) / 10


# A rung yields ever smaller versions of the messages, each with a line that says what was done.
Rung = Callable[[list[ApiMessage]], Iterator[tuple[list[ApiMessage], str]]]


def fit(
    messages: list[ApiMessage],
    tools_tokens: int,
    counter: TokenCounter,
    context_window: int | None,
    max_output: int | None = None,
    threshold: int = MAX_CONDENSE_THRESHOLD,
    *,
    rungs: Sequence[str] = RUNGS,
    fixed: Callable[[ApiMessage], bool] | None = None,
    hold: int = 0,
    scale: float = 1.0,
) -> Fit:
    """The messages as a legal request that is not too long; the input is not changed.

    Nothing is reduced while the request is within what is allowed and below `threshold` percent of the window.
    Then, in this order: old results become stubs (the newest five stay); half of the messages behind the first
    user message go, again and again; the largest results, then the assistant's own texts are cut. A rung that
    does not make the request smaller is passed over.

    Args:
        messages: the system message first, the running turn last.
        tools_tokens: size of the tools' specifications, which cannot be reduced.
        context_window: of the model, in tokens; None where unknown.
        max_output: tokens to reserve for the answer; None reserves 8192.
        rungs: those that may be taken; the last one is what stops: without it nothing is raised.
        fixed: messages of which it is true are never touched (whole interactions: those that are pinned).
        hold: tokens below which nothing is reduced that need not be.
        scale: what the provider counted for the last request, divided by our own count of it.

    Raises:
        ContextFull: when nothing more can be taken out and it is still too long; names the sizes.
    """
    start = context_window * threshold // 100 if context_window and threshold < MAX_CONDENSE_THRESHOLD else None
    start = max(start, hold) if start is not None else None
    scales = _Scales(counter, tools_tokens, request_limit(context_window, max_output), start, scale)
    ladder: list[tuple[str, Rung, Callable[[_Size], bool]]] = [
        (CLEAR, partial(_around, fixed, _clear), scales.below_start),
        (TRUNCATE, partial(_around, fixed, _truncate), scales.fits),
        (SHRINK, partial(_around, fixed, _shrink), scales.fits),
    ]
    current = legal(messages)
    size = scales.weigh(current)
    reduced: list[Taken] = []
    for how, rung, enough in ladder:
        taken = _climb(how, rung, enough, current, scales) if how in rungs else None
        if taken is not None:
            current, size = taken.messages, scales.weigh(taken.messages)
            reduced.append(taken)
    if SHRINK in rungs and not scales.fits(size):
        raise _full(current, size, scales)
    over, fits = not scales.below_start(size), scales.fits(size)
    return Fit(current, size.tokens, scales.limit, reduced, counter.estimated, over, fits)


def _climb(
    how: str, rung: Rung, enough: Callable[[_Size], bool], messages: list[ApiMessage], scales: _Scales
) -> Taken | None:
    """Take a rung as far as needed; None when it brings nothing, or nothing is needed."""
    before = size = scales.weigh(messages)
    current, said = messages, ""
    for smaller, detail in rung(messages) if not enough(size) else ():
        after = scales.weigh(smaller)
        if not scales.worth_it(size, after):
            continue
        current, size, said = smaller, after, detail
        if enough(size):
            break
    return Taken(how, before.tokens, size.tokens, said, with_note_keys(current)) if said else None


def _around(
    fixed: Callable[[ApiMessage], bool] | None, rung: Rung, messages: list[ApiMessage]
) -> Iterator[tuple[list[ApiMessage], str]]:
    """The rung on all that is not fixed; what is fixed stays where it stands."""
    if fixed is None or not any(fixed(message) for message in messages):
        yield from rung(messages)
        return
    free = [message for message in messages if not fixed(message)]
    for smaller, detail in rung(free):
        yield lawful(with_note_keys(_woven(messages, smaller, fixed))), detail


def _woven(
    messages: list[ApiMessage], smaller: list[ApiMessage], fixed: Callable[[ApiMessage], bool]
) -> list[ApiMessage]:
    """Put the fixed messages back: each before the first free one that stood behind it and is still there."""
    places = {message[KEY]: place for place, message in enumerate(messages)}
    waiting = [(place, message) for place, message in enumerate(messages) if fixed(message)]
    out: list[ApiMessage] = []
    unplaced: list[ApiMessage] = []
    for message in smaller:
        if KEY not in message:  # a new line, which belongs to the message behind it
            unplaced.append(message)
            continue
        while waiting and waiting[0][0] < places[message[KEY]]:
            out.append(waiting.pop(0)[1])
        out += [*unplaced, message]
        unplaced = []
    return [*out, *unplaced, *(message for _, message in waiting)]


def _clear(messages: list[ApiMessage]) -> Iterator[tuple[list[ApiMessage], str]]:
    cleared, count = clear_old_results(messages)
    if count:
        yield cleared, f"{count} old tool results became stubs"


def _truncate(messages: list[ApiMessage]) -> Iterator[tuple[list[ApiMessage], str]]:
    current = messages
    while len(shorter := truncate_safely(current)) < len(current):
        current = shorter
        yield current, f"{len(messages) - len(current)} old messages left out"


def _shrink(messages: list[ApiMessage]) -> Iterator[tuple[list[ApiMessage], str]]:
    current = messages
    for cap in CAPS:
        current = shrink_results(current, cap)
        yield current, f"tool results cut to {cap} characters"
    for cap in CAPS:
        current = shrink_answers(current, cap)
        yield current, f"tool results and the assistant's texts cut to {cap} characters"


def _full(messages: list[ApiMessage], size: _Size, scales: _Scales) -> ContextFull:
    parts = {"tools": scales.tools_tokens}
    for message in messages:
        name = {"system": "system prompt", "user": "your messages"}.get(message["role"], "answers and results")
        parts[name] = parts.get(name, 0) + scales.counter.count_message(message)
    listed = ", ".join(f"{name} {tokens:,}" for name, tokens in parts.items() if tokens)
    has, fits, unit = size.characters, MAX_CHARACTERS, "characters"
    if scales.limit is not None and size.tokens > scales.limit:
        has, fits, unit = size.tokens, scales.limit, "tokens"
    line = f"The request has {has:,} {unit}, {fits:,} fit, and nothing more can be taken out"
    hint = f"Sizes in tokens: {listed}. Send less, start a /new session, or choose a model with a larger window."
    return ContextFull(f"{line}.", hint)
