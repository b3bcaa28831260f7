"""How many turns of a conversation are sent."""

from __future__ import annotations

import re
from typing import Literal

from swecli.values import dataclass

_WindowMode = Literal["fixed", "full", "auto"]
DEFAULT_SLACK = 3
MAX_SIZE = 1000


@dataclass(frozen=True, slots=True)
class WindowSpec:
    """A window of `size` interactions, which may grow by `slack` before it moves.

    "full" sends everything, "auto" chooses the size by the query. Written as `5`, `5+3`, `full` or `auto`.
    """

    size: int = 5
    slack: int = 0
    mode: _WindowMode = "fixed"

    def __str__(self) -> str:
        if self.mode != "fixed":
            return self.mode
        return f"{self.size}+{self.slack}" if self.slack else str(self.size)

    @property
    def description(self) -> str:
        """How many turns are sent, in words."""
        if self.mode == "full":
            return "all turns are sent"
        if self.mode == "auto":
            return "as many turns are sent as fit the query"
        turns = "the last turn is" if self.size == 1 else f"the last {self.size} turns are"
        growing = f", growing to {self.size + self.slack}" if self.slack else ""
        return f"{turns} sent{growing}"

    @classmethod
    def parse(cls, text: str) -> WindowSpec:
        """Parse `N`, `N+S`, `full` or `auto`. Raises ValueError with a message for the user."""
        text = text.strip().lower()
        if text in ("full", "auto"):
            return cls(mode="full" if text == "full" else "auto")
        match = re.fullmatch(r"(-?\d{1,99})(?:\s*\+\s*(-?\d{1,99}))?", text, re.ASCII)
        if match is None:
            raise ValueError(
                f"{text!r} is not a window: use N, N+S, full or auto (for example 5 or 5+3)"
            )
        spec = cls(size=int(match[1]), slack=int(match[2] or 0))
        if not 1 <= spec.size <= MAX_SIZE or not 0 <= spec.slack <= MAX_SIZE:
            raise ValueError(
                f"{text} is out of range: the window's size is 1 to {MAX_SIZE}, or use full"
            )
        return spec

    def first_kept(self, completed: int, start: int = 1) -> int:
        """Return the first interaction to send, given the number of `completed` ones and the window's current start.

        Interactions count from 1; `completed` + 1 means none is sent. The start does not move while the window holds
        between `size` and `size` + `slack` interactions.
        """
        if self.mode == "full":
            return 1
        count = completed - max(1, start) + 1
        if self.size <= count <= self.size + self.slack:
            return max(1, start)
        return max(1, completed - self.size + 1)
