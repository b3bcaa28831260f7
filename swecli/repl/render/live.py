"""The last lines of the screen while work goes on: drawn over themselves, gone without a trace when it ends."""

from __future__ import annotations

import re
from typing import Literal

from rich.cells import cell_len

LiveKind = Literal["region", "line", "none"]
"""What a place can show: several lines by cursor movement, one line by carriage return alone, or nothing."""

_STYLES = re.compile("\x1b\\[[0-9;]*m")
_HIDE, _SHOW = "\x1b[?25l", "\x1b[?25h"


class LiveRegion:
    """Knows what is drawn and says which bytes replace or erase it; it writes nothing itself.

    The cursor rests at the end of the last line, hidden. Lines must be narrower than the screen.
    """

    def __init__(self, kind: LiveKind) -> None:
        self.kind = kind
        self._widths: list[int] = []

    @property
    def shown(self) -> bool:
        """Whether something is on the screen now."""
        return bool(self._widths)

    def draw(self, lines: list[str], columns: int) -> str:
        """The bytes that put `lines` where the region is, whatever was there."""
        if self.kind == "none" or not lines:
            return self.erase(columns)
        if self.kind == "line":
            line, before = lines[-1], max(self._widths, default=0)
            self._widths = [_width(line)]
            return f"\r{line}{' ' * max(0, before - self._widths[0])}"
        body = "\r\n".join(f"{line}\x1b[K" for line in lines)
        out = f"{_HIDE}{self._home(columns)}{body}\x1b[J"
        self._widths = [_width(line) for line in lines]
        return out

    def erase(self, columns: int) -> str:
        """The bytes that remove the region and leave the cursor where it began."""
        if not self._widths:
            return ""
        if self.kind == "line":
            out = f"\r{' ' * min(self._widths[0], columns - 1)}\r"
        else:
            # One column to the right: tmux takes an erasure from the top left corner for a page to be kept.
            out = f"{self._home(columns)}\x1b[K\x1b[C\x1b[J\r{_SHOW}"
        self._widths = []
        return out

    def _home(self, columns: int) -> str:
        """To the region's first column. On a screen made narrower since, terminals have broken its lines."""
        rows = sum(max(1, -(-width // max(1, columns))) for width in self._widths)
        return "\r" + (f"\x1b[{rows - 1}A" if rows > 1 else "")


def _width(line: str) -> int:
    return cell_len(_STYLES.sub("", line))
