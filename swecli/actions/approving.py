"""What all approvals share: they are shown in whole, and the ledger may not take them."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from swecli.config.settings import Start
from swecli.models.action import Face, Invocation
from swecli.models.errors import StoreError
from swecli.tools.sandbox import Sandbox

_WIDTH = 300  # characters of a line: faces cut longer ones, and each word must be seen


def in_pieces(lines: Sequence[str]) -> list[str]:
    """Return lines in pieces that no face cuts."""
    return [
        piece
        for line in lines
        for piece in textwrap.wrap(line, _WIDTH, drop_whitespace=False) or [""]
    ]


def show(face: Face, lines: Sequence[str]) -> list[str]:
    """Show what is to be approved to a person who is there. Returns it for a command line, which prints it with the
    result, else []."""
    pieces = in_pieces(lines)
    if not face.can_ask:
        return pieces
    for piece in pieces:
        face.note(piece)
    return []


async def is_agreed(invocation: Invocation, question: str) -> bool:
    """Return whether the user agreed: beforehand by a flag, or now."""
    return "--yes" in invocation.flags or await invocation.face.confirm(question)


def place_without_sandbox(start: Start) -> str:
    """Return where a program for the sandbox runs if there is none, "" if there is one."""
    sandbox = Sandbox.of(start)
    if sandbox.refusal:
        return "not at all: the setting sandbox is required, and there is none"
    if sandbox.problem:
        return f"as you, because there is no sandbox: {sandbox.problem}"
    return ""


def not_recorded(error: OSError) -> StoreError:
    """Return the error of a ledger that cannot be written."""
    return StoreError(f"The approval cannot be recorded: {error.strerror}.")
