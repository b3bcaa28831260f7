"""The one session that is in use, and the way to all the others: every change is committed before it is shown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from datetime import UTC, datetime
from typing import Any

from swecli.models.context import Reduction
from swecli.models.errors import BadInput
from swecli.models.ids import uuid7
from swecli.models.message import ChatMessage, RequestRecord, Role, ToolCall
from swecli.models.session import Session, SessionInfo
from swecli.models.window import WindowSpec
from swecli.redact import redact
from swecli.store.playbook.store import PlaybookStore
from swecli.store.records import FoundInteraction, InteractionInfo, Place, SearchHit, SessionTotals, Unfinished
from swecli.store.session_files import archive, copies
from swecli.store.sessions import queries as session_queries
from swecli.store.sessions.context import ContextStore
from swecli.store.sessions.search import FLOOR, search_session
from swecli.store.sessions.store import INTERRUPTED, SessionStore
from swecli.store.sqlite.database import Database
from swecli.store.tables.columns import clean_text


class SessionManager:
    """Keeps `current_session` and the database the same.

    Every change is committed first and shown in `current_session` after. Any of its functions may raise StoreError,
    with one line for the user; then neither has changed.
    """

    def __init__(self, database: Database) -> None:
        self.database = database
        self.playbook = PlaybookStore(database)
        self.context = ContextStore(database)
        self.current_session: Session | None = None
        self._store = SessionStore(database)
        self._open_calls: dict[str, int] = {}
        self._waiting: ChatMessage | None = None  # stored, and its turn has not begun

    def start(
        self,
        directory: str,
        model: str,
        *,
        title: str = "",
        window: WindowSpec | None = None,
        project: str = "",
    ) -> Session:
        """Begin a session. Nothing is written before its first message.

        `project` is what strategies of project scope are shared by; the directory where nothing is given.
        """
        directory = clean_text(directory)
        session = Session(
            id=uuid7(),
            working_directory=directory,
            title=redact(clean_text(title)),
            model=clean_text(model),
            window=window or WindowSpec(),
            project=clean_text(project) or directory,
        )
        session.update_playbook(self.playbook.load(session))
        return self._use(session)

    def resume(self, ref: str | None, directory: str, window_hint: int = 12) -> Session:
        """Go on with a session: its newest `window_hint` interactions and its playbook are loaded.

        Args:
            ref: an id, a title, or the unique beginning of an id; None or "" for the newest of the directory.

        Raises:
            BadInput: none is meant, or more than one.
        """
        session = self._store.load(ref, clean_text(directory), window_hint)
        session.update_playbook(self.playbook.load(session))
        session.context = self.context.load(session)
        self._use(session)
        if (epoch := session.context.epoch) is not None:
            self.load_back_to(epoch.first)
        return session

    def _use(self, session: Session) -> Session:
        self.current_session, self._open_calls, self._waiting = session, {}, None
        return session

    def store_query(self, query: str) -> None:
        """Commit what the user has sent before its turn is made ready: if the process ends meanwhile, it is there.

        `begin_interaction` of the same text goes on with it, `drop_query` takes it back.
        """
        self._leave_waiting()
        message = ChatMessage(Role.USER, query)
        self._store.put_message(self._session(), message, opens=True)
        self._waiting = message

    def drop_query(self) -> None:
        """Take back what `store_query` stored: the user has it in the input line again. Nothing where none waits."""
        if self._waiting is not None:
            self._store.drop_query(self._session().id, self._waiting)
            self._waiting = None

    def _leave_waiting(self) -> None:
        """A stored query whose turn never began stays as one that was interrupted."""
        if (message := self._waiting) is not None:
            self._take_in(message)
            self._waiting = None
            self.finish_interaction(INTERRUPTED)

    def begin_interaction(
        self, query: str, sent: str | None = None, *, tokens: int | None = None, encoding: str = ""
    ) -> ChatMessage:
        """Commit the user's message, and with it a new interaction. `sent` is what the model gets in its place,
        `tokens` its size, where it was counted."""
        message = ChatMessage(Role.USER, query, sent=sent, tokens=tokens, encoding=encoding)
        waiting = self._waiting
        if waiting is None or waiting.content != clean_text(query):
            self._leave_waiting()
            return self._put(message, opens=True)
        message.id, message.interaction, message.created_at = waiting.id, waiting.interaction, waiting.created_at
        self._store.put_sent(message)
        self._waiting, self._open_calls = None, {}
        return self._take_in(message)

    def append(self, message: ChatMessage) -> ChatMessage:
        """Commit a message of the running interaction, with its calls; gives it its `id` and `interaction`."""
        return self._put(message, opens=False)

    def _put(self, message: ChatMessage, *, opens: bool) -> ChatMessage:
        session = self._session()
        keys = self._store.put_message(session, message, opens=opens)
        self._open_calls = {} if opens else self._open_calls
        self._open_calls |= zip((call.id for call in message.tool_calls), keys, strict=True)
        return self._take_in(message)

    def _take_in(self, message: ChatMessage) -> ChatMessage:
        """Show in `current_session` what is committed."""
        self._session().add_message(message)
        return message

    def record_call(self, call: ToolCall, full_result: str | None = None) -> None:
        """Commit what became of a call: decision, result, error, duration.

        Args:
            full_result: the whole output, where the model got less than that in `call.result`.

        Raises:
            BadInput: no message of the session has such a call.
        """
        self._store.put_result(self._session().id, call, full_result, self._open_calls.get(call.id))

    def open_call(self, call_id: str) -> int | None:
        """The key by which `note_unfinished` takes a call of the running turn; None where no message of it has one."""
        return self._open_calls.get(call_id)

    def note_unfinished(self, now: Unfinished) -> None:
        """Commit what a running turn has so far: what a resumed session shows if this process is killed. Any thread."""
        self._store.put_unfinished(now)

    def record_request(self, record: RequestRecord) -> None:
        """Commit what a request to a model took. The session's cost is unknown from the first unknown price on."""
        session = self._session()
        session.cost = self._store.put_request(session, record)
        if record.purpose == "turn":
            session.context.take_request(record, datetime.now(UTC))

    def finish_interaction(
        self,
        outcome: str,
        *,
        shown: Sequence[str] = (),
        cited: Sequence[str] = (),
        choice: Mapping[str, Any] | None = None,
    ) -> None:
        """Commit how the newest interaction ended, which strategies it was shown and cited, and how they were chosen.

        From now on its reflection is pending. Raises BadInput when nothing was begun.
        """
        session = self._session()
        info = self._store.finish(session.id, session.interactions, outcome, shown, cited, choice)
        for name in info.cited:
            if bullet := session.playbook.bullets.get(name):
                session.playbook.bullets[name] = replace(bullet, last_used=info.finished_at)

    def note_shown(self, names: Sequence[str]) -> None:
        """Commit that the running interaction was shown these strategies too."""
        session = self._session()
        self._store.note_shown(session.id, session.interactions, names)

    def interaction_info(self, n: int) -> InteractionInfo | None:
        """The record of the session's interaction `n`; None if there is none."""
        return self._store.interaction(self._session().id, n)

    def load_back_to(self, interaction: int) -> None:
        """Bring the interactions from that number on into `current_session.messages`, where they are not yet."""
        session = self._session()
        first = session.messages[0].interaction if session.messages else session.interactions + 1
        if interaction < first:
            session.messages[:0] = self._store.messages(session.id, interaction, first - 1)

    def undo_reduction(self, hold_turns: int, hold_tokens: int) -> Reduction:
        """Take the newest reduction of this session's requests back; see `ContextStore.undo`. Raises BadInput."""
        session = self._session()
        taken = self.context.undo(session, hold_turns, hold_tokens)
        if (epoch := session.context.epoch) is not None:
            self.load_back_to(epoch.first)
        return taken

    def rename(self, title: str) -> None:
        """Give the session another title. A secret in it is not kept."""
        self._set(title=redact(clean_text(title)))

    def set_window(self, spec: WindowSpec, window_start: int | None = None) -> None:
        """Change the session's reflection window, and where it begins now (None: as it was)."""
        start = self._session().window_start if window_start is None else window_start
        self._set(window=spec, window_start=start)

    def set_model(self, name: str) -> None:
        """Note that the session goes on with another model."""
        self._set(model=clean_text(name))

    def _set(self, **settings: Any) -> None:
        session = self._session()
        self._store.put_settings(replace(session, **settings))
        for name, value in settings.items():
            setattr(session, name, value)

    def list_sessions(self, directory: str | None = None, limit: int = 20) -> list[SessionInfo]:
        """The sessions used last, newest first; of one directory, or of all."""
        return session_queries.list_sessions(self.database, directory, limit)

    def search(self, words: str, limit: int = 20) -> list[SearchHit]:
        """Where all the words stand together, in messages and titles of all sessions, newest first.

        `word*` finds what begins so. Raises BadInput without words.
        """
        return session_queries.search(self.database, words, limit)

    def find(self, text: str, limit: int = 20) -> list[Place]:
        """Where a text stands in this session, in messages and in results, newest first."""
        return session_queries.find_in_session(self.database, self._session().id, clean_text(text), limit)

    def search_session(
        self, query: str, *, before: int | None = None, limit: int = 3, floor: float = FLOOR
    ) -> list[FoundInteraction]:
        """The interactions of this session that a query refers to, best first, each with excerpts; often none.

        Args:
            before: the first interaction that is sent anyway: only earlier ones are found. None for the whole session.
            floor: the least score, from 0 to 1. Above 0, more than one word has to match, in one passage, and words
                that a later interaction has do not count; 0 gives all that have any of the words.
        """
        return search_session(self.database, self._session().id, clean_text(query), before, limit, floor)

    def search_earlier(self, query: str) -> list[FoundInteraction]:
        """The five best interactions before the newest that have any of the words."""
        return self.search_session(query, before=self._session().interactions, limit=5, floor=0)

    def read_result(self, call_id: str) -> str | None:
        """The whole text of a call's result in this session; None for an unknown id, or without a result."""
        return session_queries.read_result(self.database, self._session().id, clean_text(call_id))

    def totals(self) -> SessionTotals:
        """What this session's requests took. A sum of which a part is unknown is unknown."""
        return session_queries.totals(self.database, self._session().id)

    def fork(self, ref: str | None = None, *, upto: int | None = None, title: str = "") -> Session:
        """Go on in a copy of a session (None: this one), up to interaction `upto` (None: all); the first one stays.

        Raises:
            BadInput: none is meant by `ref`, more than one, or it has no message yet.
        """
        new = copies.fork(self.database, ref or self._session().id, upto, redact(clean_text(title)))
        return self.resume(new, "")

    def delete(self, ref: str) -> str:
        """Delete a session with all that belongs to it alone; returns its id.

        Raises:
            BadInput: none is meant by `ref`, more than one, or the one in use.
        """
        current = self.current_session
        return copies.delete(self.database, ref, keep=current.id if current else "")

    def export(self, ref: str) -> dict[str, Any]:
        """A session as plain JSON values, with messages, calls, turn records, strategies and totals.

        Raises:
            BadInput: none is meant by `ref`, or more than one.
        """
        whole = archive.export(self.database, ref)
        return whole | {"totals": asdict(session_queries.totals(self.database, whole["id"]))}

    def _session(self) -> Session:
        if self.current_session is None:
            raise BadInput("No session is open.")
        return self.current_session
