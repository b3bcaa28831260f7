"""Says of each path whether it may be read and changed. Whoever opens files for the model, or lets a command open them,
asks here and nowhere else."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from enum import IntEnum
from pathlib import Path
from typing import NamedTuple, Protocol

from swecli.file_names import write_name
from swecli.models.added_folder import AddedFolder, innermost, relative_to
from swecli.regular_files import read_regular
from swecli.tools.ignored import has_ignore_file, when_ignored
from swecli.tools.limits import one_line
from swecli.tools.path_rules import PathRule, RuleList
from swecli.tools.paths import given_name, relative_path, resolve_for_reading
from swecli.tools.protected_folders import OF_ENVIRONMENTS, PROGRAMS_OF_ENVIRONMENTS
from swecli.tools.sensitive import is_in_secret_folder, is_installed, is_protected, is_sensitive
from swecli.values import dataclass

_ORDER: tuple[RuleList, ...] = ("deny", "approved", "ask", "allow")

# Of what is installed, some has the name of a secret and is none: program text like botocore/credentials.py, and the
# certificates of authorities, without which no library opens a connection.
_PROGRAM_TEXT = (".py", ".pyi", ".pyc", ".js", ".cjs", ".mjs", ".ts", ".cts", ".mts", ".map")
_CERTIFICATES = ".pem"
_MAX_CERTIFICATES = 2_000_000  # bytes
_OF_PRIVATE_KEYS = b"PRIVATE KEY"  # in the first line of each (RFC 7468)


class Reading(IntEnum):
    """Whether a path may be read; the greater, the stricter."""

    FREE = 0
    ASK = 1  # every mode asks the user first
    HIDDEN = 2  # never, whatever the user answers


class Writing(IntEnum):
    """Whether a path may be changed, removed or made; the greater, the stricter."""

    FREE = 0  # the mode decides
    ASK = 1  # every mode asks the user first
    NEVER = 2  # never, whatever the user answers


@dataclass(frozen=True, slots=True)
class Access:
    """What may be done with a path, and why not everything; a reason is "" where the answer is FREE."""

    read: Reading
    write: Writing
    read_reason: str
    write_reason: str
    is_for_place: bool = False  # the user is asked before reading only because it is outside

    @property
    def read_guard(self) -> str:
        """Why every mode asks before the path is read, "" if none does."""
        return self.read_reason if self.read is Reading.ASK else ""

    @property
    def read_denial(self) -> str:
        """Why the path is never read, "" if it may be."""
        return self.read_reason if self.read is Reading.HIDDEN else ""

    @property
    def write_guard(self) -> str:
        """Why every mode asks before the path is changed, "" if none does."""
        return self.write_reason if self.write is Writing.ASK else ""

    @property
    def write_denial(self) -> str:
        """Why the path is never changed, "" if it may be."""
        return self.write_reason if self.write is Writing.NEVER else ""

    def stricter(self, other: Access) -> Access:
        """Return the stricter answer of both, for reading and for changes."""
        reading = max(self, other, key=lambda access: access.read)
        writing = max(self, other, key=lambda access: access.write)
        reasons = reading.read_reason, writing.write_reason
        return Access(reading.read, writing.write, *reasons, reading.is_for_place)


class _Answer(NamedTuple):
    """What one source says of reading or of changing a path: 0 that it is free, 1 ask, 2 never."""

    level: int
    reason: str = ""
    is_for_place: bool = False


_FREE = _Answer(0)


class _Source(Protocol):
    def __call__(self, path: str, *, changes: bool) -> _Answer | None:
        """Return what the source says of a path; None if that is nothing, so that the next one is asked."""


class Guard:
    """The rules of the user, and what is known of the names and places of files, for a workspace. `place` is the
    absolute path of a folder outside the workspace that is searched like one, with a slash at its end, else "".
    `allowed` are the paths that the user has allowed for one call, and all below them. `folders` are those that the
    user has added to the workspace: inside them its border is open, and all else that is asked about holds as in it."""

    def __init__(
        self,
        root: Path,
        rules: Sequence[PathRule] = (),
        *,
        place: str = "",
        allowed: frozenset[str] = frozenset(),
        folders: tuple[AddedFolder, ...] = (),
    ) -> None:
        self.root = root
        self.rules = rules
        self.folders = folders
        self._place = place
        self._allowed = allowed
        self._is_added = False  # the place is a folder that the user has added
        # the first that says something counts, for reading and for changes
        self._sources: tuple[_Source, ...] = (
            self._ask_read_only,
            self._ask_rules,
            self._ask_secrets,
            self._ask_ignored,
            self._ask_protected,
            self._ask_border,
        )

    def for_folder(self, folder: Path) -> Guard:
        """Return the guard of a folder outside the workspace in which the user lets us look."""
        return Guard(folder, self.rules, place=f"{folder.as_posix().rstrip('/')}/")

    def for_added(self, folder: AddedFolder) -> Guard:
        """Return the guard of an added folder, for paths relative to it."""
        allowed = {relative_to(folder, path) for path in self._allowed if folder.holds(path)}
        inner = self.for_folder(Path(folder.path)).allowing(allowed)
        inner._is_added = True
        return inner

    def added(self, path: Path) -> AddedFolder | None:
        """Return the added folder that a path without links lies in; None for one of the workspace, or outside."""
        return innermost(self.folders, str(path)) if self.folders else None

    def allowing(self, paths: Iterable[str]) -> Guard:
        """Return the guard of a call for which the user has just allowed these real paths. What a rule denies stays
        denied."""
        allowed = self._allowed.union(paths)
        guard = Guard(
            self.root, self.rules, place=self._place, allowed=allowed, folders=self.folders
        )
        guard._is_added = self._is_added
        return guard

    def entering(self, folder: str) -> Guard:
        """Return the guard for the files of a folder that the user lets us look into: if he was asked, that was for all
        of it but secrets, and what a rule denies."""
        needs_approval = self.judge(folder).read is Reading.ASK
        return self.allowing([folder]) if needs_approval else self

    def without_border(self) -> Guard:
        """Return the guard of a command, whose border is that of the sandbox."""
        guard = self.allowing(())
        guard._sources = guard._sources[:-1]
        return guard

    def only_rules(self) -> Guard:
        """Return a guard that knows nothing but the rules of the user."""
        guard = self.allowing(())
        guard._sources = (guard._ask_rules,)
        return guard

    @property
    def bars_paths(self) -> bool:
        """Whether a deny or ask rule is about paths."""
        return any(rule.list in ("deny", "ask") for rule in self.rules)

    def bars(self, path: str) -> bool:
        """Return whether a real path is not free to be both read and changed."""
        access = self.judge(path)
        return access.read is not Reading.FREE or access.write is not Writing.FREE

    @property
    def hides_paths(self) -> bool:
        """Whether a rule or an ignore file bars any path from being read."""
        is_barring = (
            rule.list in ("deny", "ask") and not rule.is_about_changes for rule in self.rules
        )
        roots = (self.root, *(Path(folder.path) for folder in self.folders))
        return any(is_barring) or any(has_ignore_file(root) for root in roots)

    def access(self, path: str) -> Access:
        """Return the answer for a path as it is written, relative to the workspace or absolute. It need not exist.
        Links are followed part by part; where it passes through one, its own name counts too. Raises ToolError if it is
        not a path."""
        path = given_name(self.root, path)
        real = relative_path(self.root, resolve_for_reading(self.root, path))
        answer = self.judge(real)
        lexical_path = os.path.relpath(os.path.join(self.root, path), self.root)  # noqa: PTH118  not followed
        if lexical_path == real or lexical_path.startswith(".."):
            return answer
        return answer.stricter(self.judge(lexical_path))

    def may_read(self, path: str) -> bool:
        """Return whether a real path may be read without a question: what `judge` says, but faster."""
        return self._first_answer(path, changes=False).level == Reading.FREE

    def judge(self, path: str) -> Access:
        """Return the answer for a real path, as `relative_path` writes it."""
        read = self._first_answer(path, changes=False)
        write = self._first_answer(path, changes=True)
        levels = Reading(read.level), Writing(write.level)
        return Access(*levels, read.reason, write.reason, read.is_for_place)

    def _first_answer(self, path: str, *, changes: bool) -> _Answer:
        for source in self._sources:
            answer = source(path, changes=changes)
            if answer is not None:
                return answer
        return _FREE

    def _ask_read_only(self, path: str, *, changes: bool) -> _Answer | None:
        """Ask whether the folder was added to be read only: then no answer or rule lets a file in it be changed."""
        folder = innermost(self.folders, path) if changes and path.startswith("/") else None
        if folder is None or folder.may_change:
            return None
        return _Answer(2, f"{write_name(path)} is in a folder that was added read-only")

    def _ask_rules(self, path: str, *, changes: bool) -> _Answer | None:
        """Ask the rules of the user, and what he has just allowed. Who may not read a file is asked about a change."""
        if not self.rules and not self._allowed:
            return None
        if changes:
            answer_on_change = self._ask_rules_about(path, changes=True)
            if answer_on_change is not None:
                return answer_on_change
        answer = self._ask_rules_about(path, changes=False)
        if changes and answer is not None:
            return None if answer == _FREE else _Answer(1, answer.reason)
        return answer

    def _ask_rules_about(self, path: str, *, changes: bool) -> _Answer | None:
        rules = [rule for rule in self.rules if rule.is_about_changes == changes]
        absolute = path if path.startswith("/") else f"{self._place or f'{self.root}/'}{path}"
        own_name = f"{self._place}{path}"
        barred_names = self._names_for_bars(path, own_name)
        for part in _ORDER:
            if part == "approved" and self._is_allowed(path):
                return _FREE
            if part == "ask" and self._is_below_allowed(path):
                return None
            names = barred_names if part in ("deny", "ask") else (own_name,)
            for rule in rules:
                if rule.list == part and any(rule.names(name, absolute) for name in names):
                    return _describe(rule, own_name)
        return None

    def _names_for_bars(self, path: str, own_name: str) -> tuple[str, ...]:
        """Return the names by which rules bar a path: what a rule bars in the workspace it bars in an added folder."""
        if self._is_added:
            return own_name, path
        folder = innermost(self.folders, path) if path.startswith("/") else None
        return (own_name,) if folder is None else (own_name, relative_to(folder, path))

    def _folder_and_name(self, path: str) -> tuple[Path, str] | None:
        """Return the folder that a path counts in, the workspace or an added one, and the path relative to it; None if
        it is outside of all."""
        if not path.startswith("/"):
            return self.root, path
        folder = innermost(self.folders, path)
        return None if folder is None else (Path(folder.path), relative_to(folder, path))

    def _is_allowed(self, path: str) -> bool:
        return path in self._allowed

    def _is_below_allowed(self, path: str) -> bool:
        return any(path.startswith(f"{folder}/") or folder == "." for folder in self._allowed)

    def _ask_secrets(self, path: str, *, changes: bool) -> _Answer | None:
        del changes
        name = f"{self._place}{path}"
        if not self._is_secret(path, name):
            return None
        return _Answer(1, f"{write_name(name)} may contain secrets")

    def _is_secret(self, path: str, name: str) -> bool:
        if not is_sensitive(name):
            return False
        if is_installed(name):
            if name.endswith(_CERTIFICATES):
                return not _holds_only_certificates(self.root / path)
            return not name.endswith(_PROGRAM_TEXT)
        # the files of a folder are looked at one by one: it may have the name of a secret file
        return is_in_secret_folder(name) or not (self.root / path).is_dir()

    def _ask_ignored(self, path: str, *, changes: bool) -> _Answer | None:
        del changes
        place = self._folder_and_name(path)
        if place is None or self._is_below_allowed(path):
            return None
        reason = when_ignored(*place)
        return _Answer(1, reason) if reason else None

    def _ask_protected(self, path: str, *, changes: bool) -> _Answer | None:
        if not changes:
            return None
        # late: a turn may change nothing
        from swecli.tools.own_programs import own_folders

        name = write_name(path)
        root, inner = self._folder_and_name(path) or (self.root, path)
        if is_protected(inner) or _is_of_environment(root, inner):
            return _Answer(
                1,
                f"{name} can steer the assistant or start programs: changes are always asked about",
            )
        real = root.resolve() / inner
        if any(real.is_relative_to(folder) for folder in own_folders(root)):
            return _Answer(1, f"{name} is protected: swecli runs from there")
        return None

    def _ask_border(self, path: str, *, changes: bool) -> _Answer | None:
        if not path.startswith("/"):
            return None
        if not changes and any(rule.opens_place(path) for rule in self.rules):
            return _FREE
        name = write_name(path)
        if innermost(self.folders, path) is not None:  # its border is open
            return _FREE
        return _Answer(2 if changes else 1, f"{name} is outside the workspace", is_for_place=True)


def _is_of_environment(root: Path, path: str) -> bool:
    """Return whether a path lies in the environment of an interpreter, whatever that is named."""
    for folder in (Path(path), *Path(path).parents):
        if any(os.path.lexists(root / folder / name) for name in OF_ENVIRONMENTS):
            return folder != Path() or path.split("/")[0] in PROGRAMS_OF_ENVIRONMENTS
    return False


def _describe(rule: PathRule, path: str) -> _Answer:
    """Return what a rule says of a path that it names."""
    name = write_name(path)
    doing = "changing" if rule.is_about_changes else "reading"
    if rule.list == "deny":
        return _Answer(2, f"the rule {one_line(rule.text)} forbids {doing} {name}")
    if rule.list == "ask":
        return _Answer(1, f"the rule {one_line(rule.text)} asks before {doing} {name}")
    return _FREE


def _holds_only_certificates(path: Path) -> bool:
    try:
        return _OF_PRIVATE_KEYS not in read_regular(path, _MAX_CERTIFICATES)
    except OSError:  # a pipe, or a longer one
        return False
