"""Keeps the playbook in step with the strategies that the people of a project share by their repository.

A file counts as it was trusted: one that is new, has changed or is gone is in no prompt. What the user switched off or
removed stays off, and what he reworded stays until the file says something else.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from swecli.config.paths import project_root
from swecli.config.project_files import (
    MAX_SHARED,
    SHARED_FOLDER,
    find_shared_strategies,
    is_inside,
)
from swecli.config.trust import FolderTrust, TrustState
from swecli.models.ids import uuid7
from swecli.models.json_value import JsonObject
from swecli.models.playbook import Bullet, Delta, Evidence, Op
from swecli.models.session import Session
from swecli.text import one_line
from swecli.values import dataclass

if TYPE_CHECKING:  # a project without shared strategies needs no store for them
    from swecli.playbook.shared_files import SharedStrategy
    from swecli.store.session_manager import SessionManager

# the section of shared strategies, and the reason of the deltas that follow their files
TEAM = "team"
_MAX_NOTICES = 5  # files whose problems are named


@dataclass(slots=True)
class SharedFolder:
    """The shared strategies of a folder: those of the trusted files, and what is to be said of the others."""

    strategies: dict[str, SharedStrategy] = field(default_factory=dict)  # by path from the folder
    untrusted: dict[str, TrustState] = field(default_factory=dict)  # "new", "changed", "untrusted"
    problems: dict[str, str] = field(default_factory=dict)  # clauses, by path

    @classmethod
    def read(cls, root: Path, trust: FolderTrust) -> SharedFolder:
        """Read the files below a project's root. Never raises for a file."""
        # late: most projects share no strategies
        from swecli.playbook.shared_files import parse_shared, read_shared_file

        folder = cls()
        for path in find_shared_strategies(root):
            name = name_of(path)
            try:
                if not is_inside(path, root):
                    raise ValueError("it is a link that leads out of the project")
                data = read_shared_file(path)
                shared = parse_shared(data)
            except ValueError as error:
                folder.problems[name] = str(error)
                continue
            state = trust.judge(root.resolve() / name, data)
            if state == "approved":
                folder.strategies[name] = shared
            else:
                folder.untrusted[name] = state
        return folder

    def notices(self) -> Iterator[str]:
        """Yield one line on what waits for trust, and one for each file that cannot be used."""
        states = set(self.untrusted.values())
        if "untrusted" in states:
            yield (
                f"Shared strategies ({_list_files(self.untrusted)}) are not used: this folder is not trusted. "
                "Run /trust to use them."
            )
        elif states:
            groups = [
                f"{state}: {_list_files([name for name, of in self.untrusted.items() if of == state])}"
                for state in ("new", "changed")
                if state in states
            ]
            yield f"Shared strategies are not used yet ({'; '.join(groups)}): /trust shows them"
        for name, problem in list(self.problems.items())[:_MAX_NOTICES]:
            yield f"{one_line(name)} is not used: {problem}"
        more = len(self.problems) - _MAX_NOTICES
        if more > 0:
            yield f"{more} more files in {SHARED_FOLDER} cannot be used"
        total = len(self.strategies) + len(self.untrusted) + len(self.problems)
        if total == MAX_SHARED:
            yield f"{SHARED_FOLDER}: no more than the first {MAX_SHARED} files are read"


def _list_files(names: Sequence[str] | Mapping[str, object]) -> str:
    listed = [one_line(Path(name).name) for name in names]
    joined = ", ".join(listed[:_MAX_NOTICES])
    more = len(listed) - _MAX_NOTICES
    return f"{joined} and {more} more" if more > 0 else joined


def name_of(path: Path) -> str:
    """Return how a shared file is called: its path from the project's root."""
    return f"{SHARED_FOLDER}/{path.name}"


def follow_shared_files(
    sessions: SessionManager, session: Session, root: Path, trust: FolderTrust
) -> list[str]:
    """Bring the session's playbook in step with the shared files below a project's root. Returns lines for the user.
    Raises StoreError."""
    place = Path(session.working_directory)
    if place.is_dir() and project_root(place) != root.resolve():
        return []  # the session of another folder, which has files of its own
    if not find_shared_strategies(root) and not _team_bullets(session):
        return []
    folder = SharedFolder.read(root, trust)
    known_bullets = shared_bullets(sessions, session)
    ops = _plan(sessions, session, folder, known_bullets)
    if ops and not sessions.database.is_read_only:
        # the user trusted these files: that is his word
        delta = Delta(uuid7(), tuple(ops), "import", session.id, None, TEAM)
        sessions.playbook.apply(delta, session)
    return list(folder.notices())


@dataclass(frozen=True, slots=True)
class SharedBullet:
    """A strategy of the playbook that has a shared file, with the text that it had there when it was last followed."""

    bullet: Bullet
    file: str  # path from the project's root
    text: str


def shared_bullets(sessions: SessionManager, session: Session) -> dict[str, SharedBullet]:
    """Return the strategies of a session that have a shared file, removed ones too, by that file."""
    bullets = _team_bullets(session)
    bullets += [
        bullet for bullet in sessions.playbook.deleted_bullets(session) if bullet.section == TEAM
    ]
    evidence = sessions.playbook.evidence_by_id([bullet.id for bullet in bullets])
    known_bullets: dict[str, SharedBullet] = {}
    for bullet in bullets:
        for item in evidence[bullet.id]:
            if item.source.startswith(f"{SHARED_FOLDER}/"):
                known_bullets[item.source] = SharedBullet(bullet, item.source, item.quote)
    return known_bullets


def _team_bullets(session: Session) -> list[Bullet]:
    return [bullet for bullet in session.playbook.bullets.values() if bullet.section == TEAM]


def _plan(
    sessions: SessionManager,
    session: Session,
    folder: SharedFolder,
    known_bullets: Mapping[str, SharedBullet],
) -> list[Op]:
    """Return the operations that bring the playbook in step with the files."""
    same_text = {bullet.content.casefold(): bullet for bullet in session.playbook.bullets.values()}
    # what brought these was undone, and with it the record of their files
    undone_texts = {
        bullet.content.casefold()
        for bullet in sessions.playbook.deleted_bullets(session)
        if bullet.section == TEAM
    }
    ops: list[Op] = []
    for file, strategy in folder.strategies.items():
        text = strategy.text
        shared = known_bullets.get(file)
        same_bullet = same_text.get(text.casefold())
        if shared is not None:
            ops += _follow(sessions, shared, strategy)
        elif text.casefold() in undone_texts:
            continue
        elif same_bullet is not None:
            link = link_op(same_bullet.id, file, text)
            if same_bullet.state == "quarantined":  # a proposal, which the trusted file answers
                link = replace(link, fields=link.fields | {"state": "active"})
            ops.append(link)
        else:
            fields: JsonObject = {"scope": "project", "trust": "repository", "section": TEAM}
            ops.append(Op("ADD", "", fields | _content(strategy), (_quote(file, text),)))
    ops = _without_doubles(ops)
    for file, shared in known_bullets.items():
        # what was learned here, or what the user said yes to, stays whatever becomes of the file
        is_teams = shared.bullet.is_live and shared.bullet.trust == "repository"
        if file not in folder.strategies and is_teams:
            ops.append(Op("UPDATE", shared.bullet.id, {"state": "disabled"}))
    return ops


def _without_doubles(ops: Sequence[Op]) -> list[Op]:
    """Return the operations without a second new strategy of the same text: two people may share one."""
    first_ops: dict[str, Op] = {}
    for op in ops:
        key = op.bullet_id or str(op.fields["content"]).casefold()
        first_ops.setdefault(key, op)
    return list(first_ops.values())


def _follow(sessions: SessionManager, shared: SharedBullet, strategy: SharedStrategy) -> list[Op]:
    """Return the operations that bring a known strategy in step with its trusted file."""
    bullet = shared.bullet
    if bullet.state == "deleted":
        return []
    fields: JsonObject = {}
    evidence: tuple[Evidence, ...] = ()
    has_other_paths = strategy.paths != bullet.paths and bullet.trust == "repository"
    if strategy.text != shared.text or has_other_paths:
        fields |= _content(strategy) | {"trust": "repository"}
        evidence = (_quote(shared.file, strategy.text),)
    if bullet.state == "disabled" and was_withheld(sessions, bullet):
        fields["state"] = "active"
    return [Op("UPDATE", bullet.id, fields, evidence)] if fields else []


def was_withheld(sessions: SessionManager, bullet: Bullet) -> bool:
    """Return whether a disabled strategy was switched off because of its file, and not by the user."""
    for change in reversed(sessions.playbook.changes(bullet.id)):
        for name, op in change.ops_by_id():
            if name == bullet.id and "state" in op.fields:
                return change.delta.reason == TEAM
    return False


def link_op(bullet_id: str, file: str, text: str) -> Op:
    """Return the operation that says which file shares a strategy of the playbook."""
    return Op("UPDATE", bullet_id, {"section": TEAM}, (_quote(file, text),))


def _content(strategy: SharedStrategy) -> JsonObject:
    # late: only a new text is searched for what it names
    from swecli.playbook.workspace import find_anchors

    return {
        "content": strategy.text,
        "paths": list(strategy.paths),
        "anchors": list(find_anchors(strategy.text)),
    }


def _quote(file: str, text: str) -> Evidence:
    return Evidence(file, text, trust="repository")
