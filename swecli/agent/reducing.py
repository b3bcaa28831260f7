"""Reductions as rows: what each rung of the ladder left, written so that the same bytes can be built again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from swecli.context.fit import Taken
from swecli.context.keyed import SYSTEM_KEY, edited, interaction_of, key_of, lawful
from swecli.context.prepare import untold
from swecli.models.context import KEY, Edits, Epoch, Reduction, folded
from swecli.models.message import ApiMessage
from swecli.models.session import Session

CONDENSE = "condense"


@dataclass(frozen=True, slots=True)
class Head:
    """A system message composed for an epoch, and the strategies in it by id."""

    system: str
    strategies: dict[str, str]


# (summary, interactions that are sent word for word) → the system message
Heads = Callable[[str, set[int]], Head]


def with_head(messages: list[ApiMessage], head: Head) -> list[ApiMessage]:
    """The messages under another system message."""
    system = {"role": "system", "content": head.system, KEY: SYSTEM_KEY}
    return [system, *(message for message in messages if key_of(message) != SYSTEM_KEY)]


def noted(taken: Taken, edits: Edits, interaction: int, step: int) -> Reduction:
    """The row of a rung that changed single messages: clear, shrink."""
    return Reduction(taken.how, interaction, step, taken.before, taken.after, taken.detail, edits=edits)


def truncated(
    session: Session, taken: Taken, edits: Edits, head: Head | None, interaction: int, step: int
) -> Reduction:
    """The row of a truncation: an epoch of its own, since messages went whose contents the head must keep. Without
    another head it keeps its own."""
    was = present_epoch(session)
    epoch = was
    if head is not None:
        epoch = replace(was, system=head.system, strategies=head.strategies, began=interaction + 1)
    whole = folded([*session.context.edits, edits], epoch.first, session.context.pins)
    return Reduction(taken.how, interaction, step, taken.before, taken.after, taken.detail, epoch, whole)


def present_epoch(session: Session) -> Epoch:
    """The session's epoch: there is one as soon as its first turn has begun."""
    epoch = session.context.epoch
    assert epoch is not None, "nothing is reduced before the first request"
    return epoch


@dataclass(frozen=True, slots=True)
class Cut:
    """Where a summary cuts a request: `asked` is what it is made of; the keys in `dropped` are steps of the running
    turn that go with the older interactions."""

    asked: list[ApiMessage]
    dropped: tuple[str, ...]


def cut_for_summary(messages: list[ApiMessage], interaction: int, pins: tuple[int, ...]) -> Cut | None:
    """What of a request a summary would stand for; None when that is nothing.

    The running turn keeps its user message and its newest step, pinned interactions all of theirs.
    """
    running = [message for message in messages if interaction_of(message) == interaction]
    places = [place for place, message in enumerate(running) if message["role"] == "assistant"]
    dropped = tuple(key_of(message) for message in running[1 : places[-1]]) if places else ()
    older = [m for m in messages[1:] if interaction_of(m) != interaction and interaction_of(m) not in pins]
    if not dropped and not older:
        return None
    # A question that nobody answered yet is no part of what came before.
    asked = messages[:-1] if running and not places else messages
    return Cut(asked, dropped)


def summed_up(
    session: Session, messages: list[ApiMessage], cut: Cut, summary: str, heads: Heads, interaction: int
) -> tuple[Epoch, Edits, list[ApiMessage]]:
    """The epoch that a summary begins, the edits that hold in it, and its messages."""
    pins = tuple(pin for pin in session.context.pins if pin < interaction)
    head = heads(summary, {*pins, interaction})
    spec, began = str(session.window), interaction + 1
    epoch = Epoch(interaction, head.system, head.strategies, pins, interaction, summary, spec, began)
    edits = folded([*session.context.edits, Edits(cut.dropped)], interaction, session.context.pins)
    stay = [message for message in messages if interaction_of(message) in (*pins, interaction)]
    return epoch, edits, untold(lawful(edited(with_head(stay, head), [Edits(cut.dropped)])), began)
