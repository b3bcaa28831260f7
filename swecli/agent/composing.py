"""Puts requests together: what goes into the head, which strategies, and what is known of the moment."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

from swecli.agent.reducing import Head
from swecli.agent.strategies import Strategies
from swecli.agent.surroundings import Surroundings, stale_lines
from swecli.config.settings import Settings
from swecli.context.budget import request_limit
from swecli.context.epochs import Moment
from swecli.context.notes import environment_notes
from swecli.context.prepare import Parts, Prepared, head_for, prepare
from swecli.context.tokens import TokenCounter
from swecli.llm.base import ChatModel
from swecli.models.session import Session
from swecli.playbook.choosing import Chosen
from swecli.review.grounding import digest_of_open
from swecli.store.review_store import ReviewStore
from swecli.store.session_manager import SessionManager


@dataclass(slots=True)
class Composer:
    """Composes for one workspace. `instructions` is the text of the project's own files; `reread` reads them anew,
    which is done only when an epoch begins. `anew` says why the next turn must begin one, "" when it need not."""

    sessions: SessionManager
    settings: Settings
    root: Path
    system_prompt: str
    instructions: str = ""
    reread: Callable[[], str] | None = None
    anew: str = ""
    chosen: Chosen | None = None
    strategies: Strategies | None = None
    around: Surroundings | None = None
    clock: Callable[[], datetime] = lambda: datetime.now(UTC)
    _words: str = ""
    _counter: TokenCounter | None = None

    def prepare(self, session: Session, words: str, query: str, model: ChatModel, counter: TokenCounter) -> Prepared:
        """The request for a query: `words` as the user said it, `query` as it is sent. Nothing is stored."""
        self._remember_counts(session, counter)
        self._words, self._counter = words, counter
        self.chosen, anew = self._strategies().choose(session, words, counter, self.anew)
        prepared = prepare(session, query, self._parts(session, model, anew), counter)
        if prepared.opens is None:
            return prepared
        self.instructions, known = self.reread() if self.reread is not None else self.instructions, self.instructions
        moved = not anew and session.context.epoch is not None
        if moved:  # it was chosen for what was to go on
            self.chosen = self._strategies().for_head(session, words, counter)
        if moved or self.instructions != known:
            prepared = prepare(session, query, self._parts(session, model, anew), counter)
        return prepared

    def noticed(self) -> list[str]:
        """What was found out while choosing and the user has not been told: strategies that name what is gone."""
        if self.strategies is None:
            return []
        session = self.strategies.sessions.current_session
        bullets = session.get_playbook().bullets if session else {}
        pinned = [name for name in self.strategies.gone if name in bullets and bullets[name].state == "pinned"]
        return list(stale_lines(self.strategies.gone, pinned))

    def told(self) -> None:
        """A turn has begun: its notices are out, its head is composed."""
        self.anew = ""
        if self.strategies:
            self.strategies.gone.clear()

    def warm(self, counter: TokenCounter) -> None:
        """Do beforehand, in a thread, what the first request would take longest for."""
        if (session := self.sessions.current_session) is not None:
            self._strategies().warm(session, counter)

    def _strategies(self) -> Strategies:
        self.strategies = self.strategies or Strategies(self.sessions, self.settings, self.around)
        return self.strategies

    def head(self, summary: str, sent: set[int]) -> Head:
        """The system message of an epoch that begins now and sends the interactions in `sent` word for word."""
        session = self.sessions.current_session
        assert session is not None, "a head belongs to a session"
        if self._counter is not None:  # all that was told in notes goes with the messages, or out of them
            self.chosen = self._strategies().for_head(session, self._words, self._counter)
        bullets = self.chosen.bullets if self.chosen else ()
        parts = Parts(self.system_prompt, self.instructions, bullets, digest=self._digest(session))
        return Head(head_for(session, parts, summary, sent), {bullet.id: bullet.content for bullet in bullets})

    def _parts(self, session: Session, model: ChatModel, anew: str) -> Parts:
        return Parts(
            self.system_prompt,
            self.instructions,
            self.chosen.bullets if self.chosen else (),
            environment_notes(self.root, date.today()),
            self._digest(session),
            self._moment(session, model, anew),
            self.settings.window_min,
            self.settings.window_max,
        )

    def _digest(self, session: Session) -> str:
        """What reviews found, and is still open, in the files that this session has read or changed."""
        paths = [one.text for one in session.context.survivors.values() if one.kind in ("read", "changed")]
        if not paths:
            return ""
        found = ReviewStore(self.sessions.database, session.project).findings(("open", "regressed"), paths)
        return digest_of_open(found, paths)

    def _moment(self, session: Session, model: ChatModel, anew: str) -> Moment:
        asked_at, state = session.context.asked_at, session.context
        keeps = timedelta(minutes=self.settings.cache_minutes)
        cold = asked_at is not None and (self.clock() - asked_at > keeps or state.asked_model != model.name)
        waiting = self.sessions.playbook.pending(session.id) if self.settings.learn and session.interactions else []
        allowed = request_limit(model.context_window, self.settings.max_tokens or model.max_output)
        return Moment(cold, allowed, {pending.interaction for pending in waiting}, anew)

    @staticmethod
    def _remember_counts(session: Session, counter: TokenCounter) -> None:
        """What was counted when it was said is not counted again."""
        for message in reversed(session.messages):
            text = message.content if message.sent is None else message.sent
            if message.encoding != counter.encoding or message.tokens is None or counter.knows(text):
                break
            counter.remember(text, message.tokens)
            for call in message.tool_calls:
                if call.result is not None and call.tokens is not None:
                    counter.remember(call.result, call.tokens)
