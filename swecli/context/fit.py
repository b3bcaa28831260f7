"""Makes a request fit: measured before every step, reduced rung by rung only when it is too long."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import ceil

from swecli.context.budget import MAX_CHARACTERS, MAX_CONDENSE_THRESHOLD, SMALL_WINDOW, request_limit
from swecli.context.epochs import changes, interaction_of, key_of, lawful, with_note_keys
from swecli.context.tokens import TokenCounter
from swecli.context.truncate import (
    CAPS,
    characters,
    clear_old_pictures,
    clear_old_results,
    results_kept,
    shrink_answers,
    shrink_queries,
    shrink_results,
    truncate_safely,
)
from swecli.context.validate import legal
from swecli.models.context import Edits, note_key
from swecli.models.errors import ContextFull
from swecli.models.message import ApiMessage

# Parts of the conversation's room: what a reduction that nobody needs must gain; what a summary, which is paid for,
# must take the place of, and in a small model where the window keeps turns; what a reduction that is needed leaves,
# and what one leaves where there were too many.
_BATCH, _SUMMARY_BATCH, _SUMMARY_OF_TURNS, LEFT, LEFT_DEEP = 0.2, 0.5, 0.7, 0.75, 0.5
CLEAR, TRUNCATE, SHRINK = _RUNGS = ("clear", "truncate", "shrink")
# What is cut, in this order, and to which lengths: of the user's words first what was pasted, the rest last of all.
_SHRINKS = (
    (shrink_queries, CAPS[:3], "earlier queries"),
    (shrink_results, CAPS, "tool results"),
    (shrink_answers, CAPS, "the assistant's texts"),
    (shrink_queries, CAPS[3:], "earlier queries"),
)


@dataclass(frozen=True, slots=True)
class RequestLimits:
    """What a request is held to. `window` of the model in tokens, None where unknown; `reserve` tokens for the answer
    (None: 8192); `threshold` in percent of the window; `allowed` tokens where the model has proved to take no more.
    `scale` is the provider's count of the last request divided by ours; below `hold` tokens nothing is reduced that
    need not be; interactions in `pins` are never touched; `tools_tokens` cannot be reduced."""

    window: int | None
    reserve: int | None = None
    threshold: int = MAX_CONDENSE_THRESHOLD
    allowed: int | None = None
    scale: float = 1.0
    hold: int = 0
    pins: tuple[int, ...] = ()
    tools_tokens: int = 0

    @property
    def limit(self) -> int | None:
        """Tokens that a request may have; None where that is unknown: then 500,000 characters are."""
        return self.allowed or request_limit(self.window, self.reserve)

    @property
    def start(self) -> int | None:
        """Tokens from which on a request is reduced; None where only one that is too long is."""
        window = round(self.allowed / 0.9) if self.allowed else self.window
        if not window or self.threshold >= MAX_CONDENSE_THRESHOLD:
            return None
        return max(window * self.threshold // 100, self.hold)


@dataclass(frozen=True, slots=True)
class Measured:
    """The size of a request in tokens, the tools' counted too, against `limit`, None where the model's window is
    unknown. `over` is set when it has reached the threshold or is too long; `estimated` when no table counted."""

    tokens: int
    limit: int | None
    over: bool
    fits: bool
    estimated: bool
    characters: int


@dataclass(frozen=True, slots=True)
class Reduced:
    """A rung that was taken: `how` is clear, truncate or shrink; sizes of the whole request in tokens; `messages`
    are what it left, `edits` what it changed."""

    how: str
    messages: list[ApiMessage]
    edits: Edits
    before: int
    after: int
    detail: str


def measure(messages: list[ApiMessage], limits: RequestLimits, counter: TokenCounter) -> Measured:
    """The size of a request as it stands."""
    tokens = ceil((counter.count_messages(messages) + limits.tools_tokens) * limits.scale)
    length, limit, start = characters(messages), limits.limit, limits.start
    fits = length <= MAX_CHARACTERS and (limit is None or tokens <= limit)
    return Measured(tokens, limit, not fits or (start is not None and tokens >= start), fits, counter.estimated, length)


def reduce(messages: list[ApiMessage], rung: str, limits: RequestLimits, counter: TokenCounter) -> Reduced | None:
    """The messages with one rung taken as far as needed; None when nothing is needed, or it brings nothing. "clear"
    puts stubs in the place of old results where the threshold is reached; "truncate" leaves out half of the messages
    behind the first user message, again and again, and "shrink" cuts long texts (see _SHRINKS): both only until the
    request is not too long. The input is not changed."""

    def needed(size: Measured) -> bool:
        return size.over if rung == CLEAR else not size.fits

    before = size = measure(messages, limits, counter)
    current, detail = messages, ""
    batch = room(messages, limits, counter) * _BATCH
    for smaller, line in _versions(messages, rung, limits) if needed(size) else ():
        after = measure(smaller, limits, counter)
        if not _worth_it(size, after, batch):
            continue
        current, size, detail = smaller, after, line
        if not needed(size):
            break
    if not detail:
        return None
    current = with_note_keys(current)
    return Reduced(rung, current, changes(messages, current), before.tokens, size.tokens, detail)


def fit(
    messages: list[ApiMessage], limits: RequestLimits, counter: TokenCounter, rungs: Sequence[str] = _RUNGS
) -> tuple[list[ApiMessage], list[Reduced]]:
    """The messages as a legal request that is not too long, and the rungs that it took, in their order; the input is
    not changed. Nothing is reduced while it is within what is allowed and below the threshold. Raises ContextFull,
    which names the sizes, when nothing more can be taken out and it is still too long."""
    current, taken = legal(messages), list[Reduced]()
    for rung in rungs:
        if reduced := reduce(current, rung, limits, counter):
            current = reduced.messages
            taken.append(reduced)
    require_fit(current, limits, counter)
    return current, taken


def require_fit(messages: list[ApiMessage], limits: RequestLimits, counter: TokenCounter) -> None:
    """Raises ContextFull, which names the sizes, for a request that is too long."""
    size = measure(messages, limits, counter)
    if size.fits:
        return
    parts = {"tools": limits.tools_tokens}
    for message in messages:
        name = {"system": "system prompt", "user": "your messages"}.get(message["role"], "answers and results")
        parts[name] = parts.get(name, 0) + counter.count_message(message)
    listed = ", ".join(f"{name} {tokens:,}" for name, tokens in parts.items() if tokens)
    has = f"{size.characters:,} characters, {MAX_CHARACTERS:,} fit"
    if size.limit is not None and size.tokens > size.limit:
        has = f"{size.tokens:,} tokens, {size.limit:,} fit"
    pinned = sum(counter.count_message(message) for message in messages if interaction_of(message) in limits.pins)
    less = f"Send less, /unpin a turn (all of them: {pinned:,})" if pinned else "Send less"
    hint = f"Sizes in tokens: {listed}. {less}, start a /new session, or choose a model with a larger window."
    raise ContextFull(f"The request has {has}, and nothing more can be taken out.", hint)


def room(messages: list[ApiMessage], limits: RequestLimits, counter: TokenCounter) -> float:
    """Tokens that are left for the conversation beside tools and system message; 0 where the limit is unknown."""
    return max(0.0, (limits.limit or 0) - fixed_tokens(messages, limits, counter))


def summary_share(window: int | None, keeps_turns: bool) -> float:
    """The part of the room that a summary must take the place of, in a model's window of so many tokens."""
    return _SUMMARY_OF_TURNS if keeps_turns and window and window <= SMALL_WINDOW else _SUMMARY_BATCH


def fixed_tokens(messages: list[ApiMessage], limits: RequestLimits, counter: TokenCounter) -> int:
    """Tokens of what no reduction takes out: tools and system message."""
    system = sum(counter.count_message(message) for message in messages[:1] if message["role"] == "system")
    return ceil((limits.tools_tokens + system) * limits.scale)


def lowered(messages: list[ApiMessage], limits: RequestLimits, counter: TokenCounter, share: float) -> RequestLimits:
    """Limits that leave the conversation only a `share` of its room: what has to be reduced is reduced by so much that
    the next reduction is some steps away."""
    if limits.limit is None:
        return limits
    fixed = fixed_tokens(messages, limits, counter)
    return replace(limits, allowed=max(1, fixed + int((limits.limit - fixed) * share)))


def _worth_it(before: Measured, after: Measured, batch: float) -> bool:
    """Whether `after` is smaller; by a whole batch when nothing forces the reduction: each changes bytes already sent,
    which the provider then bills in full once more."""
    if not before.fits:
        same = (after.tokens, after.characters) == (before.tokens, before.characters)
        return after.tokens <= before.tokens and after.characters <= before.characters and not same
    return before.tokens - after.tokens >= max(1.0, batch)


_Versions = Iterator[tuple[list[ApiMessage], str]]


def _versions(messages: list[ApiMessage], rung: str, limits: RequestLimits) -> _Versions:
    """Ever smaller versions of the messages, each with a line that says what was done; what is pinned stays where it
    stands."""
    free = [message for message in messages if interaction_of(message) not in limits.pins]
    for smaller, detail in _smaller(free, rung, limits):
        pinned = len(free) < len(messages)
        yield lawful(_woven(messages, smaller, limits.pins)) if pinned else smaller, detail


def _woven(messages: list[ApiMessage], smaller: list[ApiMessage], pins: tuple[int, ...]) -> list[ApiMessage]:
    """Put the pinned messages back where they stood; a new line stays with the message behind it."""
    places = {key_of(message): place for place, message in enumerate(messages)}
    pinned = [message for message in messages if interaction_of(message) in pins]

    def place(message: ApiMessage) -> tuple[int, bool]:
        key = key_of(message)
        return places.get(key.removeprefix(note_key("")), len(places)), key in places

    return sorted([*with_note_keys(smaller), *pinned], key=place)


def _smaller(messages: list[ApiMessage], rung: str, limits: RequestLimits) -> _Versions:
    current = messages
    if rung == CLEAR:
        cleared, count = clear_old_results(messages, results_kept(limits.limit))
        cleared, pictures = clear_old_pictures(cleared)
        if count or pictures:
            named = [f"{count} old tool results became stubs"] if count else []
            yield cleared, ", ".join([*named, *([f"{pictures} old pictures left out"] if pictures else [])])
    elif rung == TRUNCATE:
        while len(shorter := truncate_safely(current)) < len(current):
            current = shorter
            yield current, f"{len(messages) - len(current)} old messages left out"
    else:
        named = list[str]()
        for shrink, caps, name in _SHRINKS:
            for cap in caps:
                shorter = shrink(current, cap)
                if shorter != current:
                    current, named = shorter, named if name in named else [*named, name]
                    yield current, f"{' and '.join(named)} cut to {cap} characters"
