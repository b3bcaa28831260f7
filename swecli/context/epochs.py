"""Epochs: how a request looks under a new one, and what a summary makes of it."""

from __future__ import annotations

from dataclasses import replace

from swecli.context.keyed_messages import SYSTEM_KEY, normalize_keyed
from swecli.context.notes import strip_old_strategies
from swecli.context.system_message import HeadParts
from swecli.models.api_message import KEY, ApiMessage
from swecli.models.context import Edits, Epoch, interaction_of, key_of
from swecli.models.session import Session
from swecli.values import dataclass

CONDENSE = "condense"


def with_epoch(epoch: Epoch, messages: list[ApiMessage]) -> list[ApiMessage]:
    """Return keyed messages as an epoch sends them: with its system message, without older strategy notes."""
    system: ApiMessage = {"role": "system", "content": epoch.system, KEY: SYSTEM_KEY}
    rest = (message for message in messages if key_of(message) != SYSTEM_KEY)
    return strip_old_strategies([system, *rest], epoch.began)


def rebuild_epoch(epoch: Epoch, session: Session, parts: HeadParts, interaction: int) -> Epoch:
    """Return the current epoch with a new system message, whose head retains the facts of all unpinned
    interactions."""
    system = parts.compose(session, epoch.summary, session.context.pins)
    return replace(epoch, system=system, strategies=parts.contents, began=interaction + 1)


@dataclass(frozen=True, slots=True)
class SummarySpan:
    """The part of keyed messages that a summary replaces."""

    messages: list[ApiMessage]  # of the whole request
    interaction: int  # the running one
    source: list[ApiMessage]  # what is summarised
    replaced: list[ApiMessage]  # what the summary stands for afterwards
    dropped: tuple[str, ...]  # keys of the running interaction's messages among these

    @classmethod
    def find(
        cls, messages: list[ApiMessage], interaction: int, pins: tuple[int, ...]
    ) -> SummarySpan | None:
        """Find the messages that a summary would replace; None if there are none. The running turn keeps its user
        message and its newest step, pinned interactions keep everything."""
        running = [message for message in messages if interaction_of(message) == interaction]
        replies = [i for i, message in enumerate(running) if message["role"] == "assistant"]
        dropped = running[1 : replies[-1]] if replies else []
        kept_interactions = {interaction, *pins}
        older = [
            message for message in messages[1:] if interaction_of(message) not in kept_interactions
        ]
        if not dropped and not older:
            return None
        # an unanswered query is not part of the conversation to summarise
        is_unanswered = running and not replies
        return cls(
            messages=messages,
            interaction=interaction,
            source=messages[:-1] if is_unanswered else messages,
            replaced=[*older, *dropped],
            dropped=tuple(key_of(message) for message in dropped),
        )

    def apply(
        self, session: Session, summary: str, parts: HeadParts
    ) -> tuple[Epoch, Edits, list[ApiMessage]]:
        """Return the epoch that begins with a summary, its edits and its messages."""
        number = self.interaction
        context = session.context
        pins = tuple(pin for pin in context.pins if pin < number)
        # the summary was written with what is withdrawn, and tells of the turns that it stands for
        parts = replace(parts, outdated=(), earlier=())
        system = parts.compose(session, summary, pins if self.dropped else {*pins, number})
        epoch = Epoch(
            first=number,
            system=system,
            strategies=parts.contents,
            pins=pins,
            summary=summary,
            spec=str(session.window),
            began=number + 1,
        )
        dropped = Edits(self.dropped)
        kept_messages = [
            message for message in self.messages if interaction_of(message) in (*pins, number)
        ]
        messages = normalize_keyed(dropped.apply(with_epoch(epoch, kept_messages)))
        return epoch, context.merge_edits(number, dropped), messages

    @property
    def turns(self) -> str:
        """The interactions to summarise: `T3 to T9`, or the running turn's steps."""
        numbers = {interaction_of(message) for message in self.source} - {0, self.interaction}
        if not numbers:
            return f"earlier steps of T{self.interaction}"
        if len(numbers) == 1:
            return f"T{min(numbers)}"
        return f"T{min(numbers)} to T{max(numbers)}"
