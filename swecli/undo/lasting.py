"""What a turn changed that no undo takes back: the repository, background commands and what they wrote, ignored files.
It is recorded as it happens, and named with the command that takes it back while it still stands."""

from __future__ import annotations

import hashlib
import os
import shlex
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path

from swecli.config.paths import project_root
from swecli.file_names import relative_name, write_name
from swecli.models.errors import BadInput
from swecli.store.undo_records import LastingChange, LastingKind
from swecli.tools.git import RepositoryMemory, read_memory, run_git
from swecli.tools.jobs import Job
from swecli.tools.limits import escape_invalid_bytes
from swecli.values import dataclass

_MAX_NAMES = 6  # files named in a line; more are only counted
_MAX_RECORDED = 1_000  # entries of the index by one call, as a switch of branches changes
_SHORT = 7  # digits of a commit's id, as git abbreviates it
_SHA256_DIGITS = 64  # of an id in a repository with SHA-256
_HEADS = "refs/heads/"
_TAGS = "refs/tags/"
_STASH = "refs/stash"


@dataclass(frozen=True, slots=True)
class Standing:
    """What still stands after an undo, and the command that takes it back, "" if there is none."""

    description: str
    remedy: str = ""

    def __str__(self) -> str:
        line = f"{self.description}: {self.remedy}" if self.remedy else self.description
        return escape_invalid_bytes(line)


def compare_memories(before: RepositoryMemory, after: RepositoryMemory) -> list[LastingChange]:
    """Return what changed in a repository besides its files."""
    changes: list[LastingChange] = []
    if before.head != after.head:
        changes.append(LastingChange("head", "", before.head, after.head))
    if before.branch != after.branch:
        changes.append(LastingChange("branch", "", before.branch, after.branch))
    changes += _differences("ref", before.references, after.references)
    if before.index is not after.index:
        changes += _differences("index", before.index, after.index)[:_MAX_RECORDED]
    return changes


def _differences(
    kind: LastingKind, before: Mapping[str, str], after: Mapping[str, str]
) -> list[LastingChange]:
    return [
        LastingChange(kind, name, before.get(name, ""), after.get(name, ""))
        for name in sorted(before.keys() | after.keys())
        if before.get(name) != after.get(name)
    ]


def merge_changes(changes: Iterable[LastingChange]) -> list[LastingChange]:
    """Join the changes of the same thing, given oldest first, to one from its first state to its last."""
    merged: dict[tuple[LastingKind, str], LastingChange] = {}
    for change in changes:
        key = (change.kind, change.name)
        first = merged.get(key, change)
        merged[key] = LastingChange(change.kind, change.name, first.before, change.after)
    return [change for change in merged.values() if change.before != change.after]


def find_standing(
    changes: Sequence[LastingChange],
    root: Path,
    environ: Mapping[str, str] | None,
    running: Collection[Job] = (),
) -> list[Standing]:
    """Return what still stands of these changes, given oldest first, and which background commands are `running`. What
    was changed again since, or taken back, is not named."""
    merged = merge_changes(changes)
    standing: list[Standing] = []
    if any(change.kind in ("head", "branch", "ref", "index") for change in merged):
        present = read_memory(root, environ)
        if present is not None:
            standing += _Repository(root, environ, present, merged).standing()
    standing += name_running(running)
    standing += _written_by_jobs(merged)
    standing += _changed_before_the_copy(merged, root)
    ignored = [change.name for change in merged if change.kind == "ignored"]
    if ignored:
        standing.append(Standing(f"ignored, not undone: {join_names(ignored)}"))
    return standing


def name_running(jobs: Iterable[Job]) -> list[Standing]:
    """Return the lines on background commands that still run, and may write again."""
    return [Standing(f"job {job.number} still runs", f"/jobs stop {job.number}") for job in jobs]


def find_committed(
    path: str,
    contents: Iterable[bytes | None],
    root: Path,
    environ: Mapping[str, str] | None,
) -> list[Standing]:
    """Return whether the repository still holds one of these contents of a file: in the present commit, or in the
    index."""
    present = read_memory(root, environ)
    if present is None or not present.index:
        return []
    relative = os.path.relpath(path, project_root(root))
    entry = present.index.get(relative, "").split(" ")
    ids = {_blob_id(data, len(present.head)) for data in contents if data is not None}
    name = os.path.relpath(path, root)
    word = shlex.quote(name)
    try:
        committed = run_git(
            root, "rev-parse", "--verify", f"HEAD:./{name}", environ=environ
        ).strip()
        commit = run_git(root, "log", "-1", "--format=%H", "--", name, environ=environ).strip()
    except BadInput:
        committed = ""
        commit = ""
    if committed in ids:
        return [Standing(f"commit {commit[:_SHORT]} still has it", f"git commit -- {word}")]
    if len(entry) > 1 and entry[1] in ids:
        return [Standing("git's index still has it", f"git reset -- {word}")]
    return []


def _blob_id(data: bytes, digits: int) -> str:
    """Return the id of a content in a repository whose ids have so many digits."""
    algorithm = "sha256" if digits == _SHA256_DIGITS else "sha1"
    return hashlib.new(
        algorithm, b"blob %d\0" % len(data) + data, usedforsecurity=False
    ).hexdigest()


def _written_by_jobs(changes: Sequence[LastingChange]) -> list[Standing]:
    names: dict[str, list[str]] = {}
    for change in changes:
        if change.kind == "job":
            names.setdefault(change.after, []).append(change.name)
    return [
        Standing(f"{join_names(files)}: written while job {job} ran, not undone")
        for job, files in names.items()
    ]


def _changed_before_the_copy(changes: Sequence[LastingChange], root: Path) -> list[Standing]:
    names: dict[str, list[str]] = {}
    for change in changes:
        if change.kind == "copied":
            names.setdefault(change.before, []).append(relative_name(root, change.name))
    return [
        Standing(f"{join_names(files)}: undone only in the original", f"/resume {session[:13]}")
        for session, files in names.items()
    ]


@dataclass(frozen=True, slots=True)
class _Repository:
    """The repository as it is, and what turns changed in it."""

    root: Path
    environ: Mapping[str, str] | None
    present: RepositoryMemory
    changes: Sequence[LastingChange]

    def standing(self) -> list[Standing]:
        """Return what stands, in the order in which the commands are to be run."""
        branch = self._find("branch", self.present.branch)
        staged = self._staged()
        standing: list[Standing] = []
        described_branch = ""  # the one whose move is told by its commits
        if branch is not None and branch.before:
            standing.append(_switched(branch, has_index=bool(staged)))
        else:
            standing += self._commits()
            described_branch = self.present.branch
        for change in self.changes:
            if change.kind != "ref" or change.name == described_branch:
                continue
            if self.present.references.get(change.name, "") == change.after:
                standing += _reference(change)
        if staged:
            standing.append(_index_line(staged))
        return standing

    def _staged(self) -> list[str]:
        """Return the files whose entry in the index is still that of the turns, by their paths from the workspace."""
        root = project_root(self.root)
        return [
            os.path.relpath(root / change.name, self.root)
            for change in self.changes
            if change.kind == "index" and self.present.index.get(change.name, "") == change.after
        ]

    def _find(self, kind: LastingKind, present: str) -> LastingChange | None:
        """Return the change of that kind if the repository is as it left it."""
        for change in self.changes:
            if change.kind == kind and change.after == present:
                return change
        return None

    def _commits(self) -> list[Standing]:
        """Return the lines on commits of the present branch; those of another one are told by its move."""
        others = [
            change.after
            for change in self.changes
            if change.kind == "ref"
            and change.name.startswith(_HEADS)
            and change.name != self.present.branch
        ]
        for change in self.changes:
            if change.kind == "head" and change.after and change.after not in others:
                return self._commits_of(change)
        return []

    def _commits_of(self, change: LastingChange) -> list[Standing]:
        first = change.before
        last = change.after
        span = f"{first}..{last}" if first else last
        listed = self._ask("rev-list", "--first-parent", f"--max-count={_MAX_NAMES + 1}", span)
        commits = [commit[:_SHORT] for commit in listed.split()]
        is_ahead = not first or self._ask("merge-base", first, last).strip() == first
        if last != self.present.head:
            is_below = self._ask("merge-base", last, self.present.head or last).strip() == last
            if not (is_below and is_ahead and commits):
                return []
            return [
                Standing(f"commit {commit} stays", f"git revert {commit}") for commit in commits
            ]
        if not first:
            return [Standing(f"commit {last[:_SHORT]} stays", "git update-ref -d HEAD")]
        if not is_ahead or not commits:
            description = f"HEAD stays at {last[:_SHORT]}, it was at {first[:_SHORT]}"
            return [Standing(description, f"git reset --soft {first[:_SHORT]}")]
        ancestor = f"HEAD~{len(commits)}"
        if self._ask("rev-parse", "--verify", "--quiet", ancestor).strip() != first:
            ancestor = first[:_SHORT]
        names = ", ".join(commits[:_MAX_NAMES])
        if len(commits) == 1:
            return [Standing(f"commit {names} stays", f"git reset --soft {ancestor}")]
        return [Standing(f"commits {names} stay", f"git reset --soft {ancestor}")]

    def _ask(self, *words: str) -> str:
        """Return what git says, "" if it refuses."""
        try:
            return run_git(self.root, *words, environ=self.environ)
        except BadInput:
            return ""


def _switched(change: LastingChange, *, has_index: bool) -> Standing:
    """Return the line on another branch. Where its files differ, git would not switch back over the restored ones."""
    before = change.before.removeprefix(_HEADS)
    after = change.after.removeprefix(_HEADS)
    remedy = f"git switch {shlex.quote(before)}"
    if has_index:
        remedy = f"git symbolic-ref HEAD {shlex.quote(change.before)}"
    return Standing(f"HEAD stays at {after or 'a commit'}, it was at {before}", remedy)


def _reference(change: LastingChange) -> list[Standing]:
    """Return the line on a branch, a tag or another reference that was made, moved or removed."""
    name = change.name
    old = change.before[:_SHORT]
    if name.startswith(_HEADS):
        word = shlex.quote(name.removeprefix(_HEADS))
        return _made_or_moved(
            change, f"branch {word}", f"git branch -D {word}", f"git branch -f {word} {old}"
        )
    if name.startswith(_TAGS):
        word = shlex.quote(name.removeprefix(_TAGS))
        return _made_or_moved(
            change, f"tag {word}", f"git tag -d {word}", f"git tag -f {word} {old}"
        )
    if name == _STASH:
        return _made_or_moved(change, "a stash", "git stash drop", f"git stash store {old}")
    if name.startswith("refs/remotes/"):
        branch = name.removeprefix("refs/remotes/")
        return [Standing(f"{branch} is at {change.after[:_SHORT] or 'nothing'}: pushed or fetched")]
    return [Standing(f"{name} is at {change.after[:_SHORT] or 'nothing'}")]


def _made_or_moved(
    change: LastingChange, description: str, remove: str, restore: str
) -> list[Standing]:
    if not change.before:
        return [Standing(f"{description} stays", remove)]
    if not change.after:
        return [Standing(f"{description} stays removed", restore)]
    return [Standing(f"{description} stays moved", restore)]


def _index_line(names: Sequence[str]) -> Standing:
    """Return the line on the index. Resetting some of its files keeps what was staged of others."""
    if len(names) > _MAX_NAMES:
        return Standing(f"git's index still has {len(names)} changes", "git reset")
    quoted = " ".join(shlex.quote(name) for name in names)
    noun = "the change" if len(names) == 1 else "the changes"
    return Standing(f"git's index still has {noun}", f"git reset -- {quoted}")


def join_names(names: Collection[str]) -> str:
    """Return the first of these names, each once, and how many there are besides."""
    names = list(dict.fromkeys(names))
    listed = ", ".join(write_name(name) for name in names[:_MAX_NAMES])
    if len(names) <= _MAX_NAMES:
        return listed
    return f"{listed} and {len(names) - _MAX_NAMES} more"
