"""`/findings` and `swecli findings`: the findings of a project. Those actions that ask, as `walk` does, are the
session's own."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from swecli.config.paths import project_root
from swecli.models.action import Action, ActionResult, Family, Invocation, Need, Words
from swecli.models.errors import UsageError
from swecli.models.finding import FindingState
from swecli.redact import redact, redact_value

if TYPE_CHECKING:  # the prompt completes the names of the actions before these are loaded
    from swecli.store.reviews import ReviewStore
    from swecli.store.session_manager import SessionManager

FILTER = "STATE all severity>=high path:src/** type:LEAK verdict:confirmed WORD"
_FILTERED = Words(FILTER, FILTER, shell_name="WORD")


@Action(Need.DATABASE, _FILTERED, during_turn=True)
def list_(sessions: SessionManager, asked: Invocation) -> ActionResult:
    """Findings, the open ones unless a state is named"""
    # late: most sessions review nothing
    from swecli.review.publish.filters import filter_findings

    store = open_store(sessions, asked.folder)
    found = filter_findings(store.findings(), asked.words)
    rows = tuple(
        (f.id, f.place, f.code_smell_type, f.severity, f.status, redact(f.message)) for f in found
    )
    head = ("id", "place", "type", "severity", "state", "message")
    lines = list[str]()
    if not store.findings():
        lines.append(f"No findings yet. Run {asked.prefix}review.")
    elif not found:
        lines.append("No finding matches.")
    return ActionResult(redact_value([f.to_json() for f in found]), tuple(lines), head, rows)


walk = Action(
    Need.DATABASE,
    _FILTERED,
    in_shell=False,
    name="walk",
    help="One after the other, with keys to apply, fix, dismiss and check",
)


@Action(Need.DATABASE, Words("F-12"), during_turn=True)
def show(sessions: SessionManager, asked: Invocation) -> ActionResult:
    """One finding with its evidence"""
    # late: as above
    from swecli.review.publish.view import view

    store = open_store(sessions, asked.folder)
    finding = store.get(asked.text)
    laid_out = view(finding, Path(store.project), store.history(finding.id))
    lines = tuple(map(redact, laid_out.lines()))
    return ActionResult(redact_value(finding.to_json()), lines)


apply = Action(
    Need.DATABASE,
    Words("F-12"),
    in_shell=False,
    name="apply",
    help="Apply its suggestion, without a model",
)


@Action(Need.DATABASE, Words("F-12 WHY"))
def dismiss(sessions: SessionManager, asked: Invocation) -> ActionResult:
    """Dismiss a finding, with a reason"""
    return _settle(sessions, asked, "dismissed", "is dismissed: {}")


@Action(Need.DATABASE, Words("F-12 [WHY]"))
def fixed(sessions: SessionManager, asked: Invocation) -> ActionResult:
    """Mark a finding as fixed"""
    return _settle(sessions, asked, "fixed", "is fixed; found again it counts as regressed")


@Action(Need.DATABASE, Words("F-12 [WHY]"))
def reopen(sessions: SessionManager, asked: Invocation) -> ActionResult:
    """Open a finding again"""
    return _settle(sessions, asked, "open", "is open")


def _settle(
    sessions: SessionManager, asked: Invocation, state: FindingState, message: str
) -> ActionResult:
    """Give a finding this state; the message says what it is then, with the reason. Raises UsageError."""
    # late: as above
    from swecli.review.judge.ledger import set_state
    from swecli.review.judge.lesson import propose_lesson

    store = open_store(sessions, asked.folder)
    ref = "".join(asked.words[:1])
    why = " ".join(asked.words[1:])
    if state == "dismissed" and store.get(ref) and not why:
        raise UsageError("A dismissal needs a reason.", f"Use: findings dismiss {ref} WHY")
    changed = set_state(store, ref, state, why)
    note = propose_lesson(sessions, store, changed, f"{asked.prefix}playbook")
    line = f"{changed.id} {message.format(changed.reason)}."
    return ActionResult(changed.to_json(), (line,), note=note)


@Action(Need.DATABASE, Words("F-12 ..."))
def recheck(sessions: SessionManager, asked: Invocation) -> ActionResult:
    """Compare findings with the files as they are now"""
    # late: as above
    from swecli.review.judge.ledger import format_change
    from swecli.review.judge.ledger import recheck as compare

    store = open_store(sessions, asked.folder)
    rechecked = compare(store, asked.folder, asked.words)
    lines = [format_change(before, after) for before, after in rechecked]
    if not lines:
        lines = ["Nothing has changed."]
    return ActionResult([after.to_json() for _, after in rechecked], tuple(lines))


check = Action(
    Need.DATABASE,
    Words("F-12 ..."),
    in_shell=False,
    name="check",
    help="Let the model check gone and unverified findings",
)
findings = Family(
    "findings",
    "List, walk through and resolve the findings of reviews",
    (list_, walk, show, apply, dismiss, fixed, reopen, recheck, check),
    default="list",
)


def open_store(sessions: SessionManager, folder: Path) -> ReviewStore:
    """Return the findings of the project that contains this folder."""
    # late: as above
    from swecli.store.reviews import ReviewStore

    return ReviewStore(sessions.database, str(project_root(folder)))
