"""Names and what belongs to them, as two columns without a frame."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from swecli.repl.render.screen import Screen

GAP = 3


def say_pairs(screen: Screen, pairs: Sequence[tuple[str, str]]) -> None:
    """Print the pairs, long values folded under themselves; on a narrow screen, under their name."""
    left = max(len(name) for name, _ in pairs) + GAP
    if left > screen.width // 2:
        left = GAP
    for name, value in pairs:
        first = name.ljust(left) if len(name) < left else f"{name}  "
        lines = textwrap.wrap(value, max(20, screen.width - 1), initial_indent=first, subsequent_indent=" " * left)
        screen.line("\n".join(lines) or name)
