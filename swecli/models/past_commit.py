"""A commit that a project may learn from."""

from __future__ import annotations

from typing import Literal

from swecli.values import dataclass

CommitKind = Literal["revert", "fixup", "fixes", "review"]


@dataclass(frozen=True, slots=True)
class PastCommit:
    """A commit that took something back, repaired it or tells what a reviewer wanted."""

    id: str  # abbreviated
    date: str  # a date such as 2026-11-30
    kind: CommitKind
    subject: str
    text: str  # the rest of the message
    files: tuple[str, ...] = ()  # that it changed
