"""What all approvals share: they are shown in whole, and the ledger may not take them."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from swecli.models.errors import StoreError

_WIDTH = 300  # characters of a line: faces cut longer ones, and each word must be seen


def in_pieces(lines: Sequence[str]) -> list[str]:
    """Return lines in pieces that no face cuts."""
    return [
        piece
        for line in lines
        for piece in textwrap.wrap(line, _WIDTH, drop_whitespace=False) or [""]
    ]


def not_recorded(error: OSError) -> StoreError:
    """Return the error of a ledger that cannot be written."""
    return StoreError(f"The approval cannot be recorded: {error.strerror}.")
