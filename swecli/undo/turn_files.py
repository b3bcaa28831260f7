"""What turns changed in files: file by file, and hunk by hunk."""

from __future__ import annotations

import stat
from collections.abc import Collection, Sequence
from dataclasses import replace
from itertools import islice, pairwise
from pathlib import Path

from swecli.file_names import read_name, relative_name, write_mention
from swecli.models.changed_files import LineCounts
from swecli.models.errors import BadInput
from swecli.store.session_manager import SessionManager
from swecli.store.undo_records import FileChange, FileState, PieceChange
from swecli.text_files import TextFile, decode, replace_strays
from swecli.tools.diffs import Diff, Hunk, format_counts, unified_diff
from swecli.undo.lasting import join_names
from swecli.undo.renames import find_renames
from swecli.undo.versions import NOT_STORED, FileVersions
from swecli.values import dataclass

TAKEN_BACK = "taken back"


@dataclass(frozen=True, slots=True)
class Run:
    """Changes of one file of which each began where the one before it had ended."""

    before: FileState
    after: FileState
    key: int  # of the last change


@dataclass(frozen=True, slots=True)
class TurnFile:
    """What a turn changed in one file. Between two of its `runs` something else changed the file. `undone_pieces` are
    the pieces of it that were taken back; `moved_from` is the file as it was before the turn, if the turn renamed
    it."""

    path: str
    name: str  # as it is shown
    runs: tuple[Run, ...]
    changers: tuple[str, ...]  # such as "tools" and "job 1"; () if they are not known
    jobs: frozenset[int] = frozenset()  # the numbers of the background commands among them
    undone_pieces: tuple[PieceChange, ...] = ()
    moved_from: TurnFile | None = None

    @property
    def before(self) -> FileState:
        return self.runs[0].before

    @property
    def after(self) -> FileState:
        return self.runs[-1].after

    @property
    def typed_name(self) -> str:
        """The name as one word of a line: in quotes if it has blanks."""
        return self.name if read_name(self.name) else write_mention(self.name)

    @property
    def typed_names(self) -> list[str]:
        """All ways to write the name, also that from before the turn."""
        names = [self.typed_name, self.name]
        if self.moved_from is not None:
            names += self.moved_from.typed_names
        return names

    @property
    def is_folder(self) -> bool:
        return stat.S_ISDIR(self.before.mode or self.after.mode)

    @property
    def is_undone(self) -> bool:
        """Whether all of it was taken back at once."""
        return self.is_run_undone(self.runs[-1])

    def is_run_undone(self, run: Run, hunk: int = 0) -> bool:
        """Return whether a run, or one hunk of it, was taken back. What came after that is not."""
        return any(
            piece_change.piece.hunk in (0, hunk) and piece_change.change.key > run.key
            for piece_change in self.undone_pieces
        )


@dataclass(frozen=True, slots=True)
class NumberedHunk:
    """A hunk with its number in the file, from 1."""

    number: int
    hunk: Hunk
    run: Run
    is_undone: bool

    @property
    def label(self) -> str:
        return f"hunk {self.number} · {TAKEN_BACK}" if self.is_undone else f"hunk {self.number}"

    @property
    def description(self) -> str:
        """Where the hunk is and what it changes first, to choose it."""
        first = next(line for line in self.hunk.lines if not line.startswith(" "))
        place = f"line {self.hunk.changes[0].j1 + 1}"
        first_line = replace_strays(first[0] + " " + first[1:].strip())
        return f"{place} · {TAKEN_BACK}" if self.is_undone else f"{place}: {first_line}"


@dataclass(frozen=True, slots=True)
class FileDiff:
    """The changes of a file to show: a line, a unified diff of a text, "" for anything else, and what stands above its
    hunks, () if nothing needs to."""

    name: str
    heading: str
    text: str = ""
    labels: tuple[str, ...] = ()

    def numbered_text(self) -> list[str]:
        """Return the lines of the diff, each hunk below its label."""
        if not self.text:
            return []
        lines: list[str] = []
        labels = iter(self.labels)
        for line in self.text.replace("\r\n", "\n").removesuffix("\n").split("\n"):
            if line.startswith("@@"):
                lines += islice(labels, 1)
            lines.append(line)
        return lines


class TurnFiles:
    """Reads the changed files of the current session's turns."""

    def __init__(self, sessions: SessionManager, versions: FileVersions) -> None:
        self._sessions = sessions
        self.versions = versions

    @classmethod
    def open(cls, sessions: SessionManager) -> TurnFiles:
        """Open those of a session in its own folder. Raises BadInput if no versions are kept."""
        database = sessions.database.path
        if database is None:
            raise BadInput("No file versions are kept: the database is in memory.")
        root = Path(sessions.session.working_directory)
        return cls(sessions, FileVersions(root, versions_folder(database), None))

    def of_turn(self, number: int) -> list[TurnFile]:
        """Return the files that a turn changed, in the order of their first changes. A folder in which one of them lies
        is not among them."""
        session = self._sessions.session
        chains: dict[str, list[FileChange]] = {}
        for change in self._sessions.file_changes.load(session, number, number):
            if change.before != change.after:
                chains.setdefault(change.path, []).append(change)
        pieces = [
            piece
            for piece in self._sessions.file_changes.load_pieces(session)
            if piece.change.interaction == number
        ]
        files = [self._file(path, chain, pieces) for path, chain in chains.items()]
        return self._join_renamed([file for file in files if not _holds_another(file, chains)])

    def _join_renamed(self, files: Sequence[TurnFile]) -> list[TurnFile]:
        """Return the files, each removed one joined with the created one to which it was renamed."""
        renames = find_renames((file for file in files if len(file.runs) == 1), self._read_end)
        sources = {created.path: removed for removed, created in renames}
        moved_paths = [removed.path for removed, _ in renames]
        return [
            replace(file, moved_from=sources.get(file.path))
            for file in files
            if file.path not in moved_paths
        ]

    def _read_end(self, file: TurnFile) -> TextFile | None:
        """Return a removed file as it was, or a created one as it is."""
        return self.read(file.before if file.before.mode else file.after)

    def _file(
        self, path: str, chain: Sequence[FileChange], pieces: Sequence[PieceChange]
    ) -> TurnFile:
        changers = dict.fromkeys(_describe_changer(change) for change in chain)
        return TurnFile(
            path,
            relative_name(self.versions.root, path),
            tuple(_join_runs(chain)),
            tuple(changer for changer in changers if changer),
            frozenset(change.job for change in chain if change.job),
            tuple(piece for piece in pieces if piece.change.path == path),
        )

    def find(self, number: int, text: str) -> tuple[TurnFile, int]:
        """Return the file of a turn that a text names, and the number of the hunk behind it, 0 for none. Raises
        BadInput."""
        files = self.of_turn(number)
        by_name = {name: file for file in files for name in file.typed_names}
        if text in by_name:
            return by_name[text], 0
        name, _, last = text.rpartition(" ")
        if last.isdecimal() and name.strip() in by_name:
            return by_name[name.strip()], int(last)
        if self._is_not_kept(number, text):
            raise BadInput(
                f"Of {text} no earlier content is kept.",
                "Nothing is kept of ignored files, nor of what background commands of earlier versions wrote",
            )
        names = join_names([file.name for file in files])
        if not names:
            self.refuse_copied(number)
        hint = f"It changed: {names}" if names else "It changed none"
        raise BadInput(f"T{number} changed no file {text!r:.80}.", hint)

    def refuse_copied(self, number: int) -> None:
        """Raise BadInput if a turn that changed files was copied from another session, which has their contents."""
        lasting = self._sessions.lasting_changes.load(self._sessions.session, number)
        for change in lasting:
            if change.interaction == number and change.kind == "copied":
                raise BadInput(
                    f"T{number} is a copy: the session that it comes from has what it changed.",
                    f"/resume {change.before[:13]} goes there",
                )

    def _is_not_kept(self, number: int, name: str) -> bool:
        """Return whether a turn changed a file of which only that is recorded, or the folder in which it lies."""
        lasting = self._sessions.lasting_changes.load(self._sessions.session, number)
        names = [
            change.name
            for change in lasting
            if change.interaction == number and change.kind in ("ignored", "job")
        ]
        return any(name == each or name.startswith(f"{each}/") for each in names)

    def hunks(self, file: TurnFile) -> list[NumberedHunk]:
        """Return the hunks of a file, none if it is not a text, was created, removed or renamed."""
        hunks: list[NumberedHunk] = []
        if file.moved_from is not None or not (file.before.mode and file.after.mode):
            return hunks
        for run in file.runs:
            diff = self._diff(file.name, run)
            for hunk in diff.hunks if diff is not None else ():
                number = len(hunks) + 1
                hunks.append(NumberedHunk(number, hunk, run, file.is_run_undone(run, number)))
        return hunks

    def diffs_of_turn(self, number: int) -> list[FileDiff]:
        """Return the changes of a turn, also those that were taken back by the piece."""
        return [self._show(file) for file in self.of_turn(number)]

    def diffs_of_session(self) -> list[FileDiff]:
        """Return what all turns together changed and is not undone."""
        chains: dict[str, list[FileChange]] = {}
        session = self._sessions.session
        for change in self._sessions.file_changes.load(session, 1):
            chains.setdefault(change.path, []).append(change)
        for piece in self._sessions.file_changes.load_pieces(session):
            chain = chains.get(piece.change.path)
            if chain:
                history = self._sessions.file_changes.load_path(
                    session, piece.change.path, chain[0].key
                )
                chain.append(history[-1])
        diffs: list[FileDiff] = []
        for path, chain in chains.items():
            file = self._file(path, chain, ())
            if chain[0].before != chain[-1].after and not _holds_another(file, chains):
                whole = Run(chain[0].before, chain[-1].after, chain[-1].key)
                diffs.append(self._show(replace(file, runs=(whole,)), is_numbered=False))
        return diffs

    def count_lines(self, first: int, last: int) -> list[LineCounts]:
        """Return the files that these turns have changed, each with its lines before and after them."""
        chains: dict[str, list[FileChange]] = {}
        for change in self._sessions.file_changes.load(self._sessions.session, first, last):
            chains.setdefault(change.path, []).append(change)
        counts: list[LineCounts] = []
        for path, chain in chains.items():
            before = chain[0].before
            after = chain[-1].after
            if before != after and not stat.S_ISDIR(before.mode or after.mode):
                name = relative_name(self.versions.root, path)
                counts.append(LineCounts(name, self._count(before), self._count(after)))
        return counts

    def _count(self, state: FileState) -> int | None:
        if not state.mode:
            return None
        text = self.read(state)
        return 0 if text is None else len(text.text.splitlines())

    def _show(self, file: TurnFile, *, is_numbered: bool = True) -> FileDiff:
        kind = _describe_kind(file)
        changers_note = f" · by {' and '.join(file.changers)}" if file.changers else ""
        undone_note = f" · {TAKEN_BACK}" if file.is_undone else ""
        runs = file.runs
        if file.moved_from is not None:
            runs = (Run(file.moved_from.before, file.after, file.runs[-1].key),)
        rewritten_runs = [run for run in runs if run.before.digest != run.after.digest]
        diffs = [self._diff(file.name, run) for run in rewritten_runs]
        texts = [diff for diff in diffs if diff is not None]
        if not texts or len(texts) < len(diffs):
            return FileDiff(file.name, f"{file.name}: {kind}{changers_note}{undone_note}")
        added = sum(diff.added for diff in texts)
        removed = sum(diff.removed for diff in texts)
        heading = (
            f"{file.name}: {kind} ({format_counts(added, removed)}){changers_note}{undone_note}"
        )
        hunks = [hunk.text for diff in texts for hunk in diff.hunks]
        text = replace_strays(texts[0].head + "".join(hunks)) if hunks else ""
        numbered = self.hunks(file) if is_numbered else []
        if file.is_undone:  # which the heading says of all
            numbered = [replace(hunk, is_undone=False) for hunk in numbered]
        is_needed = len(numbered) > 1 or any(hunk.is_undone for hunk in numbered)
        labels = tuple(hunk.label for hunk in numbered) if is_needed else ()
        return FileDiff(file.name, heading, text, labels)

    def _diff(self, name: str, run: Run) -> Diff | None:
        """Return the diff of a run, None if it is not of texts."""
        texts = self.texts(run)
        if texts is None:
            return None
        before, after = texts
        return unified_diff(name, before.text if run.before.mode else None, after.text)

    def texts(self, run: Run) -> tuple[TextFile, TextFile] | None:
        """Return the texts before and after a run, None if one of them is none, or not stored."""
        before = self.read(run.before)
        after = self.read(run.after, known_encoding(before))
        return None if before is None or after is None else (before, after)

    def read(self, state: FileState, encoding: str = "") -> TextFile | None:
        """Return a file, in the encoding that is known of it. It is empty if it did not exist, None if it is binary or
        not stored."""
        if not state.mode:
            return TextFile("")
        if not stat.S_ISREG(state.mode) or state.digest.startswith(NOT_STORED):
            return None
        data = self.versions.load(state.digest)
        return None if data is None else decode(data, encoding)


def known_encoding(file: TextFile | None) -> str:
    """Return the encoding that a file shows, "" if its characters are in all."""
    return file.encoding if file is not None and not file.text.isascii() else ""


def versions_folder(database: Path) -> Path:
    """Return the folder of file versions beside a database."""
    return Path(f"{database.absolute()}.versions")


def _join_runs(chain: Sequence[FileChange]) -> list[Run]:
    first = chain[0]
    runs = [Run(first.before, first.after, first.key)]
    for earlier, later in pairwise(chain):
        if earlier.after == later.before:
            runs[-1] = Run(runs[-1].before, later.after, later.key)
        else:
            runs.append(Run(later.before, later.after, later.key))
    return [run for run in runs if run.before != run.after] or runs[:1]


def _holds_another(file: TurnFile, paths: Collection[str]) -> bool:
    """Return whether a file is a folder, and another of the paths lies in it."""
    return file.is_folder and any(path.startswith(f"{file.path}/") for path in paths)


def _describe_changer(change: FileChange) -> str:
    """Return who made a change, "" if that is not known."""
    if change.job:
        return f"job {change.job}"
    return f"{change.changed_by}s" if change.changed_by else ""


def _describe_kind(file: TurnFile) -> str:
    old = file.before.mode
    new = file.after.mode
    if file.moved_from is not None:
        return f"renamed from {file.moved_from.name}"
    if not new:
        return "removed"
    if not old:
        return "created"
    if old != new:
        return f"mode {oct(old)[2:]} → {oct(new)[2:]}"
    return "changed"
