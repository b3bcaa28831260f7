"""Decides, as a turn begins, whether the window moves and a new epoch begins: the first of the two clocks."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field, replace

from swecli.context.adaptive import adaptive_window_size
from swecli.models.context import BEGIN, ContextState, Epoch
from swecli.models.window import DEFAULT_SIZE, DEFAULT_SLACK, WindowSpec

# Interactions beyond what the window holds that wait for their reflection; then they leave unlearned, and it is said.
MOST_WAITING = 8

COLD = "the provider's cache is cold"
HALF = "it takes half of what is allowed"


@dataclass(frozen=True, slots=True)
class Moment:
    """What a turn's beginning depends on besides the session.

    `cold`: the provider keeps nothing of the last request any more; `allowed`: tokens a request may have, None where
    unknown; `waiting`: interactions from which nothing has been learned yet but will be; `anew`: why the head must
    be composed anew, "" when it need not be.
    """

    cold: bool = False
    allowed: int | None = None
    waiting: Collection[int] = field(default_factory=frozenset)
    anew: str = ""


@dataclass(frozen=True, slots=True)
class Move:
    """A new epoch: its first interaction, what it is called in its row, and why. `left_unlearned` are interactions
    that leave although nothing was learned from them."""

    first: int
    how: str
    why: str
    left_unlearned: tuple[int, ...] = ()


def sized(spec: WindowSpec, query: str, smallest: int = 3, largest: int = 10) -> WindowSpec:
    """The window for a query: itself, but for `auto`, whose size follows the query's words."""
    if spec.mode != "auto":
        return spec
    size = adaptive_window_size(query, min_size=smallest, max_size=largest)
    return replace(spec, size=size, slack=spec.slack or DEFAULT_SLACK)


def due(
    state: ContextState,
    asked: WindowSpec,
    spec: WindowSpec,
    completed: int,
    moment: Moment,
    held_tokens: Callable[[], int],
) -> Move | None:
    """The move to make before the next turn, None to go on in the present epoch.

    Args:
        asked: the window as the user set it; `spec` the same with the size that counts now.
        completed: interactions of the session until now.
        held_tokens: size of the present window, asked for only where it decides.
    """
    epoch = state.epoch
    if epoch is None:
        return Move(replace(spec, slack=0).first_kept(completed), BEGIN, "the session begins")
    if epoch.spec != str(asked):
        return _moved(epoch, spec.first_kept(completed, epoch.first), f"the window is {asked} now", moment, asked=True)
    if moment.anew:
        return Move(epoch.first, "window", moment.anew)
    if move := _pinned(state, epoch):
        return move
    if completed < state.hold_turns or spec.mode == "full":
        return None
    held = completed - epoch.first + 1
    target = completed - spec.size + 1
    if held > spec.size + spec.slack:
        return _moved(epoch, target, f"more than {spec.size + spec.slack} interactions", moment)
    if held > spec.size and moment.cold:
        return _moved(epoch, target, COLD, moment)
    if held > spec.size and moment.allowed is not None and held_tokens() * 2 > moment.allowed:
        return _moved(epoch, target, HALF, moment)
    if spec.size > DEFAULT_SIZE and asked.mode == "auto" and max(target, epoch.floor) < epoch.first:
        return _moved(epoch, max(epoch.floor, target, 1), "this query asks for more of what came before", moment)
    return None


def _moved(epoch: Epoch, target: int, why: str, moment: Moment, *, asked: bool = False) -> Move | None:
    """A move to `target`, held back before what still waits to be learned from; None when nothing is left to move.

    `asked`: the user changed the setting: an epoch begins in any case, so that it is noted.
    """
    leaving = [number for number in sorted(moment.waiting) if epoch.first <= number < target]
    if leaving and target - leaving[0] <= MOST_WAITING:
        target, leaving = leaving[0], []
    if target == epoch.first and not asked:
        return None
    return Move(max(1, target), "window", why, tuple(leaving))


def _pinned(state: ContextState, epoch: Epoch) -> Move | None:
    """A pinned interaction that is not sent comes back at once."""
    older = {pin for pin in state.pins if pin < epoch.first}
    if older <= set(epoch.pins) and not any(state.edited(pin) for pin in state.pins):
        return None
    return Move(epoch.first, "window", "a pinned interaction comes back")
