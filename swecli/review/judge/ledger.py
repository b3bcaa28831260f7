"""The ledger compared with the files as they are now, changed by the user's word, and what its fixes teach."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from swecli.models.errors import BadInput, UsageError
from swecli.models.finding import SMELLS, Finding, FindingState, collapse_whitespace
from swecli.models.message import ToolCall
from swecli.models.playbook import MAX_CHARACTERS, MAX_WORDS, Bullet, Delta, Evidence, Op
from swecli.redact import redact
from swecli.review.judge.grounding import find_block, ground, load_block, move
from swecli.review.judge.sources import LIMITS, Source, Sources, parse, project_sources
from swecli.store.reviews import ReviewStore
from swecli.store.session_manager import SessionManager
from swecli.tools.git import GitFailed, run_git

_MOST_BRANCHES = 30  # that are looked at for a file
_TIMES = 3  # fixes of a smell that are worth a strategy
_QUOTED = 5  # findings named as its evidence


def recheck(store: ReviewStore, here: Path, refs: Sequence[str] = ()) -> list[tuple[Finding, Finding]]:
    """Compare the named findings (all, where none is named) with the files and commit what changed: (before, after).
    `here` is a folder of the project. Raises BadInput for an unknown id."""
    return recheck_all(store, [store.get(ref) for ref in refs] if refs else store.findings(), project_sources(here))


def recheck_all(store: ReviewStore, found: Iterable[Finding], sources: Sources) -> list[tuple[Finding, Finding]]:
    """The same for these findings and files."""
    by_path = sorted(found, key=lambda finding: (finding.path, finding.number))  # each file is read once
    changed = [(before, after) for before in by_path if (after := recheck_finding(before, sources)) != before]
    store.update((after for _, after in changed), "recheck", "rule")
    return [(before, after) for before, after in changed if format_change(before, after)]


def set_state(store: ReviewStore, ref: str, state: FindingState, reason: str = "") -> Finding:
    """Give a finding the state that the user names. Raises BadInput for an unknown id, UsageError for a wrong state."""
    before = store.get(ref)
    if before.state == state != "dismissed":  # again, for another reason
        raise UsageError(f"{before.id} is {before.state}, it cannot become {state}.", "See: /findings show")
    finding = replace(before, state=state, reason=reason)
    store.update([finding], "user", "user")
    return finding


def withdraw(store: ReviewStore, refs: Sequence[str]) -> None:
    """Take back findings that the reviewer calls wrong; confirmed ones stay, and are checked again."""
    named = [f for f in store.findings() if f.id in refs and f.verdict != "confirmed"] if refs else []
    store.update([move(finding, "refuted", "the reviewer took it back") for finding in named], "withdrawn", "reviewer")


def recheck_finding(finding: Finding, sources: Sources) -> Finding:
    """The finding as its file is now, without a model: it moves with its lines, also into a renamed file; is fixed when
    its measure is within the limit, or its file was deleted and its lines stand in no other; regresses when the measure
    is over the limit again; is gone, which is not verified, where its lines stand nowhere."""
    source, smell = sources.get(finding.path), finding.code_smell_type
    if source.hash == finding.file_hash and not source.missing:
        return finding
    if not (finding.anchor or finding.block):
        return ground([finding], sources)[0] if source.hash else finding
    if source.missing:
        return _without_file(finding, sources)
    if source.problem:
        return replace(finding, verified=False, why=source.problem)
    block = load_block(finding.block, finding.anchor)
    found = find_block(block, finding.anchor, source.lines)
    line, last = min(found, key=lambda place: abs(place[0] - finding.line), default=(0, 0))
    function = None
    if smell in LIMITS:
        function = source.function(line) if line else source.find_function(finding.anchor, finding.line)
    if function is not None and block.measure is not None:
        limit, now = LIMITS[smell], function.measure(smell)
        if now <= limit < block.measure:
            fixed = move(finding, "fixed", function.measured(smell))
            return replace(fixed, file_hash=source.hash, line=function.line, verified=True, why="")
        if min(now, block.measure) > limit:
            again = finding.state == "fixed" and finding.reason.endswith(" are meant")  # by the measure
            back = move(finding, "over the limit") if again else finding
            return _there(back, source, line or function.line, last)
    if line:
        return _there(finding, source, line, last)
    return replace(move(finding, "vanished", "its code is in no file"), file_hash=source.hash)


def _without_file(finding: Finding, sources: Sources) -> Finding:
    """Moved with its lines where they stand in another file, as after a rename; fixed with its file where in none."""
    block = load_block(finding.block, finding.anchor)
    for path in sources.similar_files(finding.path):
        source = sources.get(path)
        if found := find_block(block, finding.anchor, source.lines):
            return replace(_there(finding, source, *found[0]), path=path)
    finding = replace(finding, file_hash="")
    if _on_a_branch(sources.root, finding.path):  # it may only be another branch that is checked out
        return move(finding, "vanished", "its file is on other branches only")
    return move(finding, "fixed", "the file was deleted, and its code is in no other file")


def _on_a_branch(root: Path, path: str) -> bool:
    """Whether the file is on a branch other than the one that is checked out."""
    try:
        head, *tips = run_git(root, "rev-parse", "HEAD", "--branches", "--remotes").split()
        for tip in [tip for tip in dict.fromkeys(tips) if tip != head][:_MOST_BRANCHES]:
            with suppress(GitFailed):
                return bool(run_git(root, "rev-parse", "--verify", "--quiet", f"{tip}:{path}"))
    except BadInput:  # no repository, or no commit
        pass
    return False


def _there(finding: Finding, source: Source, line: int, last: int) -> Finding:
    back = move(finding, "there", "its code is back")
    end, anchor = last if finding.end_line else None, finding.anchor or collapse_whitespace(source.lines[line - 1])
    return replace(back, line=line, end_line=end, anchor=anchor, file_hash=source.hash, verified=True, why="")


def format_change(before: Finding, after: Finding) -> str:
    """What changed, in a line; "" for what nobody would see."""
    if before.state != after.state:
        return f"{after.id} {after.place}: {before.state} → {after.state}{f' ({after.reason})' if after.reason else ''}"
    if before.key[:2] != after.key[:2]:
        return f"{after.id} {before.place} → {after.place}"
    if before.doubt == after.doubt:
        return ""
    return f"{after.id} {after.place}: {after.doubt or 'its code is unchanged'}"


def propose_lessons(
    sessions: SessionManager, store: ReviewStore, command: str, settled: Finding | None = None
) -> list[str]:
    """Propose a strategy for each smell fixed three times in this project, and for why the finding that was just
    `settled` was dismissed, once, with those findings as evidence; a line for each, with how the user approves it,
    `command` being the face's playbook. Nothing without a session."""
    session, lines = sessions.current_session, list[str]()
    if session is None:
        return lines
    often = store.fixed_often(_TIMES).items()
    made = [lesson(f"review:{store.project}:{smell}", smell, found) for smell, found in often if smell in SMELLS]
    if settled is not None and settled.state == "dismissed":
        made.append(_dismissal(store.project, settled, session.playbook.bullets.values()))
    for delta in made:
        if not sessions.playbook.made(delta.id):  # one taken back is not proposed again
            bullets = sessions.playbook.apply(delta, session).added
            lines += [
                f"{one} is proposed, since {delta.reason}. It needs your approval: {command} review" for one in bullets
            ]
    return lines


def lesson(name: str, smell: str, findings: list[Finding]) -> Delta:
    """The delta that teaches it; its id makes it apply once."""
    words, named = _words(smell), findings[:_QUOTED]
    content = f"Watch for {words} ({SMELLS[smell]}): it had to be fixed {_TIMES} times or more in this project."
    reason = f"{words} was fixed {_TIMES} times: {', '.join(f.id for f in named)}"
    return Delta(name, (_proposed(content, tuple(map(_seen, named))),), "rules", reason=reason)


def _dismissal(project: str, finding: Finding, bullets: Iterable[Bullet]) -> Delta:
    """Why it is not a problem; where that is a strategy already, one more piece of evidence for it."""
    reason = " ".join(redact(finding.reason).split()[: MAX_WORDS // 2])[: MAX_CHARACTERS // 2]
    content = f"{_words(finding.code_smell_type)[:80]} is not a problem here because {reason}"
    evidence = (_seen(finding), Evidence("user", reason, trust="user"))
    known = [bullet.id for bullet in bullets if bullet.content == content]
    op = Op("UPDATE", known[0], {"section": "review"}, evidence) if known else _proposed(content, evidence)
    return Delta(f"review:{project}:dismissed:{finding.id}", (op,), "rules", reason=f"{finding.id} was dismissed")


def _proposed(content: str, evidence: tuple[Evidence, ...]) -> Op:
    fields = {"content": content, "kind": "pitfall", "scope": "project", "section": "review"}
    return Op("ADD", fields=fields | {"trust": "repository", "state": "quarantined"}, evidence=evidence)


def _seen(finding: Finding) -> Evidence:
    return Evidence("finding", redact(f"{finding.id} {finding.place}: {finding.message}")[:300], trust="repository")


def _words(smell: str) -> str:
    return smell.replace("_", " ").lower()


def build_repair_prompt(finding: Finding, here: Path) -> str:
    """What the agent, whose workspace is `here`, is asked. The finding's own words are quoted: material, not orders.
    Raises BadInput where the finding's file is not part of that workspace."""
    parts = [
        f"Repair the review finding {finding.id} in {_from(here, finding)}, line {finding.line}"
        f"{f' to {finding.end_line}' if finding.end_line else ''}: {finding.code_smell_type} ({finding.severity}).",
        "Read the place first, since it may have moved. Change only what this finding needs, keep the behaviour "
        "otherwise, and say so if the finding is wrong. What the reviewer said:",
        _quoted(finding.message),
    ]
    more = {"Improvement": finding.improvement, "Suggested replacement": finding.suggestion}
    more["The code was"] = finding.anchor
    return "\n\n".join([*parts, *(f"{label}:\n{_quoted(text)}" for label, text in more.items() if text)])


def build_suggestion_edit(finding: Finding, here: Path) -> tuple[ToolCall, Finding]:
    """The call that puts the suggestion in the place of the finding's lines, and the finding, gone, once that is done.
    Raises BadInput without a suggestion, where the lines are not as they were reviewed, or a Python file could no
    longer be parsed."""
    sources = project_sources(here)
    now, lines = recheck_finding(finding, sources), sources.get(finding.path).lines
    length = (finding.end_line or finding.line) - finding.line + 1
    if not finding.suggestion:
        raise BadInput(f"{finding.id} has no suggestion to apply.", f"Let the agent repair it: /review --fix {now.id}")
    if now.state not in ("open", "regressed") or now.path != finding.path or now.line < 1:
        raise BadInput(f"{now.id} is {now.status}: its code is not there as it was reviewed.", _REVIEW)
    first, last = now.line, now.line + length - 1
    if last != (now.end_line or now.line) or last > len(lines):
        raise BadInput(f"The lines of {now.id} are not those that were reviewed.", _REVIEW)
    new = finding.suggestion.split("\n")
    call = _edit(now, here, lines, (first, last), new)
    after = move(now, "vanished", "its suggestion was applied")
    return call, replace(after, end_line=first + len(new) - 1)


_REVIEW = "Review the file again, or let the agent repair it: /review --fix"


def _edit(finding: Finding, here: Path, lines: Sequence[str], place: tuple[int, int], new: Sequence[str]) -> ToolCall:
    """The call of the edit tool for whole lines; lines around them are added until the text stands there once."""
    path, (first, last) = _from(here, finding), place
    after = [*lines[: first - 1], *new, *lines[last:]]
    if parse(path, lines) is not None and parse(path, after) is None:
        raise BadInput(f"With that {path} would not be valid Python: nothing was changed.", _REVIEW)
    whole, above, below = "\n".join([*lines, ""]), first - 1, last
    while above or below < len(lines):
        old = "\n".join(lines[above:below])
        if old and whole.find(old) == whole.rfind(old):
            break
        above, below = max(0, above - 1), min(len(lines), below + 1)
    old, text = "\n".join(lines[above:below]), "\n".join([*lines[above : first - 1], *new, *lines[last:below]])
    if old == text:
        raise BadInput(f"The suggestion of {finding.id} is the code as it is.", f"/findings check {finding.id}")
    return ToolCall(f"apply_{finding.id}", "edit_file", {"path": path, "edits": [{"old_text": old, "new_text": text}]})


def _from(here: Path, finding: Finding) -> str:
    """The finding's path as seen from the workspace. Raises BadInput where it is outside."""
    top, here = project_sources(here).root, here.resolve()
    try:
        return (top / finding.path).relative_to(here).as_posix()
    except ValueError as error:
        raise BadInput(
            f"{finding.id} is in {finding.path}, outside of this folder.", f"Start there: -C {top}"
        ) from error


def _quoted(text: str) -> str:
    # an @ would be read as a file the user mentions
    return "\n".join(f"> {line}" for line in text.replace("@", "@ ").split("\n"))
