"""Gathers the inputs of a turn from store, clock and files, and builds its first request."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from swecli.config.settings import Settings
from swecli.context.budget import RequestLimits, request_limit
from swecli.context.epochs import CONDENSE
from swecli.context.keyed import strip_keys
from swecli.context.notes import held_strategies, quote_excerpts
from swecli.context.prepare import (
    ComposedRequest,
    PreparedRequest,
    RequestInput,
    compose_request,
    past_request,
)
from swecli.context.situation import environment_notes, jobs_note, mode_note
from swecli.context.system_message import HeadParts
from swecli.context.tokens import TokenCounter
from swecli.context.window import Opening, OpeningConditions
from swecli.llm.base import ChatModel
from swecli.models.message import CANCELLED, ApiMessage, Image, Mode
from swecli.models.notes import ExcerptNote, LostJobNote, Note, SituationNote, TextNote
from swecli.models.playbook import Withdrawn
from swecli.models.session import Session
from swecli.playbook.ranking import BulletIndex
from swecli.playbook.selection import HeldBullets, Selection, SelectionRequest
from swecli.tools.jobs import lost_jobs
from swecli.tools.surroundings import NoSurroundings, Surroundings

if TYPE_CHECKING:  # a first request is made before the store is loaded
    from swecli.models.finding import Finding
    from swecli.playbook.workspace import StaleStrategies
    from swecli.store.found import FoundInteraction
    from swecli.store.session_manager import SessionManager

_MENTIONED = (
    2  # characters of mentioned files for each token that a request may have: about half of it
)
_MAX_FOUND = 3  # earlier interactions that are quoted


@dataclass(frozen=True, slots=True)
class Query:
    """What the user typed, with all else that its turn depends on."""

    text: str
    attached: tuple[str, ...] = ()  # texts of other origin, such as piped input
    session: Session | None = None  # replaces the current one, for previews
    reopen: str = ""  # why a new epoch must begin
    sent: str = ""  # the text with its @files as sent before, with `images` ("": read now)
    images: tuple[Image, ...] = ()
    # names of this run's background commands: others are lost (None: a replay, which does not know them)
    jobs: frozenset[str] | None = None
    running: tuple[str, ...] = ()  # those of them that still run
    mode: Mode | None = None  # the permission mode; None: not told
    plan_tool: str = ""  # the name of the tool that ends mode plan; "": none is offered
    situation: tuple[SituationNote, ...] = ()  # what held when it was sent before; (): made now


@dataclass(frozen=True, slots=True)
class Turn:
    """A prepared turn: the query as typed, its first request, and the selection of strategies. `files` were read into
    the request; `notices` are lines for the user; `found` are the earlier interactions that it quotes."""

    query: str
    request: PreparedRequest
    selection: Selection
    notices: tuple[str, ...] = ()
    files: tuple[Path, ...] = ()
    found: tuple[int, ...] = ()
    images: tuple[Image, ...] = ()

    @property
    def messages(self) -> list[ApiMessage]:
        return self.request.messages


@dataclass(frozen=True, slots=True)
class _Material:
    """What a request is made of, before anything is counted."""

    session: Session
    sent: str  # the query with its @files and what is attached
    past: list[ApiMessage]  # what the request begins with if the current epoch continues
    conditions: OpeningConditions
    situation: tuple[SituationNote, ...]
    notes: tuple[Note, ...]
    images: tuple[Image, ...]
    files: tuple[Path, ...]  # that were read into the query
    notices: tuple[str, ...]  # for the user


@dataclass(frozen=True, slots=True)
class _Choice:
    """What was chosen for a request. `found` are the earlier interactions that it quotes."""

    composed: ComposedRequest
    selection: Selection
    found: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class RequestBuilder:
    """Builds requests for one workspace. `instructions` reads the project's instruction files when an epoch begins."""

    sessions: SessionManager
    settings: Settings
    root: Path
    system_prompt: str
    stale: StaleStrategies | None = None
    instructions: Callable[[], str] = str
    surroundings: Surroundings = field(default_factory=NoSurroundings)
    index: BulletIndex = field(default_factory=BulletIndex)
    clock: Callable[[], datetime] = field(default=lambda: datetime.now(UTC))

    def prepare(self, query: Query, model: ChatModel, counter: TokenCounter) -> Turn:
        """Prepare the turn for a query: gather what it may contain, choose by token counts, and render that. Nothing is
        stored; two calls in a row return equal turns. If the choice depends on exact counts, the counter loads its
        table, and it is made by them. Raises BadInput for a picture that cannot be sent, or not to this model."""
        self.surroundings.begin()
        material = self._gather(query, model)
        choice = self._choose(query, material, model, counter)
        if counter.estimated and self._is_tight(choice, model) and counter.load():
            choice = self._choose(query, material, model, counter)
        notices = material.notices
        if self.stale and self.stale.found:
            notices = (*notices, *self.stale.notices())
        return Turn(
            query.text,
            choice.composed.measure(counter),
            choice.selection,
            notices,
            material.files,
            choice.found,
            material.images,
        )

    def _is_tight(self, choice: _Choice, model: ChatModel) -> bool:
        """Return whether something was left out, or almost was, so that exact counts may choose otherwise."""
        chosen = choice.selection
        if chosen.more or chosen.missed or chosen.tokens * 4 > chosen.budget * 3:
            return True
        profile = model.profile
        limits = RequestLimits(profile.window, profile.reserve(self.settings.max_tokens))
        return not limits.fit_easily(strip_keys(choice.composed.keyed))

    def _gather(self, query: Query, model: ChatModel) -> _Material:
        """Read what a request is made of, whatever it takes."""
        session = (
            query.session
            or self.sessions.current_session
            or Session(id="", working_directory=str(self.root))
        )
        self.sessions.playbook.refresh(session)  # another process may have changed it
        conditions = self.conditions(session, model)
        text = query.sent or query.text
        images = query.images
        files = tuple[Path, ...]()
        notices = tuple[str, ...]()
        if "@" in text and not query.sent:
            # late: most queries mention no file
            from swecli.context.mentions import expand_mentions

            room = (conditions.allowed or 0) * _MENTIONED
            text_only = "" if model.profile.images else model.name
            found = expand_mentions(text, self.root, room or None, text_only)
            text = found.text
            images = tuple(found.images)
            files = tuple(found.files)
            notices = tuple(found.notes)
        return _Material(
            session,
            "\n\n".join([text, *query.attached]),
            past_request(session),
            conditions,
            query.situation or self._situation(query),
            (*_notes_on_losses(session, query.jobs), *_notes_on_undone(session)),
            images,
            files,
            notices,
        )

    def _choose(
        self, query: Query, material: _Material, model: ChatModel, counter: TokenCounter
    ) -> _Choice:
        """Choose window, strategies and excerpts by the counter, and compose the request of them."""
        session = material.session
        past = material.past
        counter.cache_stored(session.messages)
        selection = self._select(session, query.text, counter, None if query.reopen else past)
        conditions = replace(material.conditions, reopen=query.reopen or selection.reopen)
        opening = conditions.next_opening(session, material.sent, past, counter)
        if (
            opening is not None and not conditions.reopen and past
        ):  # it was selected to extend the current epoch
            selection = self._select(session, query.text, counter)
        instructions = self.instructions() if opening is not None else ""
        head = HeadParts(
            self.system_prompt, instructions, selection.bullets, self._open_findings(session)
        )
        if opening is not None:
            head = self._with_withdrawn(head, session)
        quoted, interactions = self._find_earlier(session, query.text, opening, model, counter)
        inputs = RequestInput(
            session,
            material.sent,
            head,
            (*material.notes, *quoted),
            opening,
            material.images,
            material.situation,
        )
        return _Choice(compose_request(inputs), selection, tuple(interactions))

    def _situation(self, query: Query) -> tuple[SituationNote, ...]:
        today = self.clock().astimezone().date()
        notes = [*environment_notes(self.root, today)]
        if query.mode is not None:
            notes.append(mode_note(query.mode, query.plan_tool))
        if query.jobs is not None:
            notes.append(jobs_note(query.running))
        return (*notes, *self.surroundings.notes())

    def head(self, query: str, counter: TokenCounter) -> HeadParts:
        """Return the head's parts for an epoch that begins within a turn; strategy notes do not count as known."""
        session = self.sessions.session
        selection = self._select(session, query, counter)
        findings = self._open_findings(session)
        head = HeadParts(self.system_prompt, self.instructions(), selection.bullets, findings)
        return self._with_withdrawn(head, session)

    def withdrawn(self, session: Session) -> Sequence[Withdrawn]:
        """Return what was withdrawn from the playbook since the session began."""
        return self.sessions.playbook.withdrawn(session) if session.id else ()

    def _with_withdrawn(self, head: HeadParts, session: Session) -> HeadParts:
        """Add what was withdrawn since the session began, and since its newest summary was written."""
        withdrawn = self.withdrawn(session)
        if not withdrawn:
            return head
        summaries = (
            row.created_at
            for row in self.sessions.context.log(session)
            if row.how == CONDENSE and not row.undone
        )
        written = next(summaries, None)
        outdated = [one for one in withdrawn if written is not None and one.at >= written]
        return replace(head, withdrawn=withdrawn, outdated=outdated)

    def _select(
        self,
        session: Session,
        query: str,
        counter: TokenCounter,
        past: list[ApiMessage] | None = None,
    ) -> Selection:
        """Select strategies for a query: for a new head, or to extend the request `past`."""
        while True:
            held = HeldBullets(*held_strategies(session, past, counter)) if past else None
            request = SelectionRequest.of(session, query, counter.count, self.index, self.settings)
            selection = request.select(held)
            stale = (
                self.stale.find(session, selection.bullets)
                if self.stale and selection.bullets
                else None
            )
            if not stale:
                return selection
            bullets = session.get_playbook().bullets
            bullets |= {name: replace(bullets[name], stale=why) for name, why in stale.items()}

    def _open_findings(self, session: Session) -> Sequence[Finding]:
        """Load the open review findings in the files that this session has read or changed."""
        paths = [
            fact.text for fact in session.context.facts.values() if fact.kind in ("read", "changed")
        ]
        return self.sessions.open_findings(paths) if paths else ()

    def _find_earlier(
        self,
        session: Session,
        query: str,
        opening: Opening | None,
        model: ChatModel,
        counter: TokenCounter,
    ) -> tuple[list[ExcerptNote], list[int]]:
        """Find interactions that the query refers to and the request does not contain; return excerpts in a tenth of
        the model's window, and their numbers."""
        epoch = session.context.epoch if opening is None else None
        first = opening[0] if opening is not None else epoch.first if epoch is not None else 1
        pins = epoch.pins if epoch is not None else session.context.pins
        pinned = {pin for pin in pins if pin < first}
        if not self.settings.search_earlier or first - 1 <= len(pinned):
            return [], []
        found = self.sessions.search_session(query, before=first, limit=_MAX_FOUND + len(pinned))
        taken_back = {
            number
            for one in (self.withdrawn(session) if found else ())
            for number in one.interactions
        }
        unsent = [
            _without_query(one) if one.interaction in taken_back else one
            for one in found
            if one.interaction not in pinned
        ][:_MAX_FOUND]
        window = model.profile.window
        return quote_excerpts(unsent, window // 10 if window else None, counter)

    def conditions(self, session: Session, model: ChatModel) -> OpeningConditions:
        """Return what the start of the next turn depends on besides the session."""
        state = session.context
        settings = self.settings
        cached_since = self.clock() - timedelta(minutes=settings.cache_minutes)
        cold = state.asked_at is not None and (
            state.asked_at < cached_since or state.asked_model != model.name
        )
        allowed = request_limit(model.profile.window, model.profile.reserve(settings.max_tokens))
        return OpeningConditions(cold, allowed, "", settings.window_min, settings.window_max)


def _notes_on_losses(session: Session, jobs: frozenset[str] | None) -> Iterator[Note]:
    """Yield notes on what the model cannot know from the messages: that its answer was cut off, and that background
    commands ended with an earlier run."""
    last = session.messages[-1] if session.messages else None
    if last is not None and last.status == "partial":
        yield TextNote("Your last answer above was interrupted; it is incomplete.")
    elif last is not None and any(call.error == CANCELLED for call in last.tool_calls):
        yield TextNote(
            "The user interrupted your last turn during the calls above, before you answered."
        )
    elif last is not None and last.tool_calls:
        yield TextNote(
            "Your last turn ended before you answered: it was interrupted or reached a limit."
        )
    if jobs is not None:
        for name in lost_jobs(session.messages, jobs):
            yield LostJobNote(name)


def _notes_on_undone(session: Session) -> Iterator[Note]:
    """Yield notes on what turns left that the user took back: the model sees them no more, or not that they were."""
    for undone in session.undone:
        if undone.standing:
            turns = f"T{undone.first}"
            if undone.last > undone.first:
                turns = f"{turns} to T{undone.last}"
            left = "; ".join(undone.standing)
            yield TextNote(f"The user took back {turns}. Not taken back: {left}.")


def _without_query(found: FoundInteraction) -> FoundInteraction:
    """Remove the excerpts of the user's own words."""
    excerpts = tuple(one for one in found.excerpts if one.where != "query")
    return replace(found, excerpts=excerpts)
