"""Share strategies of the playbook with the people of a project, by files in its repository."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from swecli.config.paths import Paths, project_root
from swecli.config.project_files import SHARED_FOLDER, is_inside
from swecli.config.trust import TrustLedger
from swecli.models.action import Action, ActionResult, Flag, Invocation, Need, Words
from swecli.models.counts import pluralize
from swecli.models.errors import BadInput
from swecli.playbook.action import ActionContext
from swecli.playbook.actions import show as playbook_views
from swecli.text import one_line
from swecli.values import dataclass

if TYPE_CHECKING:  # declaring an action must not load the store
    from swecli.playbook.shared_files import SharedStrategy
    from swecli.playbook.team import SharedBullet
    from swecli.playbook.team_evidence import SharedVerdict
    from swecli.store.journal.deltas import BulletEvidence
    from swecli.store.session_manager import SessionManager

_EVIDENCE = "--evidence"
_MAX_COMMITS = 5  # that are named of a shared strategy
_SHOWN_EFFECTS = ("helped", "hurt", "refuted", "ignored")
_EFFECT_OF = {"helpful": "helped", "harmful": "hurt"}  # of a verdict that a check decided


@dataclass(frozen=True, slots=True)
class _Person:
    """Who commits here, by git; "" for what git does not say."""

    name: str = ""
    address: str = ""


@Action(
    Need.SESSION,
    Words("[P-7]"),
    (Flag(_EVIDENCE, "append what it did in your turns to a file of your own"),),
    during_turn=True,
)
def share(sessions: SessionManager, invocation: Invocation) -> ActionResult:
    """Write a strategy into the repository, for all who work in it"""
    ctx = ActionContext.of(sessions, invocation)
    root = project_root(invocation.folder)
    if not (root / ".git").exists():
        raise BadInput(
            f"{root} is no git repository: strategies are shared by git.",
            f"{ctx.command} export FILE writes them to a file.",
        )
    if _EVIDENCE in invocation.flags:
        return _share_evidence(ctx, root)
    if not invocation.words:
        raise ctx.usage_error("No strategy is named.", f"share P-7, or share {_EVIDENCE}")
    return _share_strategy(ctx, root)


def _share_strategy(ctx: ActionContext, root: Path) -> ActionResult:
    # late: few strategies are shared
    from swecli.models.ids import uuid7
    from swecli.models.playbook import Delta
    from swecli.playbook.shared_files import parse_shared
    from swecli.playbook.team import TEAM, link_op, name_of, shared_bullets

    bullet = ctx.find(ctx.invocation.text)
    if not bullet.is_live:
        raise BadInput(
            f"{bullet.id} is not in use: it is {bullet.state}.",
            f"{ctx.command} review, or edit {bullet.id} --on, uses it.",
        )
    shared_strategies = shared_bullets(ctx.sessions, ctx.session).values()
    shared = next((item for item in shared_strategies if item.bullet.id == bullet.id), None)
    strategy = _describe(ctx, bullet.id, root)
    path = root / (shared.file if shared else f"{SHARED_FOLDER}/{strategy.file_name()}")
    data = strategy.render().encode()
    try:
        parse_shared(data)
    except ValueError as error:
        raise BadInput(f"{bullet.id} is not shared: {error}.") from None
    if _present_text(path, root) not in ("", strategy.text, shared.text if shared else ""):
        raise BadInput(
            f"{name_of(path)} says something else since you shared it.",
            "/trust shows what it says now.",
        )
    # reads the environment: what works on a session gets no configuration
    ledger = TrustLedger.find(Paths.find(os.environ))
    is_trusted = ledger.trust_in(root).is_trusted
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        if is_trusted:
            ledger.approve(root, {root / name_of(path): data})
    except OSError as error:
        raise BadInput(f"{path} cannot be written: {error.strerror}.") from None
    op = link_op(bullet.id, name_of(path), strategy.text)
    ctx.apply(Delta(uuid7(), (op,), "user", ctx.session.id, None, TEAM))
    name = one_line(name_of(path))
    lines = [
        f"{bullet.id} is shared as {name}: commit it, and others can use it after their /trust."
    ]
    if not is_trusted:
        lines.append("  this folder is not trusted, so /trust will ask you about that file too")
    return ActionResult({"id": bullet.id, "file": name_of(path)}, tuple(lines))


def _describe(ctx: ActionContext, bullet_id: str, root: Path) -> SharedStrategy:
    """Return what is shared of a strategy: no counts."""
    # late: as above
    from swecli.playbook.shared_files import SharedStrategy

    bullet = ctx.find(bullet_id)
    quotes = ctx.sessions.playbook.evidence(bullet_id)
    said_at = [item.created_at for item in quotes if item.trust == "user" and item.created_at]
    moment = min(said_at, default=bullet.created_at)
    return SharedStrategy(
        bullet.content,
        bullet.paths,
        said_by=_read_person(root).name,
        said_on=f"{moment.astimezone():%Y-%m-%d}",
    )


def _present_text(path: Path, root: Path) -> str:
    """Return what a shared file says; "" if there is none. Raises BadInput for one that cannot be replaced."""
    # late: as above
    from swecli.playbook.shared_files import parse_shared, read_shared_file

    if not is_inside(path, root):
        raise BadInput(f"{SHARED_FOLDER} leads out of the project: nothing was written.")
    if not path.exists():
        return ""
    try:
        return parse_shared(read_shared_file(path)).text
    except ValueError as error:
        raise BadInput(f"{one_line(str(path))} is not replaced: {error}.") from None


def _share_evidence(ctx: ActionContext, root: Path) -> ActionResult:
    """Append what shared strategies did in the user's turns to his own file."""
    # late: as above
    from swecli.playbook.team import shared_bullets
    from swecli.playbook.team_evidence import append_verdicts, evidence_file

    person = _read_person(root)
    if not person.name:
        raise BadInput(
            "git does not know who you are.", 'git config user.name "Your Name", then again.'
        )
    shared_strategies = list(shared_bullets(ctx.sessions, ctx.session).values())
    if ctx.invocation.words:
        bullet = ctx.find(ctx.invocation.text)
        shared_strategies = [item for item in shared_strategies if item.bullet.id == bullet.id]
        if not shared_strategies:
            raise BadInput(f"{bullet.id} is not shared.", f"{ctx.command} share {bullet.id}")
    commit = _read_git(root, "rev-parse", "--short", "HEAD").strip()
    file = evidence_file(root, person.name, person.address)
    count = append_verdicts(file, root, _verdicts(ctx, shared_strategies, person, commit))
    name = file.relative_to(root).as_posix()
    line = f"Nothing to add to {name}: no check and no reflection judged them since."
    if count:
        line = f"{pluralize(count, 'new line')} in {name}: commit it."
    return ActionResult({"file": name, "added": count}, (line,))


def _verdicts(
    ctx: ActionContext, shared_strategies: list[SharedBullet], person: _Person, commit: str
) -> Iterator[SharedVerdict]:
    # late: as above
    from swecli.playbook.team_evidence import SharedVerdict

    for item in shared_strategies:
        for verdict in ctx.sessions.playbook.verdicts(item.bullet.id):
            effect = _EFFECT_OF.get(verdict.label, verdict.label)
            moment = verdict.evidence.created_at
            if effect in _SHOWN_EFFECTS and moment is not None:
                yield SharedVerdict(
                    strategy=Path(item.file).name,
                    effect=effect,
                    on=moment.isoformat(timespec="seconds"),
                    by=person.name,
                    commit=commit,
                    check=_name_check(verdict),
                )


def _name_check(verdict: BulletEvidence) -> str:
    """Return the check that decided a verdict, as "pytest passes"; "" if a reflection did, whose words stay here."""
    # late: as above
    from swecli.redact import redact

    return "" if verdict.effect else one_line(redact(verdict.evidence.quote))


def _read_person(root: Path) -> _Person:
    """Return whom git would name as the author of a commit."""
    name, _, rest = _read_git(root, "var", "GIT_AUTHOR_IDENT").partition("<")
    return _Person(one_line(name), rest.partition(">")[0])


def _read_git(root: Path, *words: str) -> str:
    """Return the output of a git command; "" if it fails, as before the first commit."""
    # late: names complete before git is used
    from swecli.tools.git import run_git

    try:
        return run_git(root, *words)
    except BadInput:
        return ""


def _show(sessions: SessionManager, invocation: Invocation) -> ActionResult:
    result = playbook_views.show.run(sessions, invocation)
    assert isinstance(result, ActionResult), "it waits for nothing"
    # late: as above
    from swecli.playbook.team import shared_bullets

    shared_strategies = shared_bullets(sessions, sessions.session).values()
    shared = next(
        (item for item in shared_strategies if item.bullet.id == result.value["id"]), None
    )
    if shared is None:
        return result
    lines = tuple(_describe_sharing(project_root(invocation.folder), shared.file))
    value = {**result.value, "shared": {"file": shared.file, "lines": list(lines)}}
    return replace(result, value=value, lines=(*result.lines, *lines))


show = replace(playbook_views.show, run=_show)


def _describe_sharing(root: Path, file: str) -> Iterator[str]:
    """Yield lines on who shares a strategy, which commits changed it, and what others saw of it."""
    # late: as above
    from swecli.playbook.shared_files import parse_shared, read_shared_file
    from swecli.playbook.team_evidence import read_verdicts

    name = one_line(file)
    try:
        shared = parse_shared(read_shared_file(root / file))
    except ValueError as error:
        yield f"shared as {name}, which is not used: {error}"
    else:
        author_note = f" by {shared.said_by}" if shared.said_by else ""
        date_note = f" on {shared.said_on}" if shared.said_on else ""
        yield one_line(f"shared as {name}{author_note}{date_note}")
    form = ("--format=%h %as %an: %s", "--no-color", f"--max-count={_MAX_COMMITS}")
    commits = _read_git(root, "log", *form, "--", file).splitlines()
    yield from (f"  commit {one_line(commit, 100)}" for commit in commits)
    if not commits:
        yield "  not in any commit yet"
    verdicts = read_verdicts(root, Path(file).name)
    for person in dict.fromkeys(verdict.by for verdict in verdicts):
        their_verdicts = [verdict for verdict in verdicts if verdict.by == person]
        counts = Counter(verdict.effect for verdict in their_verdicts)
        effects = ", ".join(f"{effect} {count}" for effect, count in counts.items())
        last = max(their_verdicts, key=lambda verdict: verdict.on)
        details = [f"last on {last.on[:10]}"]
        if last.commit:
            details.append(f"at {last.commit}")
        if last.check:
            details.append(last.check)
        yield f"  {person or 'somebody'}: {effects} ({', '.join(details)})"
