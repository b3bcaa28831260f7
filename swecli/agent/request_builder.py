"""Gathers what a turn starts with: store, clock and files are read here, then the request is built from values."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from swecli.config.settings import Settings
from swecli.context.budget import request_limit
from swecli.context.epochs import Moment, Opening, opening
from swecli.context.prepare import PreparedRequest, RequestInput, build_request, known_strategies, past_request
from swecli.context.query import (
    MAX_TOTAL,
    Expansion,
    environment_notes,
    excerpts,
    expand_mentions,
    new_line,
    strategy_notes,
)
from swecli.context.system_message import HeadParts, open_findings
from swecli.context.tokens import TokenCounter
from swecli.llm.base import ChatModel
from swecli.models.context import Epoch
from swecli.models.errors import BadInput
from swecli.models.message import ApiMessage, Image
from swecli.models.session import Session
from swecli.models.window import WindowSpec
from swecli.playbook.selection.select import HeldBullets, Selection, request_for, select
from swecli.playbook.similarity import BulletIndex

if TYPE_CHECKING:  # a first request is made before the store is loaded
    from swecli.playbook.workspace import StaleStrategies
    from swecli.store.session_manager import SessionManager

_MENTIONED = 2  # characters of mentioned files for each token that a request may have: about half of it
_FOUND = 3  # earlier interactions that are quoted, at most


@dataclass(frozen=True, slots=True)
class Query:
    """What the user typed; `attached` are texts that are not the user's own words: what was piped in. `window` looks at
    what another one would hold (of what is loaded); `reopen` says why a new epoch must begin, "" when it need not;
    `sent` is the text with its @files as it was sent before, with `images`: "" reads them now."""

    text: str
    attached: tuple[str, ...] = ()
    window: WindowSpec | None = None
    reopen: str = ""
    sent: str = ""
    images: tuple[Image, ...] = ()


@dataclass(frozen=True, slots=True)
class Turn:
    """All that a turn starts with: the query as typed, the request made of it, and what was thought of each strategy.
    `files` were read into it; `notices` are lines for the user; `found` are the earlier interactions that it quotes;
    `images` go with it."""

    query: str
    request: PreparedRequest
    selection: Selection
    notices: tuple[str, ...] = ()
    files: tuple[Path, ...] = ()
    found: tuple[int, ...] = ()
    images: tuple[Image, ...] = ()

    @property
    def messages(self) -> list[ApiMessage]:
        """The whole request, as it is sent."""
        return self.request.messages


@dataclass(frozen=True, slots=True)
class RequestBuilder:
    """Builds for one workspace. `instructions` reads the project's own files, which is done when an epoch begins."""

    sessions: SessionManager
    settings: Settings
    root: Path
    system_prompt: str
    stale: StaleStrategies | None = None
    instructions: Callable[[], str] = str
    index: BulletIndex = field(default_factory=BulletIndex)
    clock: Callable[[], datetime] = field(default=lambda: datetime.now(UTC))

    def prepare(self, query: Query, model: ChatModel, counter: TokenCounter) -> Turn:
        """The turn for a query. Nothing is stored; two calls in a row give equal turns. Raises BadInput for a picture
        that cannot be sent, or not to this model."""
        session = self.sessions.current_session or Session(id="", working_directory=str(self.root))
        self.sessions.playbook.refresh(session)  # another process may have changed it
        counter.remember(session.messages)
        was = Expansion(query.sent, images=list(query.images))
        allowed = self.moment(session, model).allowed
        room = (allowed or MAX_TOTAL) * _MENTIONED
        mentioned = was if query.sent else expand_mentions(query.text, self.root, room)
        if mentioned.images and not model.profile.images:
            own = f'set images = true in [models."{model.name}"]'
            hint = f"Choose a model that takes them (/model, swecli models), or {own}."
            raise BadInput(f"{model.name} does not accept pictures: nothing was sent.", hint)
        sent, window = "\n\n".join([mentioned.text, *query.attached]), query.window or session.window
        past = past_request(session)
        selection = self._select(session, query.text, counter, None if query.reopen else past)
        reopen = query.reopen or selection.reopen
        moment = self.moment(session, model, reopen)
        begins = opening(session, window, sent, moment, past, counter)
        if begins is not None and not reopen and past:  # it was selected for what was to go on
            selection = self._select(session, query.text, counter)
        head = self._head(session, selection, begins=begins is not None)
        quoted, interactions = self._earlier(session, query.text, begins, model, counter)
        notes = (*environment_notes(self.root, self.clock().astimezone().date()), *quoted)
        given = RequestInput(session, query.text, sent, head, notes, window, begins, tuple(mentioned.images))
        request = build_request(given, counter)
        notices = (*mentioned.notes, *(self.stale.notices() if self.stale else ()))
        files = tuple(mentioned.files)
        return Turn(query.text, request, selection, notices, files, tuple(interactions), given.images)

    def head(self, query: str, counter: TokenCounter) -> HeadParts:
        """What an epoch that begins in the middle of a turn for a query reads: what stood in notes goes with the
        messages, or out of them."""
        session = self.sessions.current_session
        assert session is not None, "a head belongs to a session"
        return self._head(session, self._choose(session, query, counter), begins=True)

    def _head(self, session: Session, selection: Selection, *, begins: bool) -> HeadParts:
        instructions = self.instructions() if begins else ""
        return HeadParts(self.system_prompt, instructions, selection.bullets, self._open_findings(session))

    def _select(
        self, session: Session, query: str, counter: TokenCounter, past: list[ApiMessage] | None = None
    ) -> Selection:
        """Select for a query: for a head, or for what comes to `past`, the request before it."""
        epoch = session.context.epoch
        while True:
            held = _held(session, epoch, past, counter) if past and epoch else None
            selection = self._choose(session, query, counter, held)
            stale = self.stale.find(session, selection.bullets) if self.stale else None
            if not stale:
                return selection
            bullets = session.get_playbook().bullets
            bullets |= {name: replace(bullets[name], stale=why) for name, why in stale.items()}

    def _choose(
        self, session: Session, query: str, counter: TokenCounter, held: HeldBullets | None = None
    ) -> Selection:
        tags = self.sessions.playbook.turns.reflectors().values() if session.get_playbook().bullets else ()
        return select(request_for(session, query, counter.count, self.index, self.settings, tags), held)

    def _open_findings(self, session: Session) -> str:
        """What reviews found, and is still open, in the files that this session has read or changed."""
        paths = [one.text for one in session.context.facts.values() if one.kind in ("read", "changed")]
        if not paths:
            return ""
        # late: as above
        from swecli.store.reviews import ReviewStore  # noqa: PLC0415

        store = ReviewStore(self.sessions.database, session.project)
        return open_findings(store.findings(("open", "regressed"), paths))

    def _earlier(
        self, session: Session, query: str, begins: Opening | None, model: ChatModel, counter: TokenCounter
    ) -> tuple[list[str], list[int]]:
        """What the query refers to in interactions that its request does not hold, in a tenth of the model's window."""
        at = session.context.epoch if begins is None else None
        first = begins.first if begins is not None else at.first if at is not None else 1
        pins = at.pins if at is not None else session.context.pins
        pinned = {pin for pin in pins if pin < first}
        if not self.settings.search_earlier or first - 1 <= len(pinned):
            return [], []
        found = self.sessions.search_session(query, before=first, limit=_FOUND + len(pinned))
        unsent = [one for one in found if one.interaction not in pinned][:_FOUND]
        window = model.profile.window
        return excerpts(unsent, window // 10 if window else None, counter)

    def moment(self, session: Session, model: ChatModel, reopen: str = "") -> Moment:
        """What the beginning of the next turn depends on besides the session; `reopen` as in `Query`."""
        state, settings = session.context, self.settings
        kept_since = self.clock() - timedelta(minutes=settings.cache_minutes)
        cold = state.asked_at is not None and (state.asked_at < kept_since or state.asked_model != model.name)
        allowed = request_limit(model.profile.window, model.profile.reserve(settings.max_tokens))
        return Moment(cold, allowed, reopen, settings.window_min, settings.window_max)


def _held(session: Session, epoch: Epoch, past: list[ApiMessage], counter: TokenCounter) -> HeldBullets:
    """What a conversation holds of the playbook, with the notes on what has become of it."""
    playbook, (contents, tokens) = session.get_playbook(), known_strategies(epoch, past, counter)
    now = {bullet.id: bullet.content for bullet in playbook.live_bullets(contents)}
    lines = strategy_notes(contents, now, now)
    changes = counter.count("".join(f"- {line}\n" for line in lines)) if lines else 0
    return HeldBullets(tuple(contents), tokens + changes, new_line)
