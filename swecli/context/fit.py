"""The reduction ladder: makes a request fit, rung by rung, and only as far as needed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import ceil

from swecli.context.budget import MAX_CHARACTERS, SMALL_WINDOW, RequestLimits, RequestSize, measure
from swecli.context.epochs import assign_note_keys, diff_messages, interaction_of, key_of, normalize_keyed
from swecli.context.tokens import TokenCounter
from swecli.context.truncate import (
    CAPS,
    clear_old_pictures,
    clear_old_results,
    count_kept_results,
    shrink_texts,
    truncate_safely,
)
from swecli.context.validate import normalize
from swecli.models.context import Edits, note_key
from swecli.models.errors import ContextFull
from swecli.models.message import ApiMessage

# Shares of the conversation's room: the least gain of an optional reduction; the least that a summary, which costs
# money, must replace, and in a small model whose window still holds turns; what a necessary reduction leaves, and what
# it leaves if there were too many.
_BATCH, _SUMMARY_BATCH, _SUMMARY_OF_TURNS, LEFT, LEFT_DEEP = 0.2, 0.5, 0.7, 0.75, 0.5
CLEAR, TRUNCATE, SHRINK = _RUNGS = ("clear", "truncate", "shrink")
# What is cut, in this order, and to which lengths: of the user's text first what was pasted, the rest last of all.
_SHRINKS = (
    ("user", CAPS[:3], "earlier queries"),
    ("tool", CAPS, "tool results"),
    ("assistant", CAPS, "the assistant's texts"),
    ("user", CAPS[3:], "earlier queries"),
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


def reduce(messages: list[ApiMessage], rung: str, limits: RequestLimits, counter: TokenCounter) -> RungResult | None:
    """Apply one rung as far as needed; return None if nothing is needed or gained. The input is not changed.

    "clear" replaces old results by stubs once the threshold is reached. "truncate" repeatedly removes half of the
    messages after the first user message, and "shrink" cuts long texts (see _SHRINKS), both only until it fits."""

    def is_needed(size: RequestSize) -> bool:
        return size.over if rung == CLEAR else not size.fits

    before = size = measure(messages, limits, counter)
    current, detail = messages, ""
    batch = conversation_room(messages, limits, counter) * _BATCH
    for smaller, line in _versions(messages, rung, limits) if is_needed(size) else ():
        after = measure(smaller, limits, counter)
        if not _is_worthwhile(size, after, batch):
            continue
        current, size, detail = smaller, after, line
        if not is_needed(size):
            break
    if not detail:
        return None
    current = assign_note_keys(current)
    return RungResult(rung, current, diff_messages(messages, current), before.tokens, size.tokens, detail)


def fit(
    messages: list[ApiMessage], limits: RequestLimits, counter: TokenCounter, rungs: Sequence[str] = _RUNGS
) -> tuple[list[ApiMessage], list[RungResult]]:
    """Return the messages as a valid request that fits, and the rungs applied, in their order. The input is not
    changed. Raises ContextFull if the request is too long after all rungs."""
    current, applied = normalize(messages), list[RungResult]()
    for rung in rungs:
        if result := reduce(current, rung, limits, counter):
            current = result.messages
            applied.append(result)
    require_fit(current, limits, counter)
    return current, applied


def require_fit(messages: list[ApiMessage], limits: RequestLimits, counter: TokenCounter) -> None:
    """Raise ContextFull, with the sizes of all parts, if the request is too long."""
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


def conversation_room(messages: list[ApiMessage], limits: RequestLimits, counter: TokenCounter) -> float:
    """Return the tokens left for the conversation besides tools and system message; 0 if the limit is unknown."""
    return max(0.0, (limits.limit or 0) - fixed_tokens(messages, limits, counter))


def summary_share(window: int | None, keeps_turns: bool) -> float:
    """Return the share of the room that a summary must replace, for a model's window in tokens."""
    return _SUMMARY_OF_TURNS if keeps_turns and window and window <= SMALL_WINDOW else _SUMMARY_BATCH


def fixed_tokens(messages: list[ApiMessage], limits: RequestLimits, counter: TokenCounter) -> int:
    """Count the tokens that no reduction removes: tools and system message."""
    system = sum(counter.count_message(message) for message in messages[:1] if message["role"] == "system")
    return ceil((limits.tools_tokens + system) * limits.scale)


def lower_limits(
    messages: list[ApiMessage], limits: RequestLimits, counter: TokenCounter, share: float
) -> RequestLimits:
    """Return limits that leave the conversation only a `share` of its room, to delay the next reduction."""
    if limits.limit is None:
        return limits
    fixed = fixed_tokens(messages, limits, counter)
    return replace(limits, allowed=max(1, fixed + int((limits.limit - fixed) * share)))


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
        yield normalize_keyed(_merge_pinned(messages, smaller, limits.pins)) if has_pins else smaller, detail


def _merge_pinned(messages: list[ApiMessage], smaller: list[ApiMessage], pins: tuple[int, ...]) -> list[ApiMessage]:
    """Put the pinned messages back in place; an inserted note stays before the message it precedes."""
    places = {key_of(message): place for place, message in enumerate(messages)}
    pinned = [message for message in messages if interaction_of(message) in pins]

    def place(message: ApiMessage) -> tuple[int, bool]:
        key = key_of(message)
        return places.get(key.removeprefix(note_key("")), len(places)), key in places

    return sorted([*assign_note_keys(smaller), *pinned], key=place)


def _unpinned_versions(messages: list[ApiMessage], rung: str, limits: RequestLimits) -> _Versions:
    current = messages
    if rung == CLEAR:
        cleared, count = clear_old_results(messages, count_kept_results(limits.limit))
        cleared, pictures = clear_old_pictures(cleared)
        named = [f"{count} old tool results became stubs"] if count else []
        named += [f"{pictures} old pictures left out"] if pictures else []
        if named:
            yield cleared, ", ".join(named)
    elif rung == TRUNCATE:
        while len(shorter := truncate_safely(current)) < len(current):
            current = shorter
            yield current, f"{len(messages) - len(current)} old messages left out"
    else:
        named = list[str]()
        for role, caps, name in _SHRINKS:
            for cap in caps:
                shorter = shrink_texts(current, role, cap)
                if shorter != current:
                    current, named = shorter, named if name in named else [*named, name]
                    yield current, f"{' and '.join(named)} cut to {cap} characters"
