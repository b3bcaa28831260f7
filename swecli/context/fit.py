"""Makes a request fit: measured before every step, reduced rung by rung only when it is too long."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from swecli.context.budget import MAX_CHARACTERS, MAX_CONDENSE_THRESHOLD, request_limit
from swecli.context.shrink import CAPS, characters, clear_old_results, shrink_answers, shrink_results
from swecli.context.tokens import TokenCounter
from swecli.context.truncate import truncate_safely
from swecli.context.validate import legal
from swecli.models.errors import ContextFull
from swecli.models.message import ApiMessage


@dataclass(frozen=True, slots=True)
class Reduction:
    """One rung that was taken: `how` is clear, truncate or shrink; sizes of the whole request in tokens."""

    how: str
    before: int
    after: int
    detail: str


@dataclass(frozen=True, slots=True)
class Fit:
    """A request that fits.

    `tokens` counts the tools too; `limit` is what is allowed, None where the model's window is unknown (then
    500,000 characters are); `estimated` is set when no table counted. A turn goes on from `messages`: what was
    taken out stays out, so that later requests only add to this one.
    """

    messages: list[ApiMessage]
    tokens: int
    limit: int | None
    reduced: list[Reduction] = field(default_factory=list)
    estimated: bool = False


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

    def weigh(self, messages: list[ApiMessage]) -> _Size:
        return _Size(self.counter.count_messages(messages) + self.tools_tokens, characters(messages))

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

    Raises:
        ContextFull: when nothing more can be taken out and it is still too long; names the sizes.
    """
    start = context_window * threshold // 100 if context_window and threshold < MAX_CONDENSE_THRESHOLD else None
    scales = _Scales(counter, tools_tokens, request_limit(context_window, max_output), start)
    current = legal(messages)
    size = scales.weigh(current)
    reduced: list[Reduction] = []
    rungs: list[tuple[str, Rung, Callable[[_Size], bool]]] = [
        ("clear", _clear, scales.below_start),
        ("truncate", _truncate, scales.fits),
        ("shrink", _shrink, scales.fits),
    ]
    for how, rung, enough in rungs:
        before, said = size, ""
        for smaller, detail in rung(current) if not enough(size) else ():
            after = scales.weigh(smaller)
            if not scales.worth_it(size, after):
                continue
            current, size, said = smaller, after, detail
            if enough(size):
                break
        if size is not before:
            reduced.append(Reduction(how, before.tokens, size.tokens, said))
    if not scales.fits(size):
        raise _full(current, size, scales)
    return Fit(current, size.tokens, scales.limit, reduced, counter.estimated)


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
