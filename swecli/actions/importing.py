"""Import a session from a file."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

from swecli.models.action import ActionResult
from swecli.models.counts import pluralize
from swecli.store.session_files.importing import import_file
from swecli.store.session_manager import SessionManager

_MAX_LISTED = 5  # skipped lines


def import_session(sessions: SessionManager, file: Path) -> ActionResult:
    """Store the session of an export, or of a transcript that an installed importer reads. Raises BadInput."""
    result = import_file(sessions.database, file)
    name = result.session_id
    origin = f" from {result.tool}" if result.tool else ""
    turns = pluralize(result.interactions, "turn")
    lines = [f"Imported {turns}{origin} as {name}; continue with: swecli -r {name}."]
    if result.left_out:
        lines.append(f"Of its project's strategies {result.left_out} were not imported.")
    if result.skipped:
        rest = len(result.skipped) - _MAX_LISTED
        more = f", and {rest} more" if rest > 0 else ""
        lines.append(f"Skipped {'; '.join(result.skipped[:_MAX_LISTED])}{more}.")
    return ActionResult(asdict(result), tuple(lines))
