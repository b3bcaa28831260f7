"""What can be done with the findings of a project without a model, at the prompt and from a shell."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from swecli.config.paths import project_root
from swecli.models.errors import UsageError
from swecli.models.finding import FindingState
from swecli.playbook.action import ActionResult
from swecli.review.judge.ledger import change_line, lesson_note, lessons, recheck, settle
from swecli.review.publish.view import chosen
from swecli.store.reviews import ReviewStore
from swecli.store.session_manager import SessionManager


def perform(sessions: SessionManager, here: Path, words: Sequence[str], command: str = "") -> ActionResult:
    """Do what the words ask, an action of `ACTIONS` first; `command` is how the user writes what begins with a slash.
    Raises SwecliError."""
    store, name = store_of(sessions, here), words[0]
    done = ACTIONS[name](store, here, words[1:])
    notes = proposals(sessions, store, command) if name in ("fixed", "recheck") else []
    return replace(done, note="\n".join(notes)) if notes else done


def store_of(sessions: SessionManager, here: Path) -> ReviewStore:
    """The findings of the project that this folder is in."""
    return ReviewStore(sessions.database, str(project_root(here)))


def proposals(sessions: SessionManager, store: ReviewStore, command: str = "") -> list[str]:
    """A line for each smell that was fixed again and again and is now proposed to the playbook."""
    proposed = lessons(sessions, store, sessions.current_session)
    return [lesson_note(applied, f"{command or '/'}playbook") for applied in proposed]


def _list(store: ReviewStore, here: Path, words: Sequence[str]) -> ActionResult:
    found = chosen(store, words)
    rows = tuple((f.id, f.place, f.code_smell_type, f.severity, f.standing, f.message) for f in found)
    head = ("id", "place", "type", "severity", "state", "message")
    lines = () if found else ("No such findings; a review makes them.",)
    return ActionResult([f.to_json() for f in found], lines, head, rows)


def _settle(state: FindingState, store: ReviewStore, words: Sequence[str]) -> ActionResult:
    ref, why = " ".join(words[:1]), " ".join(words[1:])
    if state == "dismissed" and store.get(ref) and not why:
        raise UsageError("A dismissal needs a reason.", f"Use: findings dismiss {ref} WHY")
    finding = settle(store, ref, state, why)
    return ActionResult(finding.to_json(), (f"{finding.id} {_SETTLED[state].format(finding.reason)}.",))


_SETTLED = {
    "dismissed": "is dismissed and stays so: {}",
    "fixed": "is fixed; found again it counts as regressed",
    "open": "is open",
}


def _recheck(store: ReviewStore, here: Path, words: Sequence[str]) -> ActionResult:
    changed = recheck(store, here, words)
    lines = tuple(change_line(before, after) for before, after in changed)
    return ActionResult([after.to_json() for _, after in changed], lines or ("Nothing has changed.",))


_Perform = Callable[[ReviewStore, Path, Sequence[str]], ActionResult]
ACTIONS: dict[str, _Perform] = {
    "list": _list,
    "dismiss": lambda store, _, words: _settle("dismissed", store, words),
    "fixed": lambda store, _, words: _settle("fixed", store, words),
    "reopen": lambda store, _, words: _settle("open", store, words),
    "recheck": _recheck,
}
