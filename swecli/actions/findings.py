"""Actions on the findings of a project, shared by `/findings` and `swecli findings`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from swecli.config.paths import project_root
from swecli.models.action import ActionResult
from swecli.models.errors import UsageError
from swecli.models.finding import FindingState
from swecli.redact import redact, redact_value

if TYPE_CHECKING:  # the prompt completes the names of the actions before these are loaded
    from swecli.store.reviews import ReviewStore
    from swecli.store.session_manager import SessionManager

FILTER = "STATE all severity>=high path:src/** type:LEAK verdict:confirmed WORD"
# arguments and help by name; walk and apply need a screen, export is for the shell only
ACTIONS = {
    "list": (FILTER, "findings, the open ones unless a state is named"),
    "walk": (FILTER, "one after the other, with keys to apply, fix, dismiss and check"),
    "show": ("F-12", "one finding with its evidence"),
    "apply": ("F-12", "apply its suggestion, without a model"),
    "dismiss": ("F-12 WHY", "dismiss a finding, with a reason"),
    "fixed": ("F-12 [WHY]", "mark a finding as fixed"),
    "reopen": ("F-12 [WHY]", "open a finding again"),
    "recheck": ("F-12 ...", "compare findings with the files as they are now"),
    "check": ("F-12 ...", "let the model check gone and unverified findings"),
    "export": (FILTER, "print findings as Markdown, JSON or SARIF"),
}
_NEW_STATES: dict[str, tuple[FindingState, str]] = {
    "dismiss": ("dismissed", "is dismissed: {}"),
    "fixed": ("fixed", "is fixed; found again it counts as regressed"),
    "reopen": ("open", "is open"),
}


def perform_action(
    sessions: SessionManager, folder: Path, words: Sequence[str], command: str = ""
) -> ActionResult:
    """Perform an action; `words` are its name and arguments, `command` is the prefix of commands in hints, "" for a
    slash. Raises SwecliError."""
    store = open_store(sessions, folder)
    name, *rest = words
    if name == "list":
        return _list(store, rest, command or "/")
    if name == "show":
        return _show(store, " ".join(rest))
    if name == "recheck":
        return _recheck(store, folder, rest)
    # late: most sessions review nothing
    from swecli.review.judge.ledger import set_state
    from swecli.review.judge.lesson import propose_lesson

    ref = " ".join(rest[:1])
    why = " ".join(rest[1:])
    state, message = _NEW_STATES[name]
    if name == "dismiss" and store.get(ref) and not why:
        raise UsageError("A dismissal needs a reason.", f"Use: findings dismiss {ref} WHY")
    changed = set_state(store, ref, state, why)
    note = propose_lesson(sessions, store, changed, f"{command or '/'}playbook")
    line = f"{changed.id} {message.format(changed.reason)}."
    return ActionResult(changed.to_json(), (line,), note=note)


def _list(store: ReviewStore, words: Sequence[str], command: str) -> ActionResult:
    # late: as above
    from swecli.review.publish.filters import filter_findings

    found = filter_findings(store.findings(), words)
    rows = tuple(
        (f.id, f.place, f.code_smell_type, f.severity, f.status, redact(f.message)) for f in found
    )
    head = ("id", "place", "type", "severity", "state", "message")
    nothing = ""
    if not found:
        nothing = (
            "No finding matches." if store.findings() else f"No findings yet. Run {command}review."
        )
    return ActionResult(
        redact_value([f.to_json() for f in found]), (nothing,) if nothing else (), head, rows
    )


def _show(store: ReviewStore, ref: str) -> ActionResult:
    # late: as above
    from swecli.review.publish.view import view

    finding = store.get(ref)
    laid_out = view(finding, Path(store.project), store.history(finding.id))
    lines = tuple(map(redact, laid_out.lines()))
    return ActionResult(redact_value(finding.to_json()), lines)


def _recheck(store: ReviewStore, folder: Path, words: Sequence[str]) -> ActionResult:
    # late: as above
    from swecli.review.judge.ledger import format_change, recheck

    rechecked = recheck(store, folder, words)
    lines = [format_change(before, after) for before, after in rechecked]
    if not lines:
        lines = ["Nothing has changed."]
    return ActionResult([after.to_json() for _, after in rechecked], tuple(lines))


def open_store(sessions: SessionManager, folder: Path) -> ReviewStore:
    """Return the findings of the project that contains this folder."""
    # late: as above
    from swecli.store.reviews import ReviewStore

    return ReviewStore(sessions.database, str(project_root(folder)))
