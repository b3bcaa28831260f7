"""Which model answers."""

from __future__ import annotations

from swecli.values import dataclass


@dataclass(frozen=True, slots=True)
class ModelChoice:
    """The chosen model and, for the user, the reason."""

    name: str
    reason: str
