"""The reflection window: how many interactions it holds, and when a turn begins a new epoch because it moves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from swecli.context.tokens import TokenCounter
from swecli.models.api_message import ApiMessage
from swecli.models.context import interaction_of
from swecli.models.counts import pluralize
from swecli.models.session import Session
from swecli.models.window_spec import DEFAULT_SLACK, WindowSpec
from swecli.values import dataclass

_LARGE_WORK = ("refactor", "implement", "design")
_LARGE_SIZE = 7
_FEW_WORDS = 5
_SMALL_SIZE = 3
_TOKENS_PER_SLACK = 4_000  # of a request's limit, for each interaction of slack


class Opening(NamedTuple):
    """A new epoch."""

    first: int  # its first interaction
    reason: str  # for the user, such as "more than 8 turns"


def adaptive_window_size(
    query: str, default: int = 5, min_size: int = 3, max_size: int = 10
) -> int:
    """Return the number of interactions to keep for `query`: 7 for large work (by key words, so that "implement OAuth"
    is not small), 3 for a few words, else `default`; clamped to `min_size` and `max_size`, the latter winning."""
    size = _SMALL_SIZE if len(query.split()) < _FEW_WORDS else default
    if any(word in query.lower() for word in _LARGE_WORK):
        size = _LARGE_SIZE
    return min(max(size, min_size), max_size)


@dataclass(frozen=True, slots=True)
class OpeningConditions:
    """What the start of a turn depends on besides the session."""

    is_cache_cold: bool = False  # the provider's cache has expired
    allowed: int | None = None  # tokens that a request may have, None if unknown
    reopen: str = ""  # why a new epoch must begin
    min_size: int = 3  # bounds of an `auto` window
    max_size: int = 10

    def resolve(self, spec: WindowSpec, query: str = "") -> WindowSpec:
        """Resolve the window for a query: `auto` gets a size from it; a small model's window limits the slack."""
        if spec.mode == "auto":
            size = adaptive_window_size(query, min_size=self.min_size, max_size=self.max_size)
            return replace(spec, size=size, slack=spec.slack or DEFAULT_SLACK)
        slack = spec.slack if self.allowed is None else self.allowed // _TOKENS_PER_SLACK
        return replace(spec, slack=min(spec.slack, slack))

    def max_interactions(self, spec: WindowSpec) -> int:
        """Return how many interactions a resolved window may hold before it moves. `auto` moves only at its upper
        bound: a query that needs fewer interactions is no reason to invalidate the cached prefix."""
        if spec.mode == "auto":
            return max(self.max_size, spec.size)
        return spec.size + spec.slack

    def next_opening(
        self, session: Session, query: str, past: Sequence[ApiMessage], counter: TokenCounter
    ) -> Opening | None:
        """Return the epoch that the next turn begins, or None if the current one continues.

        `query` as sent sizes an `auto` window; `past` is the current request without the query: if it takes more than
        half of the allowed tokens the window moves, provided that at least half of it leaves."""
        state = session.context
        epoch = state.epoch
        completed = session.completed
        spec = self.resolve(session.window, query)
        if epoch is None:
            return Opening(replace(spec, slack=0).first_kept(completed), "the session begins")
        if epoch.spec != str(session.window):
            # an epoch begins in any case, so that the new setting is stored
            first = spec.first_kept(completed, epoch.first)
            return Opening(first, f"the window is {session.window} now")
        if self.reopen:
            return Opening(epoch.first, self.reopen)
        unsent = {pin for pin in state.pins if pin < epoch.first} - {*epoch.pins}
        if unsent or any(state.is_reduced(pin, or_changed=True) for pin in state.pins):
            return Opening(epoch.first, "a pinned turn comes back")
        if completed < state.hold_turns or spec.mode == "full":
            return None
        size = completed - epoch.first + 1
        first = completed - spec.size + 1
        max_size = self.max_interactions(spec)
        if size > max_size:
            return Opening(first, f"more than {pluralize(max_size, 'turn')}")
        if size <= spec.size:
            return None
        if self.is_cache_cold:
            return Opening(first, "the provider's cache is cold")
        if self.allowed is not None:
            tokens = _count_from(past, 0, counter)
            kept_tokens = _count_from(past, first, counter)
            # the provider bills what stays in full again
            if tokens * 2 > self.allowed and tokens >= kept_tokens * 2:
                return Opening(first, "it takes half of what is allowed")
        return None


def _count_from(past: Sequence[ApiMessage], first: int, counter: TokenCounter) -> int:
    """Count the tokens of the interactions from `first` on."""
    kept_messages = [message for message in past[1:] if interaction_of(message) >= first]
    return sum(counter.count_message(message) for message in kept_messages)
