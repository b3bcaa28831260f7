"""The user's mark on a turn: what it makes of how the turn went, so that it can be taken back whole."""

from __future__ import annotations

from typing import Any

import sqlmodel
from sqlmodel import col, select

from swecli.models.errors import BadInput
from swecli.store.playbook.turns import note_turn, turn_row
from swecli.store.records import MarkedTurn
from swecli.store.tables.columns import clean_text
from swecli.store.tables.playbook import DeltaRow
from swecli.store.tables.sessions import InteractionRow

_OUTCOME = ("good", "weight", "signal")
_WORDS = ("mark", "why")


def put_mark(db: sqlmodel.Session, row: DeltaRow, marked: MarkedTurn) -> None:
    """Mark the turn that a delta was made of; the delta keeps how the turn stood before. Within a transaction.

    Raises BadInput when there is no such turn.
    """
    if _interaction(db, row) is None:
        raise BadInput(f"There is no turn T{row.interaction} in session {row.session_id} to mark.")
    before = _now(db, row)
    words = {"mark": marked.mark, "why": clean_text(marked.why)}
    outcome = {"good": marked.mark == "good", "weight": 1.0, "signal": "mark"}
    row.judged = {"before": before, "after": before | outcome | words}
    _put(db, row, row.judged["after"])
    db.add(row)
    db.flush()


def unmark(db: sqlmodel.Session, row: DeltaRow) -> None:
    """Let the turn go as it went before the mark, unless it was judged again since: then that judgement stands."""
    if row.judged and _interaction(db, row) and _now(db, row) == row.judged["after"]:
        _put(db, row, row.judged["before"])


def mark_again(db: sqlmodel.Session, row: DeltaRow) -> None:
    """Bring a mark back that was taken back. Raises BadInput when the turn was judged again since."""
    if not row.judged or _interaction(db, row) is None:  # its session was deleted: its counts are all that is left
        return
    if _now(db, row) != row.judged["before"]:
        raise BadInput(f"T{row.interaction} has been judged again since its mark was taken back.", "Mark it again.")
    _put(db, row, row.judged["after"])


def _now(db: sqlmodel.Session, row: DeltaRow) -> dict[str, Any]:
    """How the turn stands."""
    outcome, words = turn_row(db, row.session_id, row.interaction or 0), _interaction(db, row)
    assert words is not None, "see its callers"
    return {name: getattr(outcome, name) for name in _OUTCOME} | {name: getattr(words, name) for name in _WORDS}


def _put(db: sqlmodel.Session, row: DeltaRow, stood: dict[str, Any]) -> None:
    words = _interaction(db, row)
    assert words is not None, "see its callers"
    words.mark, words.why = stood["mark"], stood["why"]
    note_turn(db, row.session_id, row.interaction or 0, **{name: stood[name] for name in _OUTCOME})


def _interaction(db: sqlmodel.Session, row: DeltaRow) -> InteractionRow | None:
    of = (col(InteractionRow.session_id) == row.session_id, col(InteractionRow.number) == row.interaction)
    return db.exec(select(InteractionRow).where(*of)).first()
