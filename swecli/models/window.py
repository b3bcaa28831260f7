"""The reflection window's setting: how many completed interactions are sent verbatim."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

_WindowMode = Literal["fixed", "full", "auto"]
_DEFAULT_SIZE = 5
DEFAULT_SLACK = 3
MAX_SIZE = 1000


@dataclass(frozen=True, slots=True)
class WindowSpec:
    """`size` interactions are kept; up to `slack` more may gather before they are cut back to `size`.

    "full" sends everything; "auto" picks the size by the query. Written `5`, `5+3`, `full`, `auto`.
    """

    size: int = _DEFAULT_SIZE
    slack: int = 0
    mode: _WindowMode = "fixed"

    def __str__(self) -> str:
        if self.mode != "fixed":
            return self.mode
        return f"{self.size}+{self.slack}" if self.slack else str(self.size)

    @classmethod
    def parse(cls, text: str) -> WindowSpec:
        """Read `N`, `N+S`, `full` or `auto`. Raises ValueError with a line for the user."""
        text = text.strip().lower()
        if text == "full":
            return cls(mode="full")
        if text == "auto":
            return cls(mode="auto")
        found = re.fullmatch(r"(-?\d{1,99})(?:\s*\+\s*(-?\d{1,99}))?", text, re.ASCII)
        if found is None:
            raise ValueError(f"{text!r} is not a window: use N, N+S, full or auto (for example 5 or 5+3)")
        spec = cls(size=int(found[1]), slack=int(found[2] or 0))
        if not 1 <= spec.size <= MAX_SIZE or not 0 <= spec.slack <= MAX_SIZE:
            raise ValueError(f"{text} is out of range: the window's size is 1 to {MAX_SIZE}, or use full")
        return spec

    def first_kept(self, completed: int, start: int = 1) -> int:
        """Number of the first interaction to send, given `completed` of them and the window's present start.

        Interactions count from 1; with none to send it is the number after the last. The start stays where it
        is while between `size` and `size` + `slack` interactions are held, so it moves back only when the size
        was raised.
        """
        if self.mode == "full":
            return 1
        held = completed - max(1, start) + 1
        if self.size <= held <= self.size + self.slack:
            return max(1, start)
        return max(1, completed - self.size + 1)
