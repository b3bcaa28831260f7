"""What a session's requests are built from, besides its messages: reductions, pins and retained facts."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from swecli.models.context import Reduction, RetainedFact
from swecli.models.errors import BadInput
from swecli.models.session import Session
from swecli.store.journal.reader import BROUGHT_BACK, PIN, Reader
from swecli.store.journal.tables import MODEL_REQUEST
from swecli.store.journal.values import clean_text
from swecli.store.journal.writer import Writer
from swecli.store.sqlite.database import Database


class ContextStore:
    """Keeps `session.context` and the database in sync. A method that changes something commits one transaction, and
    then changes the context. Each may raise StoreError; then neither has changed."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, session: Session, reduction: Reduction) -> Reduction:
        """Commit a reduction; return it as it is read back, with its number."""
        with self._database.write() as db:
            Writer(db).add_reduction(session.id, reduction)
            [stored_reduction] = Reader(db).reductions(session.id, 1)
        session.context.add(stored_reduction)
        if stored_reduction.epoch is not None:
            session.window_start = stored_reduction.epoch.first
        return stored_reduction

    def log(self, session: Session, limit: int = 1000) -> list[Reduction]:
        """Return the session's reductions, undone ones too, newest first."""
        with self._database.read() as db:
            return Reader(db).reductions(session.id, limit)

    def counted_at_first(self, session: Session, interaction: int) -> tuple[int, str]:
        """Return the tokens, tools included, that were counted of a turn's first request, and the encoding they were
        counted in; (0, "") if none are stored."""
        first = (
            "model_request WHERE session_id = ? AND interaction = ? AND step = 1 "
            "AND purpose = 'turn' ORDER BY id DESC LIMIT 1"
        )
        turn = (session.id, interaction)
        with self._database.read() as db:
            for row in Reader(db).select(MODEL_REQUEST, ("extra",), first, turn):
                extra = row["extra"] if isinstance(row["extra"], dict) else {}
                return extra.get("counted", 0), extra.get("encoding", "")
        return 0, ""

    def pin(self, session: Session, interaction: int) -> None:
        """Commit that an interaction is pinned. Raises BadInput if it does not exist."""
        if not 1 <= interaction <= session.interactions:
            raise BadInput(f"There is no turn T{interaction} in this session.", "See /window.")
        if interaction in session.context.pins:
            return
        self._mark(session, PIN, interaction)
        session.context.pins = tuple(sorted({*session.context.pins, interaction}))
        self.load_marked(session)

    def unpin(self, session: Session, interaction: int) -> None:
        """Commit that an interaction is not pinned any more. Raises BadInput if it is not pinned."""
        if interaction not in session.context.pins:
            raise BadInput(f"T{interaction} is not pinned.")
        with self._database.write() as db:
            Writer(db).remove_fact(session.id, PIN, str(interaction))
        session.context.pins = tuple(pin for pin in session.context.pins if pin != interaction)

    def bring_back(self, session: Session, interaction: int) -> None:
        """Commit that the next turn quotes an interaction, unless it is to be quoted already."""
        state = session.context
        if interaction in state.brought_back:
            return
        self._mark(session, BROUGHT_BACK, interaction)
        state.brought_back = tuple(sorted({*state.brought_back, interaction}))
        self.load_marked(session)

    def leave_out(self, session: Session, interactions: Iterable[int]) -> None:
        """Commit that the next turn quotes these interactions no more."""
        state = session.context
        ended = set(state.brought_back) & set(interactions)
        if not ended:
            return
        with self._database.write() as db:
            writer = Writer(db)
            for interaction in ended:
                writer.remove_fact(session.id, BROUGHT_BACK, str(interaction))
        state.brought_back = tuple(each for each in state.brought_back if each not in ended)

    def load_marked(self, session: Session) -> None:
        """Load the messages of the interactions that are pinned or brought back, unless they are loaded."""
        with self._database.read() as db:
            Reader(db).load_pinned(session)

    def _mark(self, session: Session, kind: str, interaction: int) -> None:
        with self._database.write() as db:
            fact = RetainedFact(kind, str(interaction), "", interaction)
            Writer(db).add_fact(session.id, fact)

    def keep(self, session: Session, facts: Iterable[RetainedFact]) -> None:
        """Commit facts; a fact replaces one of the same kind and key, and removes it if its text is empty."""
        changes = []
        for fact in facts:
            clean = replace(fact, key=clean_text(fact.key), text=clean_text(fact.text))
            present = session.context.facts.get((clean.kind, clean.key))
            if clean != present and (clean.text or present is not None):
                changes.append(clean)
        if not changes:
            return
        with self._database.write() as db:
            writer = Writer(db)
            for fact in changes:
                writer.replace_fact(session.id, fact)
        session.context.keep(changes)
