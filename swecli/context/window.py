"""Decides, as a turn begins, whether the window moves and a new epoch begins: the first of the two clocks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from swecli.context.edits import interaction_of
from swecli.context.tokens import TokenCounter
from swecli.models.context import BEGIN, Epoch
from swecli.models.message import ApiMessage
from swecli.models.session import Session
from swecli.models.window import DEFAULT_SLACK, WindowSpec

_COLD = "the provider's cache is cold"
HALF = "it takes half of what is allowed"
_LARGE_WORK, _LARGE_SIZE = ("refactor", "implement", "design"), 7
_FEW_WORDS, _SMALL_SIZE = 5, 3
_ROOM_TO_GATHER = 4_000  # tokens of what a request may have, for each interaction of slack


@dataclass(frozen=True, slots=True)
class Moment:
    """What a turn's beginning depends on besides the session. `cold`: the provider's cache is gone; `allowed`: tokens a
    request may have, None where unknown; `reopen`: why a new epoch must begin, "" when it need not; `smallest` and
    `largest` bound the size of an `auto` window."""

    cold: bool = False
    allowed: int | None = None
    reopen: str = ""
    smallest: int = 3
    largest: int = 10


@dataclass(frozen=True, slots=True)
class Opening:
    """A new epoch: its first interaction, what it is called in its row, and why."""

    first: int
    how: str
    why: str


def adaptive_window_size(query: str, default: int = 5, min_size: int = 3, max_size: int = 10) -> int:
    """Interactions to keep for `query`: 7 for large work (by key words, so that "implement OAuth" is not small), 3 for
    a few words, else `default`; within `min_size` and `max_size`, the upper one winning."""
    size = _SMALL_SIZE if len(query.split()) < _FEW_WORDS else default
    if any(word in query.lower() for word in _LARGE_WORK):
        size = _LARGE_SIZE
    return min(max(size, min_size), max_size)


def sized(spec: WindowSpec, query: str = "", moment: Moment | None = None) -> WindowSpec:
    """The window for a query: `auto` by the query's words; with less slack where the model's window is small."""
    moment = moment or Moment()
    if spec.mode == "auto":
        size = adaptive_window_size(query, min_size=moment.smallest, max_size=moment.largest)
        return replace(spec, size=size, slack=spec.slack or DEFAULT_SLACK)
    room = spec.slack if moment.allowed is None else moment.allowed // _ROOM_TO_GATHER
    return replace(spec, slack=min(spec.slack, room))


def largest(spec: WindowSpec, moment: Moment) -> int:
    """Interactions that a window of `sized` may hold before it is cut back; `auto` is cut only at its upper bound: a
    query that needs less is no reason to break the prefix, one that needs more finds what is there."""
    return max(moment.largest, spec.size) if spec.mode == "auto" else spec.size + spec.slack


def opening(
    session: Session,
    window: WindowSpec,
    query: str,
    moment: Moment,
    past: Sequence[ApiMessage],
    counter: TokenCounter,
) -> Opening | None:
    """The epoch to begin with the next turn, None to go on in the present one. `window` as the user set it; `query` as
    sent sizes an `auto` one; `past`, the present request without it, counts where the window may take half of
    `allowed`."""
    state, epoch, completed = session.context, session.context.epoch, session.completed
    spec = sized(window, query, moment)
    if epoch is None:
        return Opening(replace(spec, slack=0).first_kept(completed), BEGIN, "the session begins")
    if epoch.spec != str(window):
        return _moved(epoch, spec.first_kept(completed, epoch.first), f"the window is {window} now", asked=True)
    if moment.reopen:
        return Opening(epoch.first, "window", moment.reopen)
    older = {pin for pin in state.pins if pin < epoch.first}
    if not older <= set(epoch.pins) or any(state.edited(pin) for pin in state.pins):
        return Opening(epoch.first, "window", "a pinned interaction comes back")
    if completed < state.hold_turns or spec.mode == "full":
        return None
    held = completed - epoch.first + 1
    target = completed - spec.size + 1
    most = largest(spec, moment)
    if held > most:
        return _moved(epoch, target, f"more than {most} interactions")
    if held > spec.size and moment.cold:
        return _moved(epoch, target, _COLD)
    if held > spec.size and moment.allowed is not None:
        tokens, kept = (
            sum(counter.count_message(message) for message in past[1:] if interaction_of(message) >= first)
            for first in (0, target)
        )
        if tokens * 2 > moment.allowed >= kept * 2:  # else the window would be cut, and the prefix broken, in each turn
            return _moved(epoch, target, HALF)
    return None


def _moved(epoch: Epoch, target: int, why: str, *, asked: bool = False) -> Opening | None:
    """An epoch from `target` on; None when nothing moves. `asked`: the user changed the setting: an epoch begins in any
    case, so that it is noted."""
    if target == epoch.first and not asked:
        return None
    return Opening(max(1, target), "window", why)
