"""Loads instruction files (AGENTS.md): those that every request carries, and those of a folder below when the assistant
begins to work there."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import field
from pathlib import Path

from swecli.config.instruction_files import (
    MAX_DEPTH,
    MAX_IMPORTS,
    InstructionFiles,
    imported_paths,
    resolve_import,
)
from swecli.config.paths import project_root
from swecli.config.project_files import folders_down_to, is_inside
from swecli.config.trust import FolderTrust
from swecli.models.context import Epoch
from swecli.models.session import Session
from swecli.redact import redact
from swecli.regular_files import read_regular
from swecli.text import count_hidden, decode_text
from swecli.values import dataclass

_MAX_INSTRUCTIONS = 32_768  # characters
_MAX_BELOW = _MAX_INSTRUCTIONS // 4  # characters, of one folder's: they come on top of a result
_TAG = re.compile(r"<(?=\s*/?\s*(?:project|user)_file)", re.IGNORECASE)
_TITLE = (
    "## Project instructions\n"
    "Written by the people of this project. Later ones are nearer to the working directory and win where they "
    "disagree; the user's words win over all of them."
)
_USER_TITLE = (
    "## The user's instructions\n"
    "For all projects. Those of a project win where they disagree; the user's words win over all of them."
)


@dataclass(frozen=True, slots=True)
class Instructions:
    """The text for a prompt ("" for none), notices for the user, and the files that are in the text."""

    text: str = ""
    notices: list[str] = field(default_factory=list)
    files: list[Path] = field(default_factory=list)


def load_instructions(
    cwd: Path,
    trust: FolderTrust,
    *,
    home: Path | None = None,
    limit: int = _MAX_INSTRUCTIONS,
) -> Instructions:
    """Read the instruction files for a working directory: those of each folder from the nearest one with a `.git` down
    to `cwd`, or of `cwd` alone, and the user's own below `home` (None: without them). Never raises for a file.

    If the folder is not trusted its files are only named in a notice, and so is each one that has changed since, and
    each that another one hides. `limit` is the total in characters: the nearest files are read first, truncation is
    marked in the text and in a notice."""
    cwd = cwd.resolve()
    root = project_root(cwd)
    reader = _Reader(root, trust, limit)
    parts: list[_Part] = []
    user_files = InstructionFiles(()) if home is None else InstructionFiles.of_user(home)
    if trust.is_trusted:
        for folder in reversed(folders_down_to(cwd, root)):
            files = InstructionFiles.of(folder).without(user_files.all_files)
            parts.insert(0, reader.read_folder(files))
    else:
        folders = folders_down_to(cwd, root)
        present_files = [
            path for folder in folders for path in InstructionFiles.of(folder).all_files
        ]
        untrusted = [path for path in present_files if path not in user_files.all_files]
        if untrusted:
            names = ", ".join(str(path.relative_to(root)) for path in untrusted)
            notice = f"Project instructions ({names}) are not read: this folder is not trusted. Run /trust to use them."
            parts.append(_Part(notices=[notice]))
    if home is not None:
        # links are followed: what a user links in the home folder is the user's own
        home_reader = _Reader(home, None, reader.left)
        parts.insert(0, home_reader.read_folder(user_files))
    return Instructions(
        "\n".join(_titled(parts)),
        [notice for part in parts for notice in part.notices],
        [file for part in parts for file in part.files],
    )


def _titled(parts: Iterable[_Part]) -> list[str]:
    """Return the blocks of parts, the user's and the project's under their titles."""
    lines: list[str] = []
    titles: set[str] = set()
    for part in parts:
        for block in part.blocks:
            if part.title not in titles:
                titles.add(part.title)
                lines.append(part.title)
            lines.append(block)
    return lines


@dataclass(slots=True)
class _Part:
    """What was read of one folder."""

    title: str = _TITLE
    blocks: list[str] = field(default_factory=list)
    notices: list[str] = field(default_factory=list)
    files: list[Path] = field(default_factory=list)


class _Reader:
    """Reads instruction files below a folder. `trust` None: they are the user's own. `left` is how many characters may
    still be read."""

    def __init__(self, root: Path, trust: FolderTrust | None, limit: int) -> None:
        self.left = limit
        self._root = root
        self._trust = trust

    def read_folder(self, files: InstructionFiles) -> _Part:
        """Read the first file with a text, what it imports, and what is beside it."""
        part = _Part(_TITLE if self._trust else _USER_TITLE)
        used_file: Path | None = None
        for file in files.choices:
            if used_file is not None:
                self._name_hidden(part, file, used_file)
            elif self._read(part, file):
                used_file = file
        for file in files.beside:
            self._read(part, file)
        return part

    def _name_hidden(self, part: _Part, file: Path, used_file: Path) -> None:
        """Name a file whose place another one takes, unless that says the same or is all that it imports."""
        try:
            text = decode_text(read_regular(file)).strip()
            same = decode_text(read_regular(used_file)).strip() == text
            imports = [resolve_import(path, file) for path in imported_paths(text)]
        except (OSError, ValueError, RuntimeError):
            return  # it hides nothing, and is hidden
        is_only_import = imports == [used_file.resolve()] and len(text.split()) == 1
        if text and not same and not is_only_import:
            part.notices.append(
                f"{self._name(file)} is not used: {self._name(used_file)} takes its place"
            )

    def _read(self, part: _Part, file: Path) -> bool:
        """Add a file and what it imports to the part. Returns whether it takes the place of those behind it: it has a
        text, or one that the user has not approved."""
        reading = self._read_within(file)
        if reading.notice:
            part.notices.append(f"{self._name(file)}: {reading.notice}")
        if reading.text:
            self._add(part, file, reading.text)
            self._read_imports(part, file, reading.text)
        return bool(reading.text) or reading.is_refused

    def _read_imports(self, part: _Part, file: Path, text: str) -> None:
        pending = [(path, file, MAX_DEPTH) for path in imported_paths(text)]
        looked_at = 0
        while pending:
            path, importing, depth_left = pending.pop(0)
            looked_at += 1
            if looked_at > MAX_IMPORTS:
                notice = f"{self._name(file)}: only the first {MAX_IMPORTS} imports are used"
                part.notices.append(notice)
                return
            try:
                target = resolve_import(path, importing)
                is_there = target.exists()
            except (OSError, ValueError, RuntimeError):
                continue  # no path: the name of a person, say
            problem = self._objection(importing, target, depth_left)
            if not is_there and target.suffix.lower() != ".md":
                continue
            if not is_there:
                problem = "there is no such file"
            if target in part.files or target == importing:
                continue
            name = f"@{path} in {self._name(importing)}"
            if problem:
                part.notices.append(f"{name} is not used: {problem}")
                continue
            imported = self._read_within(target)
            if imported.notice:
                part.notices.append(f"{name}: {imported.notice}")
            if imported.text:
                self._add(part, target, redact(imported.text))
                pending += [
                    (imported_path, target, depth_left - 1)
                    for imported_path in imported_paths(imported.text)
                ]

    def _objection(self, importing: Path, target: Path, depth_left: int) -> str:
        """Return why an import is not followed, or ""."""
        root = self._root if self._trust else importing.parent.resolve()
        if not target.is_relative_to(root):
            return "it leads out of the repository" if self._trust else f"it leads out of {root}"
        return "" if depth_left else f"it is more than {MAX_DEPTH} imports deep"

    def _add(self, part: _Part, file: Path, text: str) -> None:
        self.left -= len(text)
        part.files.append(file)
        kind = "project_file" if self._trust else "user_file"
        part.blocks.append(f'<{kind} path="{self._name(file)}">\n{_TAG.sub("‹", text)}\n</{kind}>')

    def _name(self, file: Path) -> str:
        if not file.is_relative_to(self._root):
            return str(file)
        prefix = "" if self._trust else "~/"
        return f"{prefix}{file.relative_to(self._root)}"

    def _read_within(self, path: Path) -> _Reading:
        """Read a file within the characters that are left."""
        if self._trust and not is_inside(path, self._root):
            return _Reading(notice="not read: it is a link that leads out of the repository")
        try:
            data = read_regular(path)
        except OSError as failure:
            return _Reading(notice=f"not read: {failure.strerror or failure}")
        if b"\0" in data:
            return _Reading(notice="not read: it is not text")
        text = decode_text(data).strip()
        if not text:
            return _Reading()
        if self._trust and (problem := self._trust.objection(path, data)):
            return _Reading(notice=f"not used: {problem}", is_refused=True)
        size = len(data)
        hidden_count = count_hidden(data.decode("utf-8", "replace"))
        left_out = f"{hidden_count:,} invisible characters are left out" if hidden_count else ""
        if len(text) <= self.left:
            return _Reading(text, left_out)
        if self.left <= 0:
            notice = "instructions nearer to the working directory use up the limit"
            return _Reading(notice=f"left out ({size:,} bytes): {notice}")
        notice = f"only the first {self.left:,} characters of {size:,} bytes are used"
        if left_out:
            notice += f", {left_out}"
        return _Reading(f"{text[: self.left].rstrip()}\n[Cut here: the file is longer.]", notice)


@dataclass(frozen=True, slots=True)
class _Reading:
    """A file's `text` ("" for none), what the user is told of it, and whether it has a text that is not approved."""

    text: str = ""
    notice: str = ""
    is_refused: bool = False


class InstructionsBelow:
    """Gives the model the instructions of a folder below the working directory, once, with the first file of it that is
    read or changed. What left the conversation is given again."""

    def __init__(self, cwd: Path, trust: Callable[[], FolderTrust]) -> None:
        self._root = project_root(cwd.resolve())
        self._cwd = cwd.resolve()
        self._trust = trust
        self._given_by_name: dict[str, _GivenFolders] = {}  # by session: a task has its own
        self._reported: set[str] = set()
        self._notices: list[str] = []

    def note(self, paths: Sequence[str], session: Session | None) -> str:
        """Return the text behind the result of a call that read or changed these files, by their paths from the working
        directory; "" for none."""
        parts: list[_Part] = []
        trust: FolderTrust | None = None
        for folder in self._folders_of(paths, session):
            files = InstructionFiles.of(folder)
            if not files.all_files:
                continue
            trust = trust or self._trust()
            parts.append(_Reader(self._root, trust, _MAX_BELOW).read_folder(files))
        for notice in (line for part in parts for line in part.notices):
            if notice not in self._reported:
                self._reported.add(notice)
                self._notices.append(notice)
        blocks = [block for part in parts for block in part.blocks]
        return "\n".join([_TITLE, *blocks]) if blocks else ""

    def take_notices(self) -> list[str]:
        """Return, once, the lines for the user on files that are not used."""
        notices = self._notices
        self._notices = []
        return notices

    def _folders_of(self, paths: Iterable[str], session: Session | None) -> list[Path]:
        """Return the folders of these files that were not looked at, from the root down; those that each request has
        the instructions of are none of them."""
        name = "" if session is None else session.id
        epoch = None if session is None else session.context.epoch
        given_folders = self._given_by_name.get(name)
        if given_folders is None or given_folders.epoch is not epoch:
            given_folders = _GivenFolders(epoch, {*folders_down_to(self._cwd, self._root)})
            self._given_by_name[name] = given_folders
        new: list[Path] = []
        for path in paths:
            for folder in folders_down_to((self._cwd / path).resolve().parent, self._root):
                if folder not in given_folders.folders:
                    given_folders.folders.add(folder)
                    new.append(folder)
        return new


@dataclass(frozen=True, slots=True)
class _GivenFolders:
    """The folders whose instructions a conversation has, as long as its requests begin in the same way."""

    epoch: Epoch | None
    folders: set[Path]
