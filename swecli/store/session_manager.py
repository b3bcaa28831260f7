"""The session in use: what a turn stores and reads, and access to all else that the database holds."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from swecli.models.added_folder import AddedFolder
from swecli.models.aside import Aside
from swecli.models.context import BEGIN, UNDO, Reduction
from swecli.models.errors import BadInput, BusyElsewhere, ContinuedElsewhere
from swecli.models.ids import uuid7
from swecli.models.message import ChatMessage, Image, RequestRecord, Role, ToolCall
from swecli.models.notes import Note
from swecli.models.project import ProjectPlace
from swecli.models.session import Session
from swecli.models.window_spec import WindowSpec
from swecli.redact import redact
from swecli.store.context import ContextStore
from swecli.store.journal.reader import NEWEST, UNATTENDED, Reader, first_loaded
from swecli.store.journal.values import clean_text, folder_key
from swecli.store.journal.writer import INTERRUPTED, StoredMessage, Writer, set_fields
from swecli.store.playbook.store import PlaybookStore
from swecli.store.presence import SessionPresence
from swecli.store.records import UnfinishedTurn, UsageTotals
from swecli.store.sqlite.database import Database, open_database
from swecli.store.turn_records import TurnRecords, add_attempt

if TYPE_CHECKING:  # a turn needs none of these
    from swecli.models.finding import Finding
    from swecli.models.session import EarlierTurn
    from swecli.store.catalog import SessionCatalog
    from swecli.store.file_changes import FileChanges
    from swecli.store.lasting_changes import LastingChanges
    from swecli.store.search_results import FoundInteraction, TextMatch
    from swecli.store.session_files.archive import SessionArchive
    from swecli.store.undo import UndoStore

_NO_LIMIT = 1_000_000  # more reductions than a session has


class SessionManager:
    """Keeps `current_session` and the database in sync, and starts, resumes and forks sessions.

    A method that changes something commits one transaction, and then changes the session in memory. Each may raise
    StoreError; then neither has changed.
    """

    def __init__(self, database: Database, *, parent: SessionManager | None = None) -> None:
        """Use a database. `parent` has the turn whose task runs in these sessions: it bears their usage."""
        self.database = database
        self.is_attended = True  # False: its requests are marked as those of a script
        self.current_session: Session | None = None
        self.context = ContextStore(database)
        self.playbook = PlaybookStore(database)
        self.turns = TurnRecords(database)
        self._parent = parent
        self._waiting: ChatMessage | None = None  # stored, but its turn has not begun
        self._presence: SessionPresence | None = None
        if database.path is not None:
            self._presence = SessionPresence(Path(f"{database.path}.open"))

    @classmethod
    def open(cls, location: str | Path, *, even_read_only: bool = False) -> SessionManager:
        """Open the store; see `open_database`. Raises BadInput, StoreError."""
        return cls(open_database(location, even_read_only=even_read_only))

    @cached_property
    def catalog(self) -> SessionCatalog:
        """Lists and searches the sessions of the database."""
        # late: a turn asks nothing of other sessions
        from swecli.store.catalog import SessionCatalog

        return SessionCatalog(self.database)

    @cached_property
    def file_changes(self) -> FileChanges:
        """The recorded changes of files."""
        # late: after the first request
        from swecli.store.file_changes import FileChanges

        return FileChanges(self.database)

    @cached_property
    def lasting_changes(self) -> LastingChanges:
        """The recorded changes that no undo takes back."""
        # late: commands make them
        from swecli.store.lasting_changes import LastingChanges

        return LastingChanges(self.database)

    @cached_property
    def undo(self) -> UndoStore:
        """Undo and redo of turns."""
        # late: few turns are undone, and it needs SQLModel
        from swecli.store.undo import UndoStore

        return UndoStore(self.database)

    @cached_property
    def archive(self) -> SessionArchive:
        """Exports, copies and deletes sessions."""
        # late: few programs do any of these, and they need SQLModel
        from swecli.store.session_files.archive import SessionArchive

        return SessionArchive(self.database)

    @property
    def session(self) -> Session:
        """The session in use. Raises BadInput if there is none."""
        if self.current_session is None:
            raise BadInput("No session is open.")
        return self.current_session

    def warm(self) -> None:
        """Load SQLModel in advance, for the lessons of a turn and for undo. Nothing is stored."""
        # late: as for `undo`
        import swecli.store.playbook.deltas
        import swecli.store.undo  # noqa: F401

    # --- which session is in use

    def start(
        self,
        directory: str,
        model: str,
        *,
        title: str = "",
        window: WindowSpec | None = None,
        project: str = "",
        place: ProjectPlace | None = None,
    ) -> Session:
        """Start a session; nothing is stored before its first message. `place` is that of the directory in its project:
        `resume` finds the session there. One that works in no folder only has the `project` whose strategies it uses;
        without either these are the directory's."""
        directory = folder_key(directory)
        session = Session(
            uuid7(),
            directory,
            title=redact(clean_text(title)),
            model=clean_text(model),
            window=window or WindowSpec(),
        )
        session.project = folder_key(project) or directory
        if place is not None:
            session.project = place.project
            session.subfolder = place.subfolder
        return self.use(session)

    def start_task(self, title: str) -> SessionManager:
        """Start a session for a task of the running turn. It is not listed and not learned from, and its usage is
        recorded in this session as "task"."""
        task = SessionManager(self.database, parent=self)
        session = task.start("", self.session.model, title=f"task: {title}")
        session.parent_id = self.session.id
        return task

    def resume(
        self,
        ref: str | None,
        directory: str,
        window_hint: int = NEWEST,
        *,
        place: ProjectPlace | None = None,
        attended: bool = False,
    ) -> Session:
        """Resume a session with its newest `window_hint` interactions and its playbook. `ref` is an id, a title or a
        unique prefix of an id; None or "" is the newest of the directory, else of its `place` in the project, if
        `attended` one that is not a script's alone. Turns of dead processes are marked as interrupted first, and a
        session whose directory is gone works in this one from now on, unless the store is read-only. Raises BadInput,
        DamagedDatabase."""
        database = self.database
        transaction = database.read if database.is_read_only else database.write
        with transaction() as db:
            reader = Reader(db)
            session_id = reader.find_session(
                ref and clean_text(ref), folder_key(directory), place, attended=attended
            )
            if not database.is_read_only:
                Writer(db).settle_interrupted(session_id)
            session = reader.session(session_id, window_hint)
            if place is not None and _lacks_place(session, folder_key(directory), place):
                if not database.is_read_only:
                    Writer(db).move_session(session, folder_key(directory), place)
                session.working_directory = folder_key(directory)
                session.project = place.project
                session.subfolder = place.subfolder
        return self.use(session)

    def use(self, session: Session) -> Session:
        """Make a session the current one, with its playbook reloaded, and return it."""
        with self.database.read() as db:
            session.update_playbook(Reader(db).playbook(session))
        self.current_session = session
        self._waiting = None
        return session

    def enter(self) -> bool:
        """Open the current session for turns, until `leave` or until another one is opened: other processes see it.
        Returns whether one of them has it open too."""
        if self._presence is None:
            return False
        self._presence.enter(self.session.id)
        return self._presence.is_elsewhere() is True

    def leave(self) -> None:
        """Close the session that `enter` opened, if there is one."""
        if self._presence is not None:
            self._presence.leave()

    def is_open_elsewhere(self, session_id: str) -> bool:
        """Return whether another process has a session open for turns."""
        if self._presence is None:
            return False
        return self._presence.is_open_elsewhere(session_id)

    def require_current(self) -> None:
        """Raise BusyElsewhere if another process runs a turn of the session, ContinuedElsewhere if one has added turns
        to what this process has loaded, or taken some or a piece of one back."""
        with self.database.read() as db:
            self._require_current(Reader(db))

    def _require_current(self, reader: Reader) -> None:
        session = self.session
        running = reader.running_elsewhere(session.id)
        # a process that was killed may have left the turn, and another program its id
        if running and (self._presence is None or self._presence.is_elsewhere() is not False):
            raise BusyElsewhere(running)
        if not reader.has_session(session.id):  # it is stored, or deleted elsewhere
            return
        newest = self._waiting.id if self._waiting else session.newest_message
        if reader.newest_message(session.id) != newest:
            raise ContinuedElsewhere
        if reader.newest_undo(session.id) != session.newest_undo:
            raise ContinuedElsewhere

    def fork(self, upto: int | None = None) -> Session:
        """Copy this session up to an interaction (None: all) and resume the copy; see `SessionArchive.copy`. What the
        user allowed for this session is allowed in its copy."""
        allowed = self.session.allowed
        copy = self.resume(self.archive.copy(self.session.id, upto), "")
        if allowed:
            self._set({"allowed": allowed})
            copy.allowed = allowed
        return copy

    def find_deletable(self, ref: str) -> str:
        """Return the id of a session that no other process has open. Raises BadInput."""
        with self.database.read() as db:
            session_id = Reader(db).find_session(clean_text(ref), "")
        if self.is_open_elsewhere(session_id):
            raise BadInput(
                f"{session_id} is open in another swecli.", "Leave it there first: /exit or /new"
            )
        return session_id

    def delete(self, ref: str) -> str:
        """Delete a session; see `SessionArchive.delete`. Raises BadInput like `find_deletable`."""
        deleted = self.archive.delete(self.find_deletable(ref))
        if self.current_session is not None and self.current_session.id == deleted:
            self.current_session = None
        return deleted

    # --- the running turn

    def store_query(self, query: str, **fields: Any) -> ChatMessage:
        """Commit a query before its turn is prepared, so that it survives a kill, and return its message, whose other
        `fields` may be given. `begin_interaction` with the same text continues with it, `drop_query` removes it. Raises
        BusyElsewhere, ContinuedElsewhere: the model would not see what another process does in the session."""
        if self._waiting is not None and self._waiting.content == clean_text(query):
            return self._waiting
        message = ChatMessage(Role.USER, query, **fields)
        with self.database.write() as db:
            self._require_current(Reader(db))
            stored_message = self._begin(Writer(db), message)
        self._wait(message, stored_message)
        return message

    def begin_interaction(
        self,
        query: str,
        sent_text: str | None = None,
        *,
        notes: Sequence[Note] = (),
        images: list[Image] | None = None,
        ended_jobs: tuple[str, ...] = (),
        **token_fields: Any,
    ) -> ChatMessage:
        """Commit the user's message, unless it is stored, and begin its turn. `sent_text` and `images` are sent in
        place of the query, followed by `notes`; `sent_text` tells the end of `ended_jobs`. `token_fields` is its
        `tokens` and `encoding`, if they are known."""
        fields = {
            "sent": sent_text,
            "notes": list(notes),
            "images": images,
            "ended_jobs": ended_jobs,
        }
        fields |= token_fields
        message = self._waiting
        if message is None or message.content != clean_text(query):
            message = self.store_query(query, **fields)
        else:
            self._change_waiting(message, fields)
        self._waiting = None
        self.session.add_message(message)
        return message

    def drop_query(self) -> None:
        """Remove the query that `store_query` stored, with its interaction: the user edits it again."""
        if self._waiting is None:
            return
        with self.database.write() as db:
            Writer(db).drop_turn(self.session.id, self._waiting)
        self._waiting = None

    def _begin(self, writer: Writer, message: ChatMessage) -> StoredMessage:
        """Store a query; one before it whose turn never began is interrupted."""
        if self._waiting is not None:
            writer.finish_turn(self.session.id, self._waiting.interaction, INTERRUPTED)
        return writer.begin_turn(self.session, message)

    def _wait(self, message: ChatMessage, stored_message: StoredMessage) -> None:
        if self._waiting is not None:
            self.session.add_message(self._waiting)
        stored_message.apply(message)
        self._waiting = message

    def _change_waiting(self, message: ChatMessage, fields: Mapping[str, Any]) -> None:
        """Store what was not known when the query was."""
        if all(getattr(message, name) == value for name, value in fields.items()):
            return
        with self.database.write() as db:
            stored_fields = Writer(db).change_message(message.id or 0, fields)
        set_fields(message, stored_fields)

    def append(self, message: ChatMessage) -> ChatMessage:
        """Commit a message of the running interaction with its calls; sets its `id` and `interaction`."""
        with self.database.write() as db:
            stored_message = Writer(db).add_message(self.session, message)
        stored_message.apply(message)
        self.session.add_message(message)
        return message

    def record_call(self, call: ToolCall, full_result: str | None = None) -> None:
        """Commit a call's decision, result, error and duration. `full_result` is the whole output, if the model got
        less in `call.result`. Raises BadInput if the session has no such call."""
        with self.database.write() as db:
            stored_fields = Writer(db).record_call(self.session.id, call, full_result)
        set_fields(call, stored_fields)

    def save_unfinished(self, turn: UnfinishedTurn) -> None:
        """Commit the partial answer and outputs of a running turn, which a resumed session shows if this process is
        killed; what has finished since is not changed. Thread-safe."""
        with self.database.write() as db:
            Writer(db).save_unfinished(turn)

    def record_request(self, record: RequestRecord) -> None:
        """Commit the usage of a request; that of a task belongs to its parent's session. The session's cost becomes
        None with the first unknown cost."""
        session = self.session
        if self._parent is not None:
            parent = self._parent.current_session
            number = parent.interactions if parent else 0
            self._parent.record_request(replace(record, purpose="task", interaction=number))
        else:
            if not self.is_attended:
                record = replace(record, extra=record.extra | {UNATTENDED: True})
            with self.database.write() as db:
                cost = Writer(db).record_request(session, record)
            session.cost = cost
        if record.purpose == "turn":
            session.context.record_request(record, datetime.now(UTC))

    def add_shown(self, names: Sequence[str]) -> None:
        """Commit that the running interaction was shown these strategies, too. Raises BadInput if there is none."""
        session = self.session
        with self.database.write() as db:
            Writer(db).add_shown(session.id, session.interactions, names)

    def finish_interaction(
        self,
        outcome: str,
        *,
        shown_names: Sequence[str] = (),
        cited: Sequence[str] = (),
        choice: Mapping[str, Any] | None = None,
    ) -> None:
        """Commit how the newest interaction ended, the strategies it was shown and cited, and their selection. Its
        reflection is pending from now on, except that of a task. Raises BadInput if there is no interaction."""
        session = self.session
        bullets = session.playbook.bullets
        used_bullets = [bullets[name] for name in cited if name in bullets]
        with self.database.write() as db:
            writer = Writer(db)
            finished_at = writer.finish_turn(
                session.id,
                session.interactions,
                outcome,
                shown_names=shown_names,
                cited=cited,
                choice=choice,
            )
            writer.set_last_used([bullet.number for bullet in used_bullets], finished_at)
            if self._parent is not None:
                add_attempt(db, session.id, session.interactions, "skipped")
        for bullet in used_bullets:
            bullets[bullet.id] = replace(bullet, last_used=finished_at)

    # --- the session's settings and what of it is in memory

    def rename(self, title: str) -> None:
        """Set the session's title, redacted."""
        title = redact(clean_text(title))
        self._set({"title": title})
        self.session.title = title

    def set_model(self, name: str) -> None:
        """Set the session's model."""
        name = clean_text(name)
        self._set({"model": name})
        self.session.model = name

    def set_window(self, spec: WindowSpec) -> None:
        """Set the session's window, and load the turns that it keeps."""
        self._set({"window_spec": str(spec)})
        self.session.window = spec
        self.load_back_to(spec.first_kept(self.session.interactions, self.session.window_start))

    def allowed_in(self, folder: str) -> Sequence[str]:
        """Return the permission rules that the user allowed for this session in a folder; none without a session."""
        if self.current_session is None:
            return ()
        return self.current_session.allowed.get(folder_key(folder), ())

    def set_allowed(self, folder: str, rules: Sequence[str]) -> None:
        """Set the rules that `allowed_in` returns."""
        allowed = {**self.session.allowed, folder_key(folder): tuple(rules)}
        self._set({"allowed": allowed})
        self.session.allowed = allowed

    def folders_in(self, workspace: str) -> Sequence[AddedFolder]:
        """Return the folders that the user added to this session in a workspace; none without a session."""
        if self.current_session is None:
            return ()
        return self.current_session.folders.get(folder_key(workspace), ())

    def set_folders(self, workspace: str, added: Sequence[AddedFolder]) -> None:
        """Set the folders that `folders_in` returns."""
        folders = {**self.session.folders, folder_key(workspace): tuple(added)}
        self._set({"folders": folders})
        self.session.folders = folders

    def _set(self, columns: Mapping[str, Any]) -> None:
        """Commit settings. A session without messages has no row yet; its first message stores them."""
        with self.database.write() as db:
            Writer(db).set_session(self.session.id, columns)

    def undo_reduction(self, hold_turns: int, hold_tokens: int) -> Reduction:
        """Undo the session's newest reduction and return it: the next request is built without it. The undo row delays
        its repetition, see `Reduction`. Raises BadInput if there is none."""
        session = self.session
        with self.database.write() as db:
            reader = Reader(db)
            undoable = [
                row
                for row in reader.reductions(session.id, _NO_LIMIT)
                if not row.undone and row.how not in (BEGIN, UNDO)
            ]
            if not undoable:
                raise BadInput("Nothing has been removed from this session's requests yet.")
            newest = undoable[0]
            undo = Reduction(
                UNDO,
                session.interactions,
                detail=f"R-{newest.number}",
                hold_turns=hold_turns,
                hold_tokens=hold_tokens,
            )
            writer = Writer(db)
            writer.mark_reduction_undone(newest.number)
            writer.add_reduction(session.id, undo)
            reductions = reader.reductions(session.id)
        session.context.reductions = reductions
        epoch = session.context.epoch
        if epoch is not None:
            self.load_back_to(epoch.first)
        return replace(newest, undone=True)

    def read_whole(self) -> Session:
        """Read the current session from the store with all of its turns, without its playbook."""
        with self.database.read() as db:
            return Reader(db).session(self.session.id, self.session.interactions)

    def load_back_to(self, interaction: int) -> None:
        """Load the interactions from that number on into `current_session.messages`."""
        with self.database.read() as db:
            Reader(db).load_back_to(self.session, interaction)

    def unload_old_turns(self) -> None:
        """Drop from memory the messages that a resumed session would not load either."""
        session = self.session
        first = first_loaded(session)
        recent = [message for message in session.messages if message.interaction >= first]
        if len(recent) == len(session.messages):
            return
        session.messages = recent
        with self.database.read() as db:
            Reader(db).load_pinned(session)

    # --- questions about the session

    def read_result(self, call_id: str) -> str | None:
        """Return the whole result of the newest call with that id, or None."""
        with self.database.read() as db:
            return Reader(db).result(self.session.id, clean_text(call_id))

    def call_ids(self) -> set[str]:
        """Return the ids of all calls of this session."""
        with self.database.read() as db:
            return Reader(db).call_ids(self.session.id)

    def asides(self) -> list[Aside]:
        """Return what was asked beside this session's conversation, oldest first."""
        with self.database.read() as db:
            return Reader(db).asides(self.session.id)

    def totals(self) -> UsageTotals:
        """Sum the usage of this session's requests. The cost is None if any is unknown."""
        with self.database.read() as db:
            return Reader(db).totals(self.session.id)

    def find(self, text: str, limit: int = 20) -> list[TextMatch]:
        """Find a text in this session's messages and results, newest first."""
        # late: few turns search
        from swecli.store.sessions.search import find_text

        with self.database.read() as db:
            return find_text(db, self.session.id, clean_text(text), limit)

    def search_session(
        self, query: str, *, before: int | None = None, limit: int = 3, floor: float | None = None
    ) -> list[FoundInteraction]:
        """Find interactions of this session that a query refers to, best first, each with excerpts: those `before` an
        interaction (None: all) with a score of at least `floor`, from 0 to 1 (None: what a prompt may quote)."""
        # late: as above
        from swecli.store.sessions.earlier_turns import FLOOR, search_session

        with self.database.read() as db:
            return search_session(
                db,
                self.session,
                clean_text(query),
                before=before,
                limit=limit,
                floor=FLOOR if floor is None else floor,
            )

    def outline(self, session: Session, first: int, last: int) -> list[EarlierTurn]:
        """Return a session's turns from the `first` to the `last` in outline, oldest first."""
        # late: a session begins without earlier turns
        from swecli.store.sessions.outline import read_outline

        with self.database.read() as db:
            return read_outline(db, session.id, first, last)

    def turn_sizes(self, first: int, last: int) -> dict[int, int]:
        """Return the stored tokens of this session's turns from the `first` to the `last`, by number."""
        # late: as above
        from swecli.store.sessions.outline import read_sizes

        with self.database.read() as db:
            return read_sizes(db, self.session.id, first, last)

    def read_turn(self, number: int) -> list[ChatMessage]:
        """Return the messages of a turn of this session, with their calls."""
        with self.database.read() as db:
            return Reader(db).turn(self.session.id, number)

    def open_findings(self, paths: Iterable[str]) -> list[Finding]:
        """Return the open review findings in these files of the session's project."""
        names = list(paths)
        project = self.session.project
        with self.database.read() as db:
            if not Reader(db).has_open_findings(project, names):
                return []
        # late: few sessions have any
        from swecli.store.reviews import ReviewStore

        return ReviewStore(self.database, project).findings(("open", "regressed"), names)


def _lacks_place(session: Session, directory: str, place: ProjectPlace) -> bool:
    """Return whether a session works from now on where it is resumed: it was imported for this directory, or its own is
    gone from this project."""
    if not session.project:
        return session.working_directory == directory
    is_of_project = session.project == place.project and session.subfolder is not None
    return is_of_project and not os.path.isdir(session.working_directory)  # noqa: PTH112  raises nothing
