"""What the user trusts of a folder: the contents of its files at that time, never their names."""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from swecli.config.paths import Paths
from swecli.config.private_files import write_bytes, write_file
from swecli.config.project_files import read_project_files
from swecli.models.errors import ConfigError

TrustState = Literal["approved", "changed", "new", "untrusted"]

_FORMAT = 1


@dataclass(frozen=True, slots=True)
class ApprovedFile:
    """A file as the user approved it: the SHA-256 of its bytes, and its text for a later comparison."""

    digest: str
    text: str

    @classmethod
    def from_bytes(cls, data: bytes) -> ApprovedFile:
        return cls(hashlib.sha256(data).hexdigest(), data.decode("utf-8", "replace"))


@dataclass(frozen=True, slots=True)
class FolderTrust:
    """What is trusted of one folder.

    Attributes:
        root: The folder, resolved.
        approved: The approved files by their path in the folder, with `/` between its parts.
        since: When the user last approved something, as seconds since 1970; None if the folder is not trusted.
        everything: True for a run with `--trust`: each file is used as it is, and nothing is recorded.
        servers: What the user approved of each MCP server that the folder's file names: the entry and what the server
            says of its tools, as one text.
    """

    root: Path
    approved: Mapping[str, ApprovedFile] = field(default_factory=dict)
    since: float | None = None
    everything: bool = False
    servers: Mapping[str, ApprovedFile] = field(default_factory=dict)

    @property
    def is_trusted(self) -> bool:
        """True if the user trusts the folder, at least for this run."""
        return self.everything or self.since is not None

    def judge(self, path: Path, data: bytes) -> TrustState:
        """Return whether a file's bytes are those that the user approved."""
        if self.everything:
            return "approved"
        if self.since is None:
            return "untrusted"
        approved = self.approved.get(self.name_of(path))
        if approved is None:
            return "new"
        return "approved" if approved.digest == ApprovedFile.from_bytes(data).digest else "changed"

    def objection(self, path: Path, data: bytes) -> str:
        """Return why a file is not used, or "" if the user approved it as it is."""
        match self.judge(path, data):
            case "changed":
                return "it has changed since you trusted it. /trust shows the change"
            case "new":
                return "it is new since you trusted this folder. /trust shows it"
            case "untrusted":
                return "this folder is not trusted. Run /trust to use it"
            case "approved":
                return ""

    def name_of(self, path: Path) -> str:
        """Return the name under which a file of the folder is recorded."""
        return path.relative_to(self.root).as_posix()


@dataclass(frozen=True, slots=True)
class Skill:
    """A skill that can be read: its name, its SKILL.md, and for one of a project what is trusted of its folder."""

    name: str
    file: Path
    trust: FolderTrust | None = None

    def objection(self, data: bytes) -> str:
        """Return why these bytes of its file are not used, or ""."""
        return "" if self.trust is None else self.trust.objection(self.file, data)


class TrustLedger:
    """The trusted folders of a user, one JSON file each, so that two programs never write the same file."""

    def __init__(self, folder: Path, old_list: Path | None = None) -> None:
        """`old_list` is a file of earlier versions that names trusted folders, one a line."""
        self._folder = folder
        self._old_list = old_list

    @classmethod
    def find(cls, paths: Paths) -> TrustLedger:
        """Return the ledger in the program's own directories."""
        return cls(paths.state / "trust", paths.state / "trusted")

    def trust_in(self, root: Path) -> FolderTrust:
        """Return what is trusted of a folder. A damaged record trusts nothing: see `problem_of`."""
        self._adopt_old_list()
        resolved = root.resolve()
        try:
            return self._read(self._file_of(resolved), resolved)
        except ConfigError:
            return FolderTrust(resolved)

    def problem_of(self, root: Path) -> str:
        """Return why a folder's record cannot be used, or ""."""
        resolved = root.resolve()
        try:
            self._read(self._file_of(resolved), resolved)
        except ConfigError as error:
            return str(error)
        return ""

    def approve(self, root: Path, files: Mapping[Path, bytes]) -> FolderTrust:
        """Record these files of a folder as trusted, beside those recorded before. Raises OSError."""
        return self._record(self.trust_in(root), files)

    def approve_server(self, root: Path, name: str, text: str) -> None:
        """Record what the user approved of an MCP server. Raises OSError."""
        previous = self.trust_in(root)
        servers = {**previous.servers, name: ApprovedFile.from_bytes(text.encode("utf-8"))}
        self._write(replace(previous, servers=servers))

    def forget_server(self, root: Path, name: str) -> None:
        """Withdraw the approval of an MCP server, if there is one. Raises OSError."""
        previous = self.trust_in(root)
        if name in previous.servers:
            rest = {other: file for other, file in previous.servers.items() if other != name}
            self._write(replace(previous, servers=rest))

    def remove(self, root: Path) -> bool:
        """Withdraw the trust in a folder. Returns False if it was not trusted. Raises OSError."""
        resolved = root.resolve()
        # what the earlier list still names would be trusted again
        self._forget_listed(resolved)
        file = self._file_of(resolved)
        if not file.exists():
            return False
        file.unlink()
        return True

    def list(self) -> tuple[list[FolderTrust], list[str]]:
        """Return the trusted folders by name, and a line for each record that cannot be read."""
        self._adopt_old_list()
        folders: list[FolderTrust] = []
        problems: list[str] = []
        for file in sorted(self._folder.glob("*.json")):
            try:
                folders.append(self._read(file))
            except ConfigError as error:
                problems.append(str(error))
        return sorted(folders, key=lambda trust: str(trust.root)), problems

    def _record(self, previous: FolderTrust, files: Mapping[Path, bytes]) -> FolderTrust:
        """Record these files of a folder beside those that were approved before. Raises OSError."""
        approved = dict(previous.approved)
        for path, data in files.items():
            approved[previous.name_of(path)] = ApprovedFile.from_bytes(data)
        return self._write(replace(previous, approved=approved, since=time.time()))

    def _write(self, trust: FolderTrust) -> FolderTrust:
        """Replace the record of a folder. Raises OSError."""
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_file(self._file_of(trust.root), _to_json(trust))
        return trust

    def _adopt_old_list(self) -> None:
        """Record the folders that an earlier version trusted by name, with the files they hold now, and then remove
        its list: an interruption loses none of them."""
        listed = self._read_old_list()
        with suppress(OSError):  # a read-only home: nothing is trusted until it can be recorded
            for folder in listed:
                # one that has a record was adopted before an interruption, and may have changed since
                if not self._file_of(folder).exists():
                    self._record(FolderTrust(folder), read_project_files(folder))
            self._write_old_list([])

    def _forget_listed(self, root: Path) -> None:
        """Take a folder out of the earlier version's list. Raises OSError."""
        listed = self._read_old_list()
        if root in listed:
            self._write_old_list([folder for folder in listed if folder != root])

    def _read_old_list(self) -> Sequence[Path]:
        """Return the existing folders of the earlier version's list, resolved."""
        if self._old_list is None or not self._old_list.is_file():
            return []
        # not splitlines: it also splits at characters that a file name may contain
        lines = os.fsdecode(self._old_list.read_bytes()).split("\n")
        return [Path(line).resolve() for line in lines if line.strip() and Path(line).is_dir()]

    def _write_old_list(self, folders: Sequence[Path]) -> None:
        """Replace the earlier version's list; an empty one is removed. Raises OSError."""
        if self._old_list is None or not self._old_list.exists():
            return
        if folders:
            write_bytes(self._old_list, b"\n".join(os.fsencode(folder) for folder in folders))
        else:
            self._old_list.unlink()

    def _file_of(self, root: Path) -> Path:
        name = hashlib.sha256(os.fsencode(root)).hexdigest()[:32]
        return self._folder / f"{name}.json"

    def _read(self, file: Path, expected: Path | None = None) -> FolderTrust:
        """Read a record; a missing one trusts nothing. Raises ConfigError."""
        try:
            text = file.read_text(encoding="utf-8")
        except (FileNotFoundError, NotADirectoryError):
            return FolderTrust(expected or Path())
        except (OSError, UnicodeDecodeError) as error:
            raise _damaged(file) from error
        try:
            trust = _from_json(json.loads(text))
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
            raise _damaged(file) from error
        if expected is not None and trust.root != expected:
            raise _damaged(file)
        return trust


def _damaged(file: Path) -> ConfigError:
    return ConfigError(
        f"The record of trust {file} is damaged or from another program: its folder counts as not trusted.",
        "Remove the file, then run /trust again.",
    )


def _to_json(trust: FolderTrust) -> str:
    """Return the text of a folder's record."""
    value = {
        "format": _FORMAT,
        "folder": os.fsencode(trust.root).decode("utf-8", "surrogateescape"),
        "since": trust.since,
        "files": _files_to_json(trust.approved),
    }
    if trust.servers:
        value["servers"] = _files_to_json(trust.servers)
    return json.dumps(value, indent=1)  # lone surrogates of a file name are escaped


def _files_to_json(files: Mapping[str, ApprovedFile]) -> dict[str, Any]:
    return {name: {"sha256": file.digest, "text": file.text} for name, file in files.items()}


def _from_json(value: Any) -> FolderTrust:
    """Return what a parsed record says. Raises ValueError, TypeError, KeyError or AttributeError."""
    if value["format"] != _FORMAT:
        raise ValueError("another format")
    since = value["since"]
    return FolderTrust(
        Path(value["folder"]),
        _files_from_json(value["files"]),
        None if since is None else float(since),
        servers=_files_from_json(value.get("servers", {})),
    )


def _files_from_json(value: Any) -> dict[str, ApprovedFile]:
    files: dict[str, ApprovedFile] = {}
    for name, entry in value.items():
        file = ApprovedFile(digest=entry["sha256"], text=entry["text"])
        if not isinstance(file.digest, str) or not isinstance(file.text, str):
            raise TypeError("a digest and a text are strings")
        files[name] = file
    return files
