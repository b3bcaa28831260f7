"""What can be done with the findings of a project, at the prompt and from a shell; below, what needs no model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from swecli.config.paths import project_root
from swecli.models.errors import UsageError
from swecli.models.finding import Finding, FindingState
from swecli.playbook.action import ActionResult

if TYPE_CHECKING:  # the prompt completes the actions' names before any of these is loaded
    from swecli.store.reviews import ReviewStore
    from swecli.store.session_manager import SessionManager

_FILTER = "STATE all severity>=high path:src/** type:LEAK verdict:confirmed WORD"
# by name: the arguments and what it does; a screen alone has walk and apply, a shell alone has export
ACTIONS = {
    "list": (_FILTER, "findings, the open ones unless a state is named"),
    "walk": (_FILTER, "one after the other, with keys to apply, fix, dismiss and check"),
    "show": ("F-12", "one finding with its evidence"),
    "apply": ("F-12", "put its suggestion in place, without a model"),
    "dismiss": ("F-12 WHY", "dismiss a finding for good, and say why"),
    "fixed": ("F-12 [WHY]", "mark a finding as fixed"),
    "reopen": ("F-12 [WHY]", "open a finding again"),
    "recheck": ("F-12 ...", "compare findings with the files as they are now"),
    "check": ("F-12 ...", "let the model check gone and unverified findings"),
    "export": (_FILTER, "print findings as Markdown, JSON or SARIF"),
}
_SETTLED: dict[str, tuple[FindingState, str]] = {
    "dismiss": ("dismissed", "is dismissed and stays so: {}"),
    "fixed": ("fixed", "is fixed; found again it counts as regressed"),
    "reopen": ("open", "is open"),
}


def perform(sessions: SessionManager, here: Path, words: Sequence[str], command: str = "") -> ActionResult:
    """Do what the words ask, the name of an action first; `command` is how the user writes what begins with a slash.
    Raises SwecliError."""
    # late: most sessions review nothing
    from swecli.review.judge.ledger import format_change, propose_lesson, recheck  # noqa: PLC0415
    from swecli.review.publish.view import filter_findings, view  # noqa: PLC0415

    store, (name, *rest) = store_of(sessions, here), words
    if name == "list":
        found = filter_findings(store, rest)
        rows = tuple((f.id, f.place, f.code_smell_type, f.severity, f.status, f.message) for f in found)
        head = ("id", "place", "type", "severity", "state", "message")
        nothing = () if found else ("No such findings; a review records them.",)
        return ActionResult([f.to_json() for f in found], nothing, head, rows)
    if name == "show":
        finding = store.get(" ".join(rest))
        laid_out = view(finding, Path(store.project), store.history(finding.id))
        return ActionResult(finding.to_json(), tuple(laid_out.lines()))
    if name == "recheck":
        changed = recheck(store, here, rest)
        lines = tuple(format_change(before, after) for before, after in changed) or ("Nothing has changed.",)
        return ActionResult([after.to_json() for _, after in changed], lines)
    settled = _settle(store, name, rest)
    done = ActionResult(settled.to_json(), (f"{settled.id} {_SETTLED[name][1].format(settled.reason)}.",))
    return replace(done, note=propose_lesson(sessions, store, settled, f"{command or '/'}playbook"))


def store_of(sessions: SessionManager, here: Path) -> ReviewStore:
    """The findings of the project that this folder is in."""
    # late: as above
    from swecli.store.reviews import ReviewStore  # noqa: PLC0415

    return ReviewStore(sessions.database, str(project_root(here)))


def _settle(store: ReviewStore, name: str, words: Sequence[str]) -> Finding:
    # late: as above
    from swecli.review.judge.ledger import set_state  # noqa: PLC0415

    ref, why = " ".join(words[:1]), " ".join(words[1:])
    if name == "dismiss" and store.get(ref) and not why:
        raise UsageError("A dismissal needs a reason.", f"Use: findings dismiss {ref} WHY")
    return set_state(store, ref, _SETTLED[name][0], why)
