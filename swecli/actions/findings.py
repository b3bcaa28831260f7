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

_FILTER = "STATE all severity>=high path:src/** type:LEAK verdict:confirmed WORD"
# arguments and help by name; walk and apply need a screen, export is for the shell only
ACTIONS = {
    "list": (_FILTER, "findings, the open ones unless a state is named"),
    "walk": (_FILTER, "one after the other, with keys to apply, fix, dismiss and check"),
    "show": ("F-12", "one finding with its evidence"),
    "apply": ("F-12", "apply its suggestion, without a model"),
    "dismiss": ("F-12 WHY", "dismiss a finding, with a reason"),
    "fixed": ("F-12 [WHY]", "mark a finding as fixed"),
    "reopen": ("F-12 [WHY]", "open a finding again"),
    "recheck": ("F-12 ...", "compare findings with the files as they are now"),
    "check": ("F-12 ...", "let the model check gone and unverified findings"),
    "export": (_FILTER, "print findings as Markdown, JSON or SARIF"),
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
    # late: most sessions review nothing
    from swecli.review.judge.ledger import format_change, recheck, set_state
    from swecli.review.judge.lesson import propose_lesson
    from swecli.review.publish.filters import filter_findings
    from swecli.review.publish.view import view

    store, (name, *rest) = open_store(sessions, folder), words
    if name == "list":
        found = filter_findings(store.findings(), rest)
        rows = tuple(
            (f.id, f.place, f.code_smell_type, f.severity, f.status, redact(f.message))
            for f in found
        )
        head = ("id", "place", "type", "severity", "state", "message")
        nothing = () if found else ("No such findings; a review records them.",)
        return ActionResult(redact_value([f.to_json() for f in found]), nothing, head, rows)
    if name == "show":
        finding = store.get(" ".join(rest))
        laid_out = view(finding, Path(store.project), store.history(finding.id))
        lines = tuple(map(redact, laid_out.lines()))
        return ActionResult(redact_value(finding.to_json()), lines)
    if name == "recheck":
        rechecked = recheck(store, folder, rest)
        lines = tuple(format_change(before, after) for before, after in rechecked) or (
            "Nothing has changed.",
        )
        return ActionResult([after.to_json() for _, after in rechecked], lines)
    ref, why, (state, message) = " ".join(rest[:1]), " ".join(rest[1:]), _NEW_STATES[name]
    if name == "dismiss" and store.get(ref) and not why:
        raise UsageError("A dismissal needs a reason.", f"Use: findings dismiss {ref} WHY")
    changed = set_state(store, ref, state, why)
    note = propose_lesson(sessions, store, changed, f"{command or '/'}playbook")
    return ActionResult(
        changed.to_json(), (f"{changed.id} {message.format(changed.reason)}.",), note=note
    )


def open_store(sessions: SessionManager, folder: Path) -> ReviewStore:
    """Return the findings of the project that contains this folder."""
    # late: as above
    from swecli.store.reviews import ReviewStore

    return ReviewStore(sessions.database, str(project_root(folder)))
