"""Reductions as rows: what each rung of the ladder left, written so that the same bytes can be built again."""

from __future__ import annotations

from dataclasses import dataclass, replace

from swecli.context.edits import SYSTEM_KEY, edited, interaction_of, key_of, lawful
from swecli.context.prepare import without_old_strategies
from swecli.context.system_message import HeadParts, compose
from swecli.models.context import KEY, Edits, Epoch, folded
from swecli.models.message import ApiMessage
from swecli.models.session import Session

CONDENSE = "condense"


def under(epoch: Epoch, messages: list[ApiMessage]) -> list[ApiMessage]:
    """Keyed messages as an epoch sends them: behind its system message."""
    system = {"role": "system", "content": epoch.system, KEY: SYSTEM_KEY}
    rest = (message for message in messages if key_of(message) != SYSTEM_KEY)
    return without_old_strategies([system, *rest], epoch.began)


def recomposed(session: Session, parts: HeadParts, interaction: int) -> Epoch:
    """The present epoch with a system message that keeps what leaves the request in that interaction, and of it."""
    was = present_epoch(session)
    system = compose(parts, session, was.summary, session.context.pins)
    return replace(was, system=system, strategies=parts.contents, began=interaction + 1)


def present_epoch(session: Session) -> Epoch:
    """The session's epoch: there is one as soon as its first turn has begun."""
    assert session.context.epoch is not None, "nothing is reduced before the first request"
    return session.context.epoch


@dataclass(frozen=True, slots=True)
class Cut:
    """Where a summary cuts a request: `asked` is what it is made of, `gone` what it takes the place of; the keys in
    `dropped` are steps of the running turn that go with the older interactions."""

    asked: list[ApiMessage]
    gone: list[ApiMessage]
    dropped: tuple[str, ...]


def cut_for_summary(messages: list[ApiMessage], interaction: int, pins: tuple[int, ...]) -> Cut | None:
    """What of a request a summary would stand for; None when that is nothing. The running turn keeps its user message
    and its newest step, pinned interactions all of theirs."""
    running = [message for message in messages if interaction_of(message) == interaction]
    places = [place for place, message in enumerate(running) if message["role"] == "assistant"]
    dropped = tuple(key_of(message) for message in running[1 : places[-1]]) if places else ()
    older = [m for m in messages[1:] if interaction_of(m) != interaction and interaction_of(m) not in pins]
    if not dropped and not older:
        return None
    # A question that nobody answered yet is no part of what came before.
    asked = messages[:-1] if running and not places else messages
    return Cut(asked, [*older, *(message for message in running if key_of(message) in dropped)], dropped)


def summed_up(
    session: Session, messages: list[ApiMessage], cut: Cut, summary: str, parts: HeadParts, interaction: int
) -> tuple[Epoch, Edits, list[ApiMessage]]:
    """The epoch that a summary begins, the edits that hold in it, and its messages."""
    pins = tuple(pin for pin in session.context.pins if pin < interaction)
    system = compose(parts, session, summary, pins if cut.dropped else {*pins, interaction})
    numbers = (str(session.window), interaction + 1)
    epoch = Epoch(interaction, system, parts.contents, pins, interaction, summary, *numbers)
    edits = folded([*session.context.edits, Edits(cut.dropped)], interaction, session.context.pins)
    stay = [message for message in messages if interaction_of(message) in (*pins, interaction)]
    return epoch, edits, lawful(edited(under(epoch, stay), [Edits(cut.dropped)]))


def turns(messages: list[ApiMessage], running: int) -> str:
    """Which interactions these messages are of: `T3 to T9`, or the running one's steps."""
    numbers = sorted({interaction_of(message) for message in messages} - {0, running})
    if not numbers:
        return f"earlier steps of T{running}"
    return f"T{numbers[0]}" if len(numbers) == 1 else f"T{numbers[0]} to T{numbers[-1]}"
