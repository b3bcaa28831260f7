"""The lines that travel with a query: what changes from turn to turn and so may not stand in the system prompt."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from datetime import date
from pathlib import Path

_OPEN, _CLOSE = "<turn_notes>", "</turn_notes>"


def environment_notes(cwd: Path, today: date, platform: str = sys.platform) -> list[str]:
    """Where and when the turn takes place, as notes."""
    return [f"Workspace: {cwd}", f"Platform: {platform}", f"Date: {today.isoformat()}"]


def with_notes(query: str, notes: Sequence[str]) -> str:
    """The query followed by its notes as a marked block; without notes, the query as it is."""
    lines = [" ".join(note.split()).replace(_CLOSE, "") for note in notes]
    listed = "\n".join(f"- {line}" for line in lines if line)
    return f"{query}\n\n{_OPEN}\n{listed}\n{_CLOSE}" if listed else query
