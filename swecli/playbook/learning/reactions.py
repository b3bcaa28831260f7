"""What the user did in a turn and after it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from typing import Any, Literal

from swecli.values import dataclass

ReactionKind = Literal["message", "answer", "refusal", "mark", "undo", "interrupt", "end"]


@dataclass(frozen=True, slots=True)
class Reaction:
    """One thing that the user did `during` or `after` a turn, with its `text` verbatim. A "message" is a line added to
    the running turn or the next message, an "answer" one to a question of the assistant, an "undo" took the turn's file
    changes back, "end" is the end of the session. `value` is the value of a mark, `call_id` the call that was refused
    or that asked."""

    kind: ReactionKind
    text: str = ""
    when: Literal["during", "after"] = "after"
    value: str = ""
    call_id: str = ""

    def to_json(self) -> dict[str, Any]:
        """Return the fields that say something."""
        return {name: value for name, value in asdict(self).items() if value}


def words_of(reactions: Iterable[Reaction]) -> tuple[str, ...]:
    """Return what the user wrote."""
    return tuple(reaction.text for reaction in reactions if reaction.text)
