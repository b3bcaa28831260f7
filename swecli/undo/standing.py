"""What still stands after an undo, as a line for the user and the model."""

from __future__ import annotations

from swecli.tools.limits import escape_invalid_bytes
from swecli.values import dataclass


@dataclass(frozen=True, slots=True)
class Standing:
    """What still stands after an undo, and the command that takes it back, "" if there is none."""

    description: str
    remedy: str = ""

    def __str__(self) -> str:
        line = f"{self.description}: {self.remedy}" if self.remedy else self.description
        return escape_invalid_bytes(line)
