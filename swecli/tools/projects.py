"""Find out whose memory a folder has: its repository's, wherever the folder is now. See docs/adr/0115."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from swecli.config.whereabouts import Whereabouts, inode_of
from swecli.models.errors import BadInput
from swecli.models.project import KeyBasis, ProjectFolder, ProjectPlace
from swecli.store.journal.values import folder_key
from swecli.store.projects import ProjectStore, make_record
from swecli.store.sqlite.database import Database
from swecli.values import dataclass

_COMMIT = "commit:"  # before the id in a key: no path begins so


def open_project(database: Database, folder: Path) -> ProjectPlace:
    """Return the key of a folder's project, and the folder's place in it. What is found is recorded: git is asked only
    about a folder that is seen for the first time, or has no commit yet. Memory that lies under the folder's path moves
    to the key. A notice asks about memory of which neither can be told. Raises StoreError."""
    whereabouts = Whereabouts.of(folder)
    if database.path is None:  # nothing of it is found by another run
        return ProjectPlace(folder_key(str(whereabouts.root)), whereabouts.subfolder)
    opening = _Opening(database, ProjectStore(database), whereabouts)
    return ProjectPlace(opening.key(), whereabouts.subfolder)


@dataclass(frozen=True, slots=True)
class _Opening:
    """The opening of one folder."""

    database: Database
    store: ProjectStore
    whereabouts: Whereabouts

    def key(self) -> str:
        """Return the key of the folder's project, and record what is found."""
        records = self.store.recorded(self.whereabouts)
        same = next((record for record in records if self._is_same(record)), None)
        if same is None or self._may_be_known_better(same):
            return self._find(records, same)
        current = replace(same, folder=folder_key(str(self.whereabouts.holder)))
        self._record(current, records, replaced=[] if current == same else [same])
        return current.project

    def _is_same(self, record: ProjectFolder) -> bool:
        """Return whether the folder is the recorded one, maybe by another name."""
        whereabouts = self.whereabouts
        if record.inode != whereabouts.inode:
            return False
        if record.folder == folder_key(str(whereabouts.holder)):
            # without git the path is all there is, and its files may all be new
            return not whereabouts.has_git or whereabouts.holds_since(record.seen_at.timestamp())
        if inode_of(Path(record.folder)) == record.inode:
            return False  # it is still there: this is a folder of another disk
        last_use = self.store.last_use(record, Path(record.folder))
        return whereabouts.holds_since(last_use.timestamp())

    def _may_be_known_better(self, record: ProjectFolder) -> bool:
        """Return whether there may be a first commit by now."""
        can_have_one = self.whereabouts.has_git and not self.whereabouts.is_shallow
        return can_have_one and record.basis in (KeyBasis.REPOSITORY, KeyBasis.FOLDER)

    def _find(self, records: Sequence[ProjectFolder], same: ProjectFolder | None) -> str:
        """Find the key of a folder by its repository, and record it."""
        whereabouts = self.whereabouts
        commit = self._first_commit()
        holder = folder_key(str(whereabouts.holder))
        returned = [
            record
            for record in records
            if record.folder == holder
            and record.basis is KeyBasis.CHOSEN
            and commit
            and record.first_commit == commit
        ]
        if returned:  # a copy that was put back
            current = replace(returned[0], inode=whereabouts.inode)
        elif commit:
            current = make_record(whereabouts, f"{_COMMIT}{commit}", KeyBasis.COMMIT, commit)
        elif same is not None:
            current = replace(same, folder=holder)
        else:
            basis = KeyBasis.REPOSITORY if whereabouts.has_git else KeyBasis.FOLDER
            current = make_record(whereabouts, self.store.free_key(str(whereabouts.holder)), basis)
        replaced = [
            record
            for record in records
            if record != current and (record == same or self._is_before_git(record))
        ]
        self._record(current, records, replaced=replaced)
        self._ask(current, [record for record in records if record not in replaced])
        return current.project

    def _first_commit(self) -> str:
        """Return the first commit, "" if there is none, git is missing or refuses, or takes too long."""
        if not self.whereabouts.has_git or self.whereabouts.is_shallow:
            return ""
        # late: a folder is seen for the first time once
        from swecli.tools.git import first_commit

        try:
            return first_commit(self.whereabouts.root)
        except BadInput:
            return ""

    def _is_before_git(self, record: ProjectFolder) -> bool:
        """Return whether a record is of this folder before `git init`."""
        root = replace(
            self.whereabouts,
            holder=self.whereabouts.root,
            inode=inode_of(self.whereabouts.root),
        )
        return (
            self.whereabouts.has_git
            and record.folder == folder_key(str(root.holder))
            and record.inode == root.inode
            and root.holds_since(self.store.last_use(record, root.root).timestamp())
        )

    def _record(
        self,
        current: ProjectFolder,
        records: Sequence[ProjectFolder],
        *,
        replaced: Sequence[ProjectFolder],
    ) -> None:
        """Store the record in place of the replaced ones, if it is new, and take over what lies under their keys. So is
        what lies under the folder's path: it is from before there were records, or from a run that began before the key
        was found."""
        whereabouts = self.whereabouts
        paths = {folder_key(str(whereabouts.root)), folder_key(str(whereabouts.holder))}
        takes = {record.project for record in replaced} | {*self.store.unrecorded(sorted(paths))}
        takes -= {current.project}
        is_new = current not in records or bool(replaced)
        if not self.database.is_read_only and (is_new or takes):
            self.store.record(current, replaces=replaced, takes=sorted(takes))

    def _ask(self, current: ProjectFolder, others: Sequence[ProjectFolder]) -> None:
        """Ask about memory that may be this folder's, and is that of no folder that is there."""
        for record in others:
            if record.project == current.project or not self._may_be_same(current, record):
                continue
            if self.store.folders_of(record.project):
                continue
            memory = self.store.holdings(record.project)
            if memory.contents:
                self.database.notices.append(
                    f"the same project as {memory.name} was before ({memory.contents})?"
                    f" `swecli playbook adopt {memory.project}` takes that over"
                )

    def _may_be_same(self, current: ProjectFolder, record: ProjectFolder) -> bool:
        """Return whether a record may be of this folder, though nothing proves it: it was at this path, or is renamed
        and has no git. Two repositories whose first commits differ are two projects."""
        if current.first_commit and record.first_commit:
            return False
        whereabouts = self.whereabouts
        paths = {
            folder_key(str(path))
            for path in (whereabouts.root, whereabouts.holder, whereabouts.root / ".git")
        }
        return record.folder in paths or current.basis is record.basis is KeyBasis.FOLDER
