"""What is stored of a turn that a request no longer contains, as its line in the outline of them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class EarlierTurn:
    """One completed turn: how its query begins, and what became of it."""

    number: int
    query: str  # its beginning, as typed
    changed: tuple[str, ...] = ()  # the files that it wrote or removed, each once
    outcome: str = ""  # how it ended, such as "pytest passes"; "" if that is not known
