"""Gathers the inputs of a turn from store, clock and files, and builds its first request."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import field, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from swecli.config.settings import Settings
from swecli.context.brought_back import quote_turn
from swecli.context.budget import RequestLimits, is_lean, request_limit
from swecli.context.epochs import CONDENSE
from swecli.context.keyed_messages import strip_keys
from swecli.context.notes import held_strategies, new_strategy_line, quote_excerpts
from swecli.context.outline import MAX_TURNS
from swecli.context.prepare import (
    ComposedRequest,
    PreparedRequest,
    RequestInput,
    compose_request,
    past_request,
    stored_turn,
)
from swecli.context.situation import environment_notes, folders_note, jobs_note, mode_note
from swecli.context.system_message import HeadParts
from swecli.context.tokens import TokenCounter
from swecli.context.window import Opening, OpeningConditions
from swecli.llm.base import ChatModel
from swecli.models.added_folder import AddedFolder
from swecli.models.api_message import notes_of
from swecli.models.message import ApiMessage, CallStatus, Image
from swecli.models.mode import Mode
from swecli.models.notes import ExcerptNote, LostJobNote, Note, SituationNote, TextNote
from swecli.models.playbook import WithdrawnStrategy
from swecli.models.session import Session
from swecli.playbook.ranking import BulletIndex
from swecli.playbook.selection import Selection, SelectionRequest, SentBullets
from swecli.tools.surroundings import NoSurroundings, Surroundings
from swecli.values import dataclass

if TYPE_CHECKING:  # a first request is made before the store is loaded
    from swecli.context.mentions import Expansion
    from swecli.models.finding import Finding
    from swecli.models.playbook import Bullet
    from swecli.models.session import EarlierTurn
    from swecli.playbook.workspace import StaleStrategies
    from swecli.store.search_results import FoundInteraction
    from swecli.store.session_manager import SessionManager

# Of mentioned files, for each token that a request may have: about half of it.
_MENTIONED_CHARACTERS = 2
_ASK_WHICH = "If it matters now, ask the user which one holds."
_MAX_QUOTED = 3  # earlier interactions that are quoted


@dataclass(frozen=True, slots=True)
class Query:
    """What the user typed, with all else that its turn depends on."""

    text: str
    attached: tuple[str, ...] = ()  # texts of other origin, such as piped input
    session: Session | None = None  # replaces the current one, for previews
    reopen: str = ""  # why a new epoch must begin
    sent_text: str = ""  # the text with its @files as sent before, with `images` ("": read now)
    images: tuple[Image, ...] = ()
    # names of this run's background commands: others are lost (None: a replay, which does not know them)
    jobs: frozenset[str] | None = None
    running_jobs: tuple[str, ...] = ()
    ended_jobs: tuple[str, ...] = ()  # whose end `attached` tells
    folders: tuple[AddedFolder, ...] = ()  # that the user has added to the workspace
    mode: Mode | None = None  # the permission mode; None: not told
    plan_tool: str = ""  # the name of the tool that ends mode plan; "": none is offered
    situation: tuple[SituationNote, ...] = ()  # what held when it was sent before; (): made now


@dataclass(frozen=True, slots=True)
class Turn:
    """A prepared turn."""

    query: str  # as typed
    request: PreparedRequest  # the first one
    selection: Selection  # of strategies
    notices: tuple[str, ...] = ()  # for the user
    files: tuple[Path, ...] = ()  # that were read into the request
    quoted: tuple[int, ...] = ()  # earlier interactions that the request quotes
    images: tuple[Image, ...] = ()
    ended_jobs: tuple[str, ...] = ()  # names of background commands whose end the query tells

    @property
    def messages(self) -> list[ApiMessage]:
        return self.request.messages


@dataclass(frozen=True, slots=True)
class _Material:
    """What a request is made of, before anything is counted."""

    session: Session
    sent_text: str  # the query with its @files and what is attached
    past: list[ApiMessage]  # what the request begins with if the current epoch continues
    conditions: OpeningConditions
    situation: tuple[SituationNote, ...]
    notes: tuple[Note, ...]
    images: tuple[Image, ...]
    files: tuple[Path, ...]  # that were read into the query
    notices: tuple[str, ...]  # for the user


@dataclass(frozen=True, slots=True)
class _Choice:
    """What was chosen for a request."""

    composed: ComposedRequest
    selection: Selection  # of strategies
    quoted: tuple[int, ...]  # earlier interactions that it quotes


def _deny_nothing(_: str) -> str:
    return ""


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
    # why a path that a query mentions is never read, "" if it is
    deny_reading: Callable[[str], str] = field(default=_deny_nothing)
    folders: Callable[[], tuple[AddedFolder, ...]] = tuple  # that the user has added
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
        if self.stale and self.stale.unreported:
            notices = (*notices, *self.stale.notices())
        return Turn(
            query=query.text,
            request=choice.composed.measure(counter),
            selection=choice.selection,
            notices=notices,
            files=material.files,
            quoted=choice.quoted,
            images=material.images,
            ended_jobs=query.ended_jobs,
        )

    def _is_tight(self, choice: _Choice, model: ChatModel) -> bool:
        """Return whether something was left out, or almost was, so that exact counts may choose otherwise."""
        selection = choice.selection
        if selection.more or selection.missed or selection.tokens * 4 > selection.budget * 3:
            return True
        profile = model.profile
        limits = RequestLimits(profile.window, profile.reserve(self.settings.max_tokens))
        return not limits.fit_easily(strip_keys(choice.composed.keyed_messages))

    def _gather(self, query: Query, model: ChatModel) -> _Material:
        """Read what a request is made of, whatever it takes."""
        session = (
            query.session
            or self.sessions.current_session
            or Session(id="", working_directory=str(self.root))
        )
        self.sessions.playbook.refresh(session)  # another process may have changed it
        conditions = self.conditions(session, model)
        text = query.sent_text or query.text
        images = query.images
        files = tuple[Path, ...]()
        notices = tuple[str, ...]()
        expansion = None
        if not query.sent_text:
            expansion = self.read_mentions(text, model, conditions.allowed)
        if expansion is not None:
            text = expansion.text
            images = tuple(expansion.images)
            files = tuple(expansion.files)
            notices = tuple(expansion.notes)
        return _Material(
            session=session,
            sent_text="\n\n".join([text, *query.attached]),
            past=past_request(session),
            conditions=conditions,
            situation=query.situation or self._situation(query),
            notes=(*_notes_on_losses(session, query.jobs), *_notes_on_undone(session)),
            images=images,
            files=files,
            notices=notices,
        )

    def read_mentions(
        self, text: str, model: ChatModel, allowed: int | None = None
    ) -> Expansion | None:
        """Read the files and pictures that a text mentions, for a request of at most `allowed` tokens (None: the
        limits of mentions); return None if it mentions none. Raises BadInput for a picture that cannot be sent, or not
        to this model."""
        if "@" not in text:
            return None
        # late: most queries mention no file
        from swecli.context.mentions import expand_mentions

        max_characters = (allowed or 0) * _MENTIONED_CHARACTERS
        text_only = "" if model.profile.images else model.name
        return expand_mentions(
            text,
            self.root,
            max_characters or None,
            text_only=text_only,
            deny=self.deny_reading,
            folders=self.folders(),
        )

    def _choose(
        self, query: Query, material: _Material, model: ChatModel, counter: TokenCounter
    ) -> _Choice:
        """Choose window, strategies and excerpts by the counter, and compose the request of them."""
        session = material.session
        past = material.past
        counter.cache_stored(session.messages)
        select = partial(self._select, session, query.text, counter, material.files)
        selection = select(None if query.reopen else past)
        conditions = replace(material.conditions, reopen=query.reopen or selection.reopen)
        opening = conditions.next_opening(session, material.sent_text, past, counter)
        if opening is not None and not conditions.reopen and past:
            # the first selection was to extend the current epoch
            selection = select()
        if opening is not None:
            head = self._compose_head(session, selection)
            earlier = self._outline(session, opening.first, model.profile.window)
            head = replace(head, earlier=earlier, count=counter.count)
        else:
            head = HeadParts(self.system_prompt, strategies=selection.bullets)
        excerpts, quoted = self._find_earlier(session, query.text, opening, model, counter)
        inputs = RequestInput(
            session=session,
            enhanced_query=material.sent_text,
            head=head,
            notes=(
                *material.notes,
                *excerpts,
                *self._contradictions(session, selection, opening, past),
                *_quote_brought_back(session, opening),
            ),
            opening=opening,
            images=material.images,
            situation=material.situation,
        )
        return _Choice(compose_request(inputs), selection, tuple(quoted))

    def _situation(self, query: Query) -> tuple[SituationNote, ...]:
        today = self.clock().astimezone().date()
        notes = [*environment_notes(self.root, today)]
        notes.append(folders_note(query.folders))
        if query.mode is not None:
            notes.append(mode_note(query.mode, query.plan_tool))
        if query.jobs is not None:
            notes.append(jobs_note(query.running_jobs))
        return (*notes, *self.surroundings.notes())

    def head(
        self, query: str, counter: TokenCounter, *, interaction: int, window: int | None
    ) -> HeadParts:
        """Return the head's parts for an epoch that begins within an interaction, for a model with that `window` in
        tokens; strategy notes do not count as known."""
        session = self.sessions.session
        head = self._compose_head(session, self._select(session, query, counter))
        earlier = self._outline(session, interaction, window)
        return replace(head, earlier=earlier, count=counter.count)

    def _outline(self, session: Session, before: int, window: int | None) -> Sequence[EarlierTurn]:
        """Return the newest turns before an interaction; none for a model that has no tool to search them."""
        if before <= 1 or is_lean(window):
            return ()
        return self.sessions.outline(session, max(1, before - MAX_TURNS), before - 1)

    def withdrawn(self, session: Session) -> Sequence[WithdrawnStrategy]:
        """Return what was withdrawn from the playbook since the session began."""
        return self.sessions.playbook.withdrawn_texts(session) if session.id else ()

    def _compose_head(self, session: Session, selection: Selection) -> HeadParts:
        """Return the head's parts for a new epoch: also what was withdrawn since the session began, and since its
        newest summary was written."""
        withdrawn = self.withdrawn(session)
        outdated: list[WithdrawnStrategy] = []
        for row in self.sessions.context.log(session) if withdrawn else ():
            if row.how == CONDENSE and not row.undone:
                written_at = row.created_at
                if written_at is not None:
                    outdated = [strategy for strategy in withdrawn if strategy.at >= written_at]
                break
        return HeadParts(
            system_prompt=self.system_prompt,
            instructions=self.instructions(),
            strategies=selection.bullets,
            findings=self._open_findings(session),
            withdrawn=withdrawn,
            outdated=outdated,
        )

    def _select(
        self,
        session: Session,
        query: str,
        counter: TokenCounter,
        files: Sequence[Path] = (),
        past: list[ApiMessage] | None = None,
    ) -> Selection:
        """Select strategies for a query that mentions these files: for a new head, or to extend the request `past`."""
        while True:
            sent_bullets = None
            if past:
                sent_bullets = SentBullets(
                    *held_strategies(session, past, counter), new_strategy_line
                )
            touched_files = [
                str(file.relative_to(self.root)) for file in files if file.is_relative_to(self.root)
            ]
            rules = self._rules_for(session, touched_files)
            request = SelectionRequest.of(
                session,
                query,
                counter.count,
                self.index,
                self.settings,
                for_files={
                    *(rule.id for rule in rules),
                    *(sent_bullets.ids if sent_bullets else ()),
                },
            )
            selection = request.select(sent_bullets)
            if self.stale is None or not selection.bullets:
                return selection
            anchors = self.stale.find(session, selection.bullets)
            if not anchors:
                return selection
            bullets = session.get_playbook().bullets
            for name, anchor in anchors.items():
                bullets[name] = replace(bullets[name], stale=anchor)

    def _rules_for(self, session: Session, files: Sequence[str]) -> list[Bullet]:
        """Return the strategies that are for one of these files, which are relative to the workspace."""
        if not files:
            return []
        # late: few queries mention a file
        from swecli.agent.path_rules import find_rules

        return find_rules(session.get_playbook().bullets.values(), files)

    def _open_findings(self, session: Session) -> Sequence[Finding]:
        """Load the open review findings in the files that this session has read or changed."""
        paths = [
            fact.text for fact in session.context.facts.values() if fact.kind in ("read", "changed")
        ]
        return self.sessions.open_findings(paths) if paths else ()

    def _contradictions(
        self,
        session: Session,
        selection: Selection,
        opening: Opening | None,
        past: Sequence[ApiMessage],
    ) -> list[Note]:
        """Return a note on each pair of selected strategies that contradict each other, which the request does not hold
        yet: the model that follows both of them would guess which one the user wants."""
        selected = {bullet.id: bullet for bullet in selection.bullets}
        if len(selected) < 2:
            return []
        # late: only two strategies can contradict each other
        from swecli.playbook.pairs import PairKind, find_open

        held_notes = (
            [note for message in past for note in notes_of(message)] if opening is None else []
        )
        pairs = find_open(session.get_playbook().bullets, self.sessions.turns)
        notes: list[Note] = []
        for pair in pairs:
            if pair.kind is not PairKind.CONTRADICTION or not selected.keys() >= {*pair.ids}:
                continue
            names = f"[{pair.first}] and [{pair.second}]"
            note = TextNote(f"Strategies {names} contradict each other. {_ASK_WHICH}")
            if note not in held_notes:
                notes.append(note)
        return notes

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
        first, pinned = _find_sent(session, opening)
        sent_interactions = {*pinned, *session.context.brought_back}
        if not self.settings.search_earlier or first - 1 <= len(pinned):
            return [], []
        results = self.sessions.search_session(
            query, before=first, limit=_MAX_QUOTED + len(sent_interactions)
        )
        unsent = [result for result in results if result.interaction not in sent_interactions][
            :_MAX_QUOTED
        ]
        if not unsent:
            return [], []
        taken_back: set[int] = set()
        for strategy in self.withdrawn(session):
            taken_back.update(strategy.interactions)
        window = model.profile.window
        return quote_excerpts(
            (_without_query(result, taken_back) for result in unsent),
            max_tokens=window // 10 if window else None,
            counter=counter,
        )

    def conditions(self, session: Session, model: ChatModel) -> OpeningConditions:
        """Return what the start of the next turn depends on besides the session."""
        state = session.context
        settings = self.settings
        cached_since = self.clock() - timedelta(minutes=settings.cache_minutes)
        is_cold = state.asked_at is not None and (
            state.asked_at < cached_since or state.asked_model != model.name
        )
        return OpeningConditions(
            is_cache_cold=is_cold,
            allowed=request_limit(model.profile.window, model.profile.reserve(settings.max_tokens)),
            min_size=settings.window_min,
            max_size=settings.window_max,
        )


def _notes_on_losses(session: Session, jobs: frozenset[str] | None) -> Iterator[Note]:
    """Yield notes on what the model cannot know from the messages: that its answer was cut off, and that background
    commands ended with an earlier run."""
    last = session.messages[-1] if session.messages else None
    if last is not None and last.status == "partial":
        yield TextNote("Your last answer above was interrupted; it is incomplete.")
    elif last is not None and any(call.status is CallStatus.CANCELLED for call in last.tool_calls):
        yield TextNote(
            "The user interrupted your last turn during the calls above, before you answered."
        )
    elif last is not None and last.tool_calls:
        yield TextNote(
            "Your last turn ended before you answered: it was interrupted or reached a limit."
        )
    if jobs is not None and session.messages:
        # late: the first request of a session has no earlier job
        from swecli.tools.jobs import lost_jobs

        for name in lost_jobs(session.messages, jobs):
            yield LostJobNote(name)


def _find_sent(session: Session, opening: Opening | None) -> tuple[int, set[int]]:
    """Return the first interaction of the window of the next request, and the pinned ones before it."""
    first = 1
    pins = session.context.pins
    if opening is not None:
        first = opening.first
    elif session.context.epoch is not None:
        first = session.context.epoch.first
        pins = session.context.epoch.pins
    return first, {pin for pin in pins if pin < first}


def _quote_brought_back(session: Session, opening: Opening | None) -> Iterator[Note]:
    """Yield a note for each turn that the user brings back, unless it is sent anyway by now."""
    first, pinned = _find_sent(session, opening)
    for number in session.context.brought_back:
        if number < first and number not in pinned:
            yield quote_turn(number, stored_turn(session, number))


def _notes_on_undone(session: Session) -> Iterator[Note]:
    """Yield notes on what the user took back: of turns what they left, since the model sees them no more, and the
    pieces of those that it sees."""
    for undone_turns in session.undone:
        if undone_turns.standing:
            turns = f"T{undone_turns.first}"
            if undone_turns.last > undone_turns.first:
                turns = f"{turns} to T{undone_turns.last}"
            standing = "; ".join(undone_turns.standing)
            yield TextNote(f"The user took back {turns}. Not taken back: {standing}.")
    for piece in reversed(session.undone_pieces):
        line = f"The user took back a piece of T{piece.turn}: {piece.description}."
        if piece.standing:
            line = f"{line} Not taken back: {'; '.join(piece.standing)}."
        yield TextNote(line)


def _without_query(result: FoundInteraction, taken_back: Collection[int]) -> FoundInteraction:
    """Remove the excerpts of the user's own words if these were taken back."""
    if result.interaction not in taken_back:
        return result
    excerpts = tuple(excerpt for excerpt in result.excerpts if excerpt.place != "query")
    return replace(result, excerpts=excerpts)
