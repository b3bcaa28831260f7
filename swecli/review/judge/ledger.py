"""Compare the ledger with the files as they are now, set states by the user's word, propose a strategy for a dismissal,
and prepare repairs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from swecli.models.errors import BadInput, UsageError
from swecli.models.finding import Finding, FindingState, collapse_whitespace
from swecli.models.message import ToolCall
from swecli.models.playbook import MAX_CHARACTERS, MAX_WORDS, Delta, Evidence, Op
from swecli.redact import redact
from swecli.review.judge.grounding import ground, move
from swecli.review.judge.sources import LIMITS, Block, Source, Sources, project_sources
from swecli.store.reviews import ReviewStore
from swecli.store.session_manager import SessionManager
from swecli.tools.builtin.edit_file import edit_file
from swecli.tools.git import run_git

_REVIEW_HINT = "Review the file again, or let the agent repair it: /review --fix"


def recheck(
    store: ReviewStore, here: Path | Sources, refs: Sequence[str] = (), paths: Iterable[str] = ()
) -> list[tuple[Finding, Finding]]:
    """Compare the named findings (default: all, or those in `paths`) with files, or with those of the project that
    `here` belongs to. Store what changed and return the visible changes as (before, after). Raises BadInput for an
    unknown id."""
    sources = here if isinstance(here, Sources) else project_sources(here)
    found = [store.get(ref) for ref in refs] or store.findings(paths=paths)
    by_path = sorted(found, key=lambda finding: finding.path)  # so that each file is read once
    changed = [
        (before, after)
        for before in by_path
        if (after := _recheck_finding(before, sources)) != before
    ]
    store.update((after for _, after in changed), "recheck", "rule")
    return [(before, after) for before, after in changed if format_change(before, after)]


def set_state(store: ReviewStore, ref: str, state: FindingState, reason: str = "") -> Finding:
    """Give a finding the state that the user names. Raises BadInput for an unknown id, UsageError for a wrong state."""
    before = store.get(ref)
    if before.state == state != "dismissed":  # dismissed again: for another reason
        raise UsageError(
            f"{before.id} is {before.state}, it cannot become {state}.", "See: /findings show"
        )
    finding = replace(before, state=state, reason=reason)
    store.update([finding], "user", "user")
    return finding


def _recheck_finding(finding: Finding, sources: Sources) -> Finding:
    """Return the finding compared with its file, without a model. It moves with its lines, also into a renamed file. It
    becomes fixed when its measure is within the limit, or its file was deleted and its lines are in no other file;
    regressed when the measure is over the limit again; gone, which is not verified, when its lines are nowhere."""
    source, smell = sources.get(finding.path), finding.code_smell_type
    if source.hash == finding.file_hash and not source.missing:
        return finding
    if not (finding.anchor or finding.block):
        return (
            replace(ground([finding], sources)[0], fingerprint=finding.fingerprint)
            if source.hash
            else finding
        )
    if source.missing:
        return _recheck_missing_file(finding, sources)
    if source.problem:
        return replace(finding, verified=False, why=source.problem)
    block = Block.load(finding.block, finding.anchor)
    found = source.find_block(block, finding.anchor)
    line, last = min(found, key=lambda place: abs(place[0] - finding.line), default=(0, 0))
    named = next((symbol for symbol in source.symbols if symbol.name == finding.symbol), None)
    function = source.symbol_at(line) if line else named
    if block.measure is not None and function is not None and smell in function.measures:
        limit, measure = LIMITS[smell], function.measures[smell]
        if measure <= limit < block.measure:
            fixed = move(finding, "fixed", function.describe_measure(smell))
            return replace(fixed, file_hash=source.hash, line=function.line, verified=True, why="")
        if min(measure, block.measure) > limit:
            was_measured = finding.state == "fixed" and finding.reason.endswith(" are meant")
            again = move(finding, "over the limit") if was_measured else finding
            return _move_to_line(again, source, line or function.line, last)
    if line:
        return _move_to_line(finding, source, line, last)
    return replace(move(finding, "vanished", "its code is in no file"), file_hash=source.hash)


def _recheck_missing_file(finding: Finding, sources: Sources) -> Finding:
    block = Block.load(finding.block, finding.anchor)
    for path in sources.similar_files(finding.path):
        source = sources.get(path)
        if found := source.find_block(block, finding.anchor):
            return replace(_move_to_line(finding, source, *found[0]), path=path)
    finding, elsewhere = replace(finding, file_hash=""), ""
    with suppress(BadInput):  # no repository, or no commit
        commits, path = ("--branches", "--remotes", "--not", "HEAD"), f":(literal){finding.path}"
        elsewhere = run_git(sources.root, "show", "-s", "-1", "--format=%h", *commits, "--", path)
    if elsewhere:
        return move(finding, "vanished", "its file is on other branches only")
    return move(finding, "fixed", "the file was deleted, and its code is in no other file")


def _move_to_line(finding: Finding, source: Source, line: int, last: int) -> Finding:
    back = move(finding, "there", "its code is back")
    end, anchor = (
        last if finding.end_line else None,
        finding.anchor or collapse_whitespace(source.lines[line - 1]),
    )
    return replace(
        back, line=line, end_line=end, anchor=anchor, file_hash=source.hash, verified=True, why=""
    )


def format_change(before: Finding, after: Finding) -> str:
    """Return the change as a line; "" for one that no user would see."""
    if before.state != after.state:
        return f"{after.id} {after.place}: {before.state} → {after.state}{f' ({after.reason})' if after.reason else ''}"
    if before.key[:2] != after.key[:2]:
        return f"{after.id} {before.place} → {after.place}"
    if before.doubt == after.doubt:
        return ""
    return f"{after.id} {after.place}: {after.doubt or 'its code is unchanged'}"


def propose_lesson(
    sessions: SessionManager, store: ReviewStore, finding: Finding, command: str
) -> str:
    """Propose the reason of a dismissal as a strategy and return a line with how to approve it, `command` being the
    interface's playbook. A known strategy gets one more piece of evidence instead. Returns "" if nothing is new."""
    session, name = sessions.current_session, f"review:{store.project}:dismissed:{finding.id}"
    # a proposal that was taken back is not repeated
    if session is None or finding.state != "dismissed" or sessions.playbook.made(name):
        return ""
    reason = " ".join(redact(finding.reason).split()[: MAX_WORDS // 2])[: MAX_CHARACTERS // 2]
    smell = finding.code_smell_type.replace("_", " ").lower()[:80]
    content = f"{smell} is not a problem here because {reason}"
    quote = redact(f"{finding.id} {finding.place}: {finding.message}")[:300]
    evidence = (
        Evidence("finding", quote, trust="repository"),
        Evidence("user", reason, trust="user"),
    )
    fields = {"content": content, "kind": "pitfall", "scope": "project", "section": "review"}
    op = Op(
        "ADD", fields=fields | {"trust": "repository", "state": "quarantined"}, evidence=evidence
    )
    if known := [
        bullet.id for bullet in session.playbook.bullets.values() if bullet.content == content
    ]:
        op = Op("UPDATE", known[0], {"section": "review"}, evidence)
    delta = Delta(name, (op,), "rules", reason=f"{finding.id} was dismissed")
    added = sessions.playbook.apply(delta, session).added
    needs = f"is proposed, since {delta.reason}. It needs your approval: {command} review"
    return "\n".join(f"{bullet} {needs}" for bullet in added)


def build_repair_prompt(finding: Finding, here: Path) -> str:
    """Return the prompt that asks the agent, whose workspace is `here`, to repair a finding. The finding's own text is
    quoted as material. Raises BadInput where its file is not in the workspace."""
    parts = [
        f"Repair the review finding {finding.id} in {_workspace_path(here, finding)}, line {finding.line}"
        f"{f' to {finding.end_line}' if finding.end_line else ''}: {finding.code_smell_type} ({finding.severity}).",
        "Read the place first, since it may have moved. Change only what this finding needs, keep the behaviour "
        "otherwise, and say so if the finding is wrong. What the reviewer said:",
        _quote(finding.message),
    ]
    more = {"Improvement": finding.improvement, "Suggested replacement": finding.suggestion}
    more["The code was"] = finding.anchor
    return "\n\n".join(
        [*parts, *(f"{label}:\n{_quote(text)}" for label, text in more.items() if text)]
    )


def build_suggestion_edit(finding: Finding, here: Path) -> tuple[ToolCall, Finding]:
    """Return the edit that replaces the finding's lines by its suggestion, with enough lines around them to be unique,
    and the finding as it is after that edit. Raises BadInput without a suggestion, if the lines have changed, or if a
    Python file could no longer be parsed."""
    sources = project_sources(here)
    now, source = _recheck_finding(finding, sources), sources.get(finding.path)
    first, last, lines = now.line, now.end_line or now.line, source.lines
    if not finding.suggestion:
        raise BadInput(
            f"{finding.id} has no suggestion to apply.",
            f"Let the agent repair it: /review --fix {now.id}",
        )
    has_place = (
        now.state in ("open", "regressed")
        and now.path == finding.path
        and 1 <= first <= last <= len(lines)
    )
    if not has_place or last - first != (finding.end_line or finding.line) - finding.line:
        raise BadInput(
            f"{now.id} is {now.status}: its code has changed since the review.", _REVIEW_HINT
        )
    path, new = _workspace_path(here, finding), finding.suggestion.split("\n")
    after = (*lines[: first - 1], *new, *lines[last:])
    if after == lines:
        raise BadInput(
            f"The suggestion of {finding.id} equals the present code.",
            f"/findings check {finding.id}",
        )
    if source.tree is not None and Source(path, after).tree is None:
        raise BadInput(
            f"With that {path} would not be valid Python: nothing was changed.", _REVIEW_HINT
        )
    whole, above, below = "\n".join([*lines, ""]), first - 1, last
    old = "\n".join(lines[above:below])
    while (above or below < len(lines)) and (not old or whole.find(old) != whole.rfind(old)):
        above, below = max(0, above - 1), min(len(lines), below + 1)
        old = "\n".join(lines[above:below])
    text = "\n".join([*lines[above : first - 1], *new, *lines[last:below]])
    edit = {"path": path, "edits": [{"old_text": old, "new_text": text}]}
    applied = replace(
        move(now, "vanished", "its suggestion was applied"), end_line=first + len(new) - 1
    )
    return ToolCall(f"apply_{finding.id}", edit_file.name, edit), applied


def _workspace_path(here: Path, finding: Finding) -> str:
    """Return the finding's path relative to the workspace. Raises BadInput where it is outside."""
    top, here = project_sources(here).root, here.resolve()
    try:
        return (top / finding.path).relative_to(here).as_posix()
    except ValueError as error:
        raise BadInput(
            f"{finding.id} is in {finding.path}, outside of this folder.", f"Start there: -C {top}"
        ) from error


def _quote(text: str) -> str:
    # with a space behind it, an @ does not mention a file
    return "\n".join(f"> {line}" for line in text.replace("@", "@ ").split("\n"))
