"""Reads sessions and strategies: rows to models, field by field of the same name."""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import Any

from swecli.models.aside import ASIDE, Aside
from swecli.models.context import ContextState, Edits, Epoch, Reduction, RetainedFact
from swecli.models.errors import BadInput, DamagedDatabase
from swecli.models.message import ChatMessage, RequestRecord, Role, ToolCall, Usage
from swecli.models.playbook import Bullet, SessionPlaybook
from swecli.models.project import ProjectPlace
from swecli.models.session import Session, SessionInfo, UndonePiece, UndoneTurns
from swecli.models.window_spec import WindowSpec
from swecli.redact import redact
from swecli.store.journal.table import Kind, Table
from swecli.store.journal.tables import (
    BULLET,
    MESSAGE,
    MODEL_REQUEST,
    REDUCTION,
    SESSION,
    SURVIVOR,
    TOOL_CALL,
)
from swecli.store.journal.values import clean_text, folder_key
from swecli.store.records import UsageTotals

USAGE = ("input", "cache_read", "cache_write", "output", "reasoning")
_SESSION_INFO = (
    "id", "title", "directory", "model", "created_at", "updated_at", "interactions", "messages", "cost", "first_query",
)  # fmt: skip
PIN = "pin"
BROUGHT_BACK = "brought_back"
_FIRST_QUERY = 200  # characters of the first query that are stored for lists
NEWEST = 12  # interactions that are loaded, unless the epoch holds more
_NEWEST_FIRST = "updated_at DESC, number DESC"
UNATTENDED = "unattended"  # in a request's `extra`: it was made by a script, without a person
_TURN_REQUEST = (
    "SELECT 1 FROM model_request r WHERE r.session_id = session.id AND r.purpose = 'turn'"
)
_ATTENDED = (
    f"(NOT EXISTS ({_TURN_REQUEST})"
    f" OR EXISTS ({_TURN_REQUEST} AND json_extract(r.extra, '$.{UNATTENDED}') IS NULL))"
)
_IN_DIRECTORY = "directory = :directory"
# another project may have been at this path; an imported session has none
_IN_PROJECT = f"{_IN_DIRECTORY} AND project IN (:project, '')"
_AT_PLACE = "project = :project AND subfolder = :subfolder"  # in another work tree or clone
# Bullets that are visible in a session; a session without an id has none of its own.
APPLIES = (
    "(scope = 'session' AND session_id = :own AND session_id != '' OR scope = 'project' AND project = :project"
    " OR scope = 'user')"
)


def first_loaded(session: Session, newest: int = NEWEST) -> int:
    """Return the first interaction to have in memory: of the `newest`, and of all that the next request has of earlier
    ones. 0: whatever is stored."""
    completed = session.interactions
    epoch = session.context.epoch
    first_sent = session.window.first_kept(completed, session.window_start)
    if epoch is not None:
        first_sent = epoch.first
    first = min(first_sent, completed - max(1, newest) + 1)
    return first if first > 1 else 0


def first_query(content: str) -> str:
    """Return the beginning of the first query, which lists show for a session without a title. Redacted before it is
    truncated."""
    return redact(content[: 50 * _FIRST_QUERY])[:_FIRST_QUERY]


def project_of(session: Session) -> str:
    """Return the key of a session's project; its working directory if it has no project."""
    return folder_key(session.project or session.working_directory)


def _whereabouts(directory: str, place: ProjectPlace | None) -> dict[str, Any]:
    """Return the parameters of a condition on where sessions worked."""
    parameters = {"directory": directory}
    if place is not None:
        parameters |= {"project": place.project, "subfolder": clean_text(place.subfolder)}
    return parameters


def number_of(bullet_id: str) -> int:
    """Parse the number of a bullet's id; 0, which no bullet has, if the id is invalid."""
    digits = bullet_id.removeprefix("P-")
    is_id = bullet_id.startswith("P-") and digits.isdecimal() and len(digits) < 19
    return int(digits) if is_id else 0


def _kind_of(tables: Table | Mapping[str, Table], name: str) -> Kind:
    """Return how the column is read. Raises KeyError if no table has it."""
    alias, _, column = name.rpartition(".")
    table = tables if isinstance(tables, Table) else tables[alias]
    return table.columns[column].kind


def _quoted(name: str) -> str:
    """Return a column's name, which may follow that of its table: one is "when"."""
    table, _, column = name.rpartition(".")
    return f'{table}."{column}"' if table else f'"{column}"'


@contextmanager
def _report_damage() -> Iterator[None]:
    """Raise DamagedDatabase for a corrupt time, role or JSON value, which SQLite's own checks do not find."""
    try:
        yield
    except (ValueError, TypeError, RecursionError) as error:
        raise DamagedDatabase(
            f"The session cannot be read: {' '.join(str(error).split())}.",
            "Resume another; a copy of the file may help.",
        ) from error


class Reader:
    """Loads sessions and strategies over a connection, in the transaction that is open."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self.db = db

    def select(
        self,
        tables: Table | Mapping[str, Table],
        names: Sequence[str],
        source: str,
        parameters: Mapping[str, Any] | Sequence[Any],
    ) -> Iterator[dict[str, Any]]:
        """Yield the rows of `SELECT names FROM source` by name, each value as its table reads it. `tables` is the
        table, or those of a join by their aliases, which the names begin with. Raises ValueError or TypeError for a
        corrupt value.

        `source` goes on after the table: `message WHERE id = ? ORDER BY id`, with the `parameters` of its condition."""
        readers = {name: _kind_of(tables, name).parse for name in names}
        parsed = {name: parse for name, parse in readers.items() if parse is not None}
        columns = ", ".join(map(_quoted, names))
        for row in self.db.execute(f"SELECT {columns} FROM {source}", parameters):
            values = dict(zip(names, row, strict=True))
            for name, parse in parsed.items():
                if values[name] is not None:
                    values[name] = parse(values[name])
            yield values

    def fields(self, table: Table, key: int, names: Sequence[str]) -> dict[str, Any]:
        """Return columns of the row with this `id`."""
        return next(self.select(table, names, f"{table.name} WHERE id = ?", (key,)))

    def list_sessions(
        self, directory: str | None, place: ProjectPlace | None, limit: int
    ) -> list[SessionInfo]:
        """Return the last used sessions of one directory and its `place` in the project, or of all, newest first."""
        condition = _IN_DIRECTORY if place is None else f"({_IN_PROJECT} OR {_AT_PLACE})"
        if directory is None:  # undone turns are stored as sessions without a directory
            condition = "(directory != '' OR parent_id IS NULL)"
        source = f"session WHERE {condition} ORDER BY {_NEWEST_FIRST} LIMIT :limit"
        parameters = _whereabouts(directory or "", place) | {"limit": limit}
        rows = self.select(SESSION, _SESSION_INFO, source, parameters)
        return [SessionInfo(**row) for row in rows]

    def totals(self, session_id: str | None = None) -> UsageTotals:
        """Sum the usage of the requests of a session, or of all. A request without any tokens, because nobody answered,
        costs nothing."""
        sums = ", ".join(f"sum({name})" for name in USAGE)
        unknown = f"count(*) FILTER (WHERE cost IS NULL AND {' + '.join(USAGE)} > 0)"
        condition = "" if session_id is None else "WHERE session_id = :id"
        question = (
            f"SELECT purpose, count(*), {unknown}, total(cost), {sums} FROM model_request"
            f" {condition} GROUP BY purpose ORDER BY purpose"
        )
        by_purpose: dict[str, UsageTotals] = {}
        for purpose, requests, unpriced, cost, *tokens in self.db.execute(
            question, {"id": session_id}
        ):
            total = None if unpriced else cost
            by_purpose[purpose] = UsageTotals(
                Usage(*tokens), total, requests, known_cost=cost, unpriced=unpriced
            )
        return replace(sum(by_purpose.values(), UsageTotals()), by_purpose=by_purpose)

    def find_session(
        self,
        ref: str | None,
        directory: str,
        place: ProjectPlace | None = None,
        *,
        attended: bool = False,
    ) -> str:
        """Return the id of a session by its id, title or unique prefix of its id; None or "" selects the newest of the
        directory, else of its `place` in the project, if `attended` the newest that is not a script's alone, if there
        is one. Both texts must be clean. Raises BadInput."""
        if not ref:
            places = [_IN_DIRECTORY] if place is None else [_IN_PROJECT, _AT_PLACE]
            users = [_ATTENDED, "1"] if attended else ["1"]
            for condition in (f"{place} AND {user}" for place in places for user in users):
                newest = (
                    f"SELECT id FROM session WHERE {condition} ORDER BY {_NEWEST_FIRST} LIMIT 1"
                )
                for (session_id,) in self.db.execute(newest, _whereabouts(directory, place)):
                    return str(session_id)
            raise BadInput("There is no session in this directory yet.", "Start one: swecli")
        ref = ref.strip()
        for condition, value in (
            ("id = ?", ref.lower()),
            ("lower(title) = lower(?)", ref),
            ("instr(id, ?) = 1", ref.lower()),
        ):
            matching = f"SELECT id FROM session WHERE {condition} ORDER BY number DESC LIMIT 4"
            ids = [str(row[0]) for row in self.db.execute(matching, (value,))]
            if len(ids) == 1:
                return ids[0]
            if ids:
                listed = ", ".join(ids[:3]) + (", …" if len(ids) > 3 else "")
                raise BadInput(f"{ref!r} matches more than one session.", f"Use one of: {listed}.")
        raise BadInput(f"There is no session {ref!r}.", "See: swecli sessions list")

    def has_session(self, session_id: str) -> bool:
        """Return whether the session is stored: one without messages is not."""
        row = self.db.execute("SELECT 1 FROM session WHERE id = ?", (session_id,)).fetchone()
        return row is not None

    def newest_message(self, session_id: str) -> int:
        """Return the key of a session's newest message, 0 if it has none. What was loaded is all there is while this
        is the key of the newest loaded one: a key is never used again."""
        newest = "SELECT coalesce(max(id), 0) FROM message WHERE session_id = ?"
        return int(self.db.execute(newest, (session_id,)).fetchone()[0])

    def newest_undo(self, session_id: str) -> int:
        """Return the key of the newest undo of a session that was not redone, 0 if there is none."""
        newest = "SELECT coalesce(max(id), 0) FROM undo WHERE session_id = ? AND open = 1"
        return int(self.db.execute(newest, (session_id,)).fetchone()[0])

    def running_elsewhere(self, session_id: str) -> int:
        """Return the number of a turn of the session that another process runs, if its id is not that of a new one; 0
        for none."""
        running = "SELECT number, pid FROM interaction WHERE session_id = ? AND status = 'running'"
        for number, pid in self.db.execute(running, (session_id,)):
            if is_other_process(pid):
                return int(number)
        return 0

    @_report_damage()
    def session(self, session_id: str, newest: int = NEWEST) -> Session:
        """Load a session with its context and its `newest` interactions, or all of its window or epoch if they are
        more; the playbook is not loaded. Raises BadInput if there is none, DamagedDatabase for a corrupt row."""
        names = (*SESSION.fields, "directory", "window_spec")
        row = next(self.select(SESSION, names, "session WHERE id = ?", (session_id,)), None)
        if row is None:
            raise BadInput(f"There is no session {session_id!r}.", "See: swecli sessions list")
        row["working_directory"] = row.pop("directory")
        row["window"] = WindowSpec.parse(row.pop("window_spec") or "5")
        row["title"] = redact(row["title"])
        session = Session(**row)
        session.context = self._context(session_id)
        self._load_undone(session)
        first = first_loaded(session, newest)
        session.messages = self._messages(session_id, first, session.interactions)
        self.load_pinned(session)
        return session

    def _load_undone(self, session: Session) -> None:
        """Load the undos since the session's newest turn, newest first: those that a redo can revert."""
        question = (
            "SELECT interactions, first, last, coalesce(json_extract(taken, '$.standing'), '[]'),"
            " json_extract(taken, '$.piece')"
            " FROM undo WHERE session_id = ? AND open = 1 ORDER BY id DESC"
        )
        turns: list[UndoneTurns] = []
        pieces: list[UndonePiece] = []
        reached = session.interactions
        for interactions, first, last, standing, piece in self.db.execute(question, (session.id,)):
            if interactions != reached:
                break
            lines = tuple(json.loads(standing))
            if piece is None:
                turns.append(UndoneTurns(first, last, lines))
                reached = last
            elif first <= session.interactions:  # else its turn is undone, too
                pieces.append(UndonePiece(turn=first, standing=lines, **json.loads(piece)))
        session.newest_undo = self.newest_undo(session.id)
        session.undone = tuple(turns)
        session.undone_pieces = tuple(pieces)

    @_report_damage()
    def load_back_to(self, session: Session, interaction: int) -> None:
        """Load the interactions from that number on into `session.messages`, unless they are loaded."""
        first = session.messages[0].interaction if session.messages else session.interactions + 1
        if interaction < first:
            session.messages[:0] = self._messages(session.id, interaction, first - 1)

    @_report_damage()
    def load_pinned(self, session: Session) -> None:
        """Load the messages of pinned and brought back interactions that are not in `session.messages`."""
        context = session.context
        pins = {*context.pins, *context.brought_back}
        if context.epoch is not None:
            pins |= set(context.epoch.pins)
        loaded = {message.interaction for message in session.messages}
        for pin in pins - loaded - context.pinned.keys():
            context.pinned[pin] = self._messages(session.id, pin, pin)

    @_report_damage()
    def turn(self, session_id: str, number: int) -> list[ChatMessage]:
        """Load the messages of one interaction, in order, with their calls."""
        return self._messages(session_id, number, number)

    def _messages(self, session_id: str, first: int, last: int) -> list[ChatMessage]:
        """Load the messages of the interactions from `first` to `last`, in order, with their calls."""
        parameters = (session_id, first, last)
        in_range = "message WHERE session_id = ? AND interaction BETWEEN ? AND ?"
        calls: dict[int, list[ToolCall]] = {}
        source = (
            f"tool_call WHERE message_id IN (SELECT id FROM {in_range}) ORDER BY message_id, id"
        )
        names: tuple[str, ...] = ("message_id", "call_id", *TOOL_CALL.fields)
        for row in self.select(TOOL_CALL, names, source, parameters):
            message_id = row.pop("message_id")
            calls.setdefault(message_id, []).append(ToolCall(row.pop("call_id"), **row))
        messages = []
        names = ("id", "role", *MESSAGE.fields)
        for row in self.select(MESSAGE, names, f"{in_range} ORDER BY id", parameters):
            role = Role(row.pop("role"))
            messages.append(ChatMessage(role, tool_calls=calls.get(row["id"], []), **row))
        return messages

    def _context(self, session_id: str) -> ContextState:
        """Load what the next request depends on besides the messages: the current epoch, later reductions, pins and
        retained facts. The cost does not depend on the session's length."""
        state = ContextState(self.reductions(session_id))
        of_session = "survivor WHERE session_id = ? ORDER BY id"
        rows = self.select(SURVIVOR, SURVIVOR.fields, of_session, (session_id,))
        facts = [RetainedFact(**row) for row in rows]
        state.pins = _interactions_of(facts, PIN)
        state.brought_back = _interactions_of(facts, BROUGHT_BACK)
        state.keep(fact for fact in facts if fact.kind not in (PIN, BROUGHT_BACK))
        turns = "model_request WHERE session_id = ? AND purpose = 'turn' ORDER BY id DESC LIMIT 1"
        names = (*MODEL_REQUEST.fields, *USAGE, "created_at")
        for row in self.select(MODEL_REQUEST, names, turns, (session_id,)):
            created_at = row.pop("created_at")
            usage = Usage(**{name: row.pop(name) for name in USAGE})
            if not isinstance(row["extra"], dict):
                row["extra"] = {}
            state.record_request(RequestRecord(usage=usage, **row), created_at)
        return state

    def asides(self, session_id: str) -> list[Aside]:
        """Load what was asked beside a session's conversation, oldest first."""
        source = f"model_request WHERE session_id = ? AND purpose = '{ASIDE}' ORDER BY id"
        rows = self.select(MODEL_REQUEST, ("extra", "created_at"), source, (session_id,))
        asides = (Aside.from_extra(row["extra"], row["created_at"]) for row in rows)
        return [aside for aside in asides if aside is not None]

    def reductions(self, session_id: str, newest: int | None = None) -> list[Reduction]:
        """Load the reduction that began the current epoch and those after it that were not undone, oldest first; no
        others are read (`ix_reduction_session`). With `newest`, load that many, undone ones too, newest first."""
        opening = (
            "SELECT max(number) FROM reduction WHERE session_id = :id AND undone = 0 AND opens = 1"
        )
        source = "reduction WHERE session_id = :id"
        if newest is None:
            source += " AND undone = 0 AND opens IN (0, 1)"
            source += f" AND number >= coalesce(({opening}), 0) ORDER BY number"
        else:
            source += " ORDER BY number DESC LIMIT :newest"
        reductions = []
        names = (*REDUCTION.fields, "number", "undone", "epoch", "edits", "created_at")
        for row in self.select(REDUCTION, names, source, {"id": session_id, "newest": newest}):
            row["epoch"] = Epoch.from_json(row["epoch"]) if row["epoch"] else None
            row["edits"] = Edits.from_json(row["edits"] or {})
            reductions.append(Reduction(**row))
        return reductions

    def result(self, session_id: str, call_id: str) -> str | None:
        """Return the whole result of the newest call of a session with that id, or None."""
        newest = (
            "SELECT c.result, f.text FROM tool_call AS c LEFT JOIN full_result AS f ON f.call = c.id"
            " WHERE c.session_id = ? AND c.call_id = ? ORDER BY c.id DESC LIMIT 1"
        )
        for result, full in self.db.execute(newest, (session_id, call_id)):
            whole: str | None = result if full is None else full
            return whole
        return None

    def call_ids(self, session_id: str) -> set[str]:
        """Return the ids of all calls of a session."""
        calls = "SELECT call_id FROM tool_call WHERE session_id = ?"
        return {call_id for (call_id,) in self.db.execute(calls, (session_id,))}

    def has_open_findings(self, project: str, paths: Sequence[str]) -> bool:
        """Return whether a review found something in these files that is not settled."""
        question = (
            "SELECT EXISTS (SELECT 1 FROM finding WHERE project = ? AND state IN ('open', 'regressed')"
            " AND path IN (SELECT value FROM json_each(?)))"
        )
        return bool(self.db.execute(question, (project, json.dumps(paths))).fetchone()[0])

    def playbook(self, session: Session) -> SessionPlaybook:
        """Load the bullets of the session, its project and the user, without deleted ones."""
        bullets = self.bullets(session, f"{APPLIES} AND state != 'deleted'", {})
        return SessionPlaybook(bullets, self.playbook_version())

    def bullets(
        self, session: Session, condition: str, parameters: Mapping[str, Any]
    ) -> dict[str, Bullet]:
        """Load the bullets that match a condition by id, in ascending order. The condition may name `:own` and
        `:project`, those of the session."""
        names = ("number", *BULLET.fields)
        source = f"bullet WHERE {condition} ORDER BY number"
        owner = {"own": session.id, "project": project_of(session)}
        bullets = {}
        for row in self.select(BULLET, names, source, {**parameters, **owner}):
            bullet_id = f"P-{row.pop('number')}"
            bullets[bullet_id] = Bullet(id=bullet_id, **row)
        return bullets

    def playbook_version(self) -> int:
        """Return a number that grows with every delta, undo and redo, without reading the deltas."""
        # two subqueries: each maximum is then read from an index
        question = (
            "SELECT (SELECT coalesce(max(number), 0) FROM delta)"
            " + (SELECT coalesce(max(turned), 0) FROM delta)"
        )
        return int(self.db.execute(question).fetchone()[0])


def _interactions_of(facts: Sequence[RetainedFact], kind: str) -> tuple[int, ...]:
    """Return the interactions that facts of this kind mark, in ascending order."""
    return tuple(sorted(fact.interaction for fact in facts if fact.kind == kind))


def is_other_process(pid: int) -> bool:
    """Return whether a process other than this one has the id and is running."""
    if pid <= 0 or pid == os.getpid():
        return False
    with suppress(PermissionError):
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return False
    return True
