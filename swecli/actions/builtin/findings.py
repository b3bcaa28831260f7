"""`/findings` and `swecli findings`: the findings of a project. Those actions that ask, as `walk` does, are the
session's own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from swecli.actions.findings import open_store
from swecli.config.paths import project_root
from swecli.models.action import Action, ActionResult, Family, Flag, Invocation, Need, Words
from swecli.models.errors import UsageError
from swecli.models.finding import Finding, FindingState
from swecli.models.json_value import Json
from swecli.redact import redact, redact_value

if TYPE_CHECKING:  # the prompt completes the names of the actions before these are loaded
    from swecli.app import Runtime
    from swecli.store.session_manager import SessionManager

FILTER = "STATE all severity>=high path:src/** type:LEAK verdict:confirmed WORD"
_FILTERED = Words(FILTER, FILTER, shell_name="WORD")


@Action(Need.DATABASE, _FILTERED, during_turn=True)
def list_(sessions: SessionManager, invocation: Invocation) -> ActionResult:
    """Findings, the open ones unless a state is named"""
    # late: most sessions review nothing
    from swecli.review.publish.filters import filter_findings

    store = open_store(sessions, invocation.folder)
    selected = filter_findings(store.findings(), invocation.words)
    rows = tuple(_format_row(finding) for finding in selected)
    head = ("id", "place", "state", "problem")
    lines = list[str]()
    if not store.findings():
        lines.append(f"No findings yet. Run {invocation.prefix}review.")
    elif not selected:
        all_of_them = f"{invocation.prefix}findings list all"
        is_filtered = bool(invocation.words)
        lines.append("No finding matches." if is_filtered else f"None is open. All: {all_of_them}")
    return ActionResult(
        redact_value([finding.to_json() for finding in selected]),
        tuple(lines),
        head=head,
        rows=rows,
    )


def _format_row(finding: Finding) -> tuple[str, ...]:
    return (
        finding.id,
        finding.place,
        finding.status,
        f"{finding.code_smell_type} ({finding.severity}): {redact(finding.message)}",
    )


walk = Action(
    Need.DATABASE,
    _FILTERED,
    in_shell=False,
    name="walk",
    help="One after the other, with keys to apply, fix, dismiss and check",
)


@Action(Need.DATABASE, Words("F-12"), during_turn=True)
def show(sessions: SessionManager, invocation: Invocation) -> ActionResult:
    """One finding with its evidence"""
    # late: as above
    from swecli.review.publish.view import view

    store = open_store(sessions, invocation.folder)
    finding = store.get(invocation.text)
    page = view(finding, project_root(invocation.folder), store.history(finding.id))
    lines = tuple(map(redact, page.lines()))
    return ActionResult(redact_value(finding.to_json()), lines)


apply = Action(
    Need.DATABASE,
    Words("F-12"),
    in_shell=False,
    name="apply",
    help="Apply its suggestion, without a model",
)


@Action(Need.DATABASE, Words("F-12 WHY"))
def dismiss(sessions: SessionManager, invocation: Invocation) -> ActionResult:
    """Dismiss a finding, with a reason"""
    return _settle(sessions, invocation, "dismissed", "is dismissed: {}")


@Action(Need.DATABASE, Words("F-12 [WHY]"))
def fixed(sessions: SessionManager, invocation: Invocation) -> ActionResult:
    """Mark a finding as fixed"""
    return _settle(sessions, invocation, "fixed", "is fixed; found again it counts as regressed")


@Action(Need.DATABASE, Words("F-12 [WHY]"))
def reopen(sessions: SessionManager, invocation: Invocation) -> ActionResult:
    """Open a finding again"""
    return _settle(sessions, invocation, "open", "is open")


def _settle(
    sessions: SessionManager, invocation: Invocation, state: FindingState, message: str
) -> ActionResult:
    """Give a finding this state; the message says what it is then, with the reason. Raises UsageError."""
    # late: as above
    from swecli.review.judge.ledger import set_state
    from swecli.review.judge.lesson import propose_lesson

    store = open_store(sessions, invocation.folder)
    ref = "".join(invocation.words[:1])
    reason = " ".join(invocation.words[1:])
    if state == "dismissed" and store.get(ref) and not reason:
        raise UsageError(
            "A dismissal needs a reason.", f"Use: {invocation.prefix}findings dismiss {ref} WHY"
        )
    settled = set_state(store, ref, state, reason)
    note = propose_lesson(sessions, store, settled, f"{invocation.prefix}playbook")
    line = f"{settled.id} {message.format(settled.reason)}."
    return ActionResult(settled.to_json(), (line,), note=note)


@Action(Need.DATABASE, Words("F-12 ..."))
def recheck(sessions: SessionManager, invocation: Invocation) -> ActionResult:
    """Compare findings with the files as they are now"""
    # late: as above
    from swecli.review.judge.ledger import format_change
    from swecli.review.judge.ledger import recheck as compare

    store = open_store(sessions, invocation.folder)
    changes = compare(store, invocation.folder, invocation.words)
    lines = [format_change(before, after) for before, after in changes]
    if not lines:
        lines = ["Nothing has changed."]
    return ActionResult([after.to_json() for _, after in changes], tuple(lines))


@Action(
    Need.AGENT,
    Words("F-12 ..."),
    (Flag("--yes", "really ask; without it only the estimated price is shown", in_session=False),),
)
async def check(runtime: Runtime, invocation: Invocation) -> ActionResult:
    """Let the model check gone and unverified findings"""
    # late: as above
    from swecli.review.read.job import prepare_check

    face = invocation.face
    store = open_store(runtime.sessions, runtime.cwd)
    verifier, claims, price = prepare_check(
        runtime.agent, store, invocation.words, trusted=runtime.trusted
    )
    if not claims:
        return ActionResult([], ("There is nothing to check.",))
    if not face.can_ask:
        face.note(price)
    if not await face.confirm(price):
        return ActionResult([], (f"Nothing was checked{face.how_to_agree}.",))
    with face.working("Checking"):
        event, verdicts = await verifier.check(claims)
    face.show(event)
    lines = [*verdicts.problems, *(_format_checked(finding) for finding in event.findings)]
    return ActionResult([finding.to_json() for finding in event.findings], tuple(lines))


def _format_checked(finding: Finding) -> str:
    reason = f", {finding.judgement.why}" if finding.judgement else ""
    return f"{finding.id} {finding.place}: {finding.status}{reason}"


@Action(
    Need.DATABASE,
    _FILTERED,
    (Flag("--format", "Markdown by default", choices=("markdown", "json", "sarif")),),
    in_session=False,
)
def export(sessions: SessionManager, invocation: Invocation) -> ActionResult:
    """Print findings as Markdown, JSON or SARIF"""
    # late: as above
    from swecli.review.publish.filters import filter_findings
    from swecli.review.publish.posting import as_markdown
    from swecli.review.publish.sarif import as_sarif

    selected = filter_findings(open_store(sessions, invocation.folder).findings(), invocation.words)
    value: Json = redact_value([finding.to_json() for finding in selected])
    if invocation.value("--format") == "sarif":
        value = as_sarif(selected)
    return ActionResult(value, (as_markdown(selected, "Findings"),))


findings = Family(
    "findings",
    "List, walk through and resolve the findings of reviews",
    (list_, walk, show, apply, dismiss, fixed, reopen, recheck, check, export),
    default="list",
)
