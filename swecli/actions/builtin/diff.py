"""`/diff` and `swecli diff`: what a turn, or all turns of a session together, changed in files."""

from __future__ import annotations

from typing import TYPE_CHECKING

from swecli.actions.turn_pieces import complete_changes, complete_turns
from swecli.models.action import Action, ActionResult, Invocation, Need, Words

if TYPE_CHECKING:  # the prompt completes the names of the actions before these are loaded
    from swecli.store.session_manager import SessionManager


@Action(
    Need.SESSION,
    Words("[T7 [FILE] | session]", "the last turn, turn T7 or one file of it, or all turns", "*"),
    complete=lambda runtime: [*complete_turns(runtime), ("session", "all turns together")],
    complete_further=complete_changes,
    during_turn=True,
)
def diff(sessions: SessionManager, invocation: Invocation) -> ActionResult:
    """Show what the last turn, turn T7 or the session changed in files, and by whom"""
    # late: not needed to declare an action
    from swecli.actions.turn_pieces import find_diffs
    from swecli.undo.turn_files import TurnFiles

    diffs = find_diffs(TurnFiles.open(sessions), sessions.session, invocation.text)
    value = [
        {"name": file.name, "change": file.heading, "diff": file.text, "hunks": [*file.labels]}
        for file in diffs
    ]
    texts = [text for file in diffs for text in (file.heading, *file.numbered_text())]
    return ActionResult({"files": value}, tuple(texts) or ("no files changed",))
