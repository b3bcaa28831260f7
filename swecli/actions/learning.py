"""Mark a turn, reflect on one, and learn from stored sessions, when the user asks for it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import field, replace
from pathlib import Path

from swecli.models.action import ActionResult, Face, Invocation
from swecli.models.counts import parse_count, pluralize
from swecli.models.errors import BadInput
from swecli.models.json_value import Json
from swecli.models.learning_events import PlaybookUpdated, ReflectionFailed
from swecli.models.money import format_dollars
from swecli.playbook.learning.service import LearningEvent, LearningService
from swecli.store.session_manager import SessionManager
from swecli.tools.projects import open_project
from swecli.values import dataclass

_MAX_SESSIONS = 100_000


async def mark_turn(
    learning: LearningService, invocation: Invocation, *, is_good: bool
) -> ActionResult:
    """Mark the last turn, with the user's words as the reason. Raises BadInput if there is none."""
    number = learning.sessions.session.resolve_turn("")
    events = await learning.mark(is_good, invocation.text)
    line = f"T{number} is marked {'good' if is_good else 'bad'}"
    return _format_result(learning, invocation, number, events, (line,))


async def reflect_on_turn(learning: LearningService, invocation: Invocation) -> ActionResult:
    """Reflect on the last turn, or on the one that is named. Exit code 1 if that failed. Raises BadInput."""
    number = learning.sessions.session.resolve_turn(invocation.text)
    if not learning.enabled:
        raise BadInput("Learning is off.", "Set learn = true in the configuration.")
    with invocation.face.working(f"Reflecting on T{number}"):
        events = await learning.learn(number, is_requested=True)
    answers = [
        answer for event in events if isinstance(event, PlaybookUpdated) for answer in event.answer
    ]
    lines = [f"  {answer}" for answer in answers]
    if not answers and not any(event.describe() for event in events):
        by_rules = "" if learning.reflector.model else " (by rules only; no model was asked)"
        lines = [f"T{number}: nothing to learn{by_rules}"]
    return _format_result(learning, invocation, number, events, tuple(lines))


def _format_result(
    learning: LearningService,
    invocation: Invocation,
    number: int,
    events: Sequence[LearningEvent],
    lines: tuple[str, ...],
) -> ActionResult:
    failures = [event.reason for event in events if isinstance(event, ReflectionFailed)]
    value = {
        "session": learning.sessions.session.id,
        "turn": number,
        "what": invocation.name,
        "lines": [line for event in events for line in _lines_of(event)],
        "failed": failures,
    }
    return ActionResult(value, lines, events=tuple(events), code=1 if failures else 0)


async def learn_from_sessions(learning: LearningService, invocation: Invocation) -> ActionResult:
    """Reflect on stored sessions. Exit code 1 if every reflection failed. Raises BadInput for an unknown session."""
    references = invocation.flags["--from"]
    passes = parse_count(invocation.value("--epochs"), 1)
    # asked for by name, it learns whatever the settings say
    learning = replace(learning, enabled=True)
    sessions = learning.sessions
    session_ids, left_out = _resolve_sessions(sessions, references, invocation.folder)
    before = sessions.turns.reflection_cost()
    totals = await _Totals.of(learning.backfill(session_ids, passes), invocation.face)
    after = sessions.turns.reflection_cost()
    cost = None if before.cost is None or after.cost is None else after.cost - before.cost
    value = {
        "turns": totals.turns,
        "added": totals.added,
        "tagged": totals.tagged,
        "failed": len(totals.failures),
        "failures": totals.failures,
        "cost": cost,
        "tokens": after.usage.total - before.usage.total,
        "left_out": left_out,
    }
    line = (
        f"{pluralize(totals.turns, 'turn')} reflected on: {totals.added} added to the playbook, {totals.tagged} judged "
        f"by what followed, {len(totals.failures)} failed, price {format_dollars(cost)}."
    )
    lines = (*(f"skipped: {session}" for session in left_out), line)
    return ActionResult(value, lines, code=1 if 0 < totals.turns == totals.failed_turns else 0)


@dataclass(slots=True)
class _Totals:
    """What the reflections on stored turns came to."""

    turns: int = 0
    failed_turns: int = 0
    added: int = 0
    tagged: int = 0
    failures: list[Json] = field(default_factory=list)

    @classmethod
    async def of(
        cls, reflections: AsyncIterator[tuple[str, int, list[LearningEvent]]], face: Face
    ) -> _Totals:
        """Return the totals of all reflections, each of which the face is told as it ends."""
        totals = cls()
        async for session, number, events in reflections:
            totals._add(session, number, events)
            for event in events:
                for line in _lines_of(event):
                    face.note(f"{session[:13]} T{number}: {line}")
        return totals

    def _add(self, session: str, number: int, events: Sequence[LearningEvent]) -> None:
        self.turns += 1
        self.failed_turns += any(isinstance(event, ReflectionFailed) for event in events)
        for event in events:
            if isinstance(event, PlaybookUpdated):
                self.added += len(event.added)
                self.tagged += len(event.tagged)
            else:
                self.failures.append({"session": session, "turn": number, "reason": event.reason})


def _lines_of(event: LearningEvent) -> Iterator[str]:
    """Yield what an event says, without the turn, and the reason of each refusal."""
    if isinstance(event, ReflectionFailed):
        yield f"reflecting failed: {event.reason}"
        return
    if applied := replace(event, interaction=0, refused=()).describe():
        yield applied
    for refusal in event.refused:
        yield f"not applied: {refusal}"


def _resolve_sessions(
    sessions: SessionManager, references: Sequence[str], folder: Path
) -> tuple[list[str], list[str]]:
    """Resolve `all` and `here` to session ids, oldest first, with a line per skipped session: anchors cannot be checked
    in a directory that no longer exists. Other references are returned unchanged. Raises BadInput."""
    if tuple(references) not in (("all",), ("here",)):
        return list(references), []
    catalog = sessions.catalog
    if references[0] == "here":
        place = open_project(sessions.database, folder)
        listed = catalog.list_sessions(str(folder), _MAX_SESSIONS, place=place)
    else:
        listed = catalog.list_sessions(None, _MAX_SESSIONS)
    ordered_sessions = sorted(listed, key=lambda session: session.id)
    if not ordered_sessions:
        raise BadInput("There is no session to learn from yet.", "See `swecli sessions list`.")
    without_folder = [
        session for session in ordered_sessions if not Path(session.directory).is_dir()
    ]
    skipped = [
        f"{session.id[:13]}: {session.directory} does not exist" for session in without_folder
    ]
    return [session.id for session in ordered_sessions if session not in without_folder], skipped
