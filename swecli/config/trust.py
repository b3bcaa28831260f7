"""What the user trusts of a folder: the contents of its files at that time, never their names."""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Mapping
from dataclasses import field, replace
from pathlib import Path
from typing import Any, Literal

from swecli.config.paths import Paths
from swecli.config.private_files import write_file
from swecli.models.errors import ConfigError
from swecli.values import dataclass

TrustState = Literal["approved", "changed", "new", "untrusted"]

_FORMAT = 1


@dataclass(frozen=True, slots=True)
class ApprovedFile:
    """A file as the user approved it: the SHA-256 of its bytes, its text for a later comparison, and when that was, as
    seconds since 1970; None: as long ago as the folder was trusted."""

    digest: str
    text: str
    since: float | None = None

    @classmethod
    def from_bytes(cls, data: bytes, since: float | None = None) -> ApprovedFile:
        return cls(hashlib.sha256(data).hexdigest(), data.decode("utf-8", "replace"), since)


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
        hooks: What the user approved of each hook that files of the folder declare, by the hook's place: when it runs,
            its command, and the scripts that it names, as one text.
        plugins: What the user approved of each plug-in whose copy lies in the folder: where it comes from, what its
            programs may, and the digests of its files, as one text.
    """

    root: Path
    approved: Mapping[str, ApprovedFile] = field(default_factory=dict)
    since: float | None = None
    everything: bool = False
    servers: Mapping[str, ApprovedFile] = field(default_factory=dict)
    hooks: Mapping[str, ApprovedFile] = field(default_factory=dict)
    plugins: Mapping[str, ApprovedFile] = field(default_factory=dict)

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
    """A skill that can be read: its name, its SKILL.md, for one of a project what is trusted of its folder, and for one
    of a plug-in the values of variables in its text."""

    name: str
    file: Path
    trust: FolderTrust | None = None
    variables: Mapping[str, str] = field(default_factory=dict)

    def objection(self, data: bytes) -> str:
        """Return why these bytes of its file are not used, or ""."""
        return "" if self.trust is None else self.trust.objection(self.file, data)


class TrustLedger:
    """The trusted folders of a user, one JSON file each, so that two programs never write the same file."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @classmethod
    def find(cls, paths: Paths) -> TrustLedger:
        """Return the ledger in the program's own directories."""
        return cls(paths.state / "trust")

    def trust_in(self, root: Path) -> FolderTrust:
        """Return what is trusted of a folder. A damaged record trusts nothing: see `problem_of`."""
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

    def approve_hooks(self, root: Path, texts: Mapping[str, str]) -> None:
        """Record what the user approved of hooks, by their names. Raises OSError."""
        previous = self.trust_in(root)
        now = time.time()
        hooks = dict(previous.hooks)
        for name, text in texts.items():
            file = ApprovedFile.from_bytes(text.encode("utf-8"), now)
            if name not in hooks or hooks[name].digest != file.digest:
                hooks[name] = file
        self._write(replace(previous, hooks=hooks))

    def forget_hooks(self, root: Path) -> int:
        """Withdraw the approval of all hooks of a folder. Returns how many there were. Raises OSError."""
        previous = self.trust_in(root)
        if previous.hooks:
            self._write(replace(previous, hooks={}))
        return len(previous.hooks)

    def approve_plugin(self, root: Path, name: str, text: str) -> None:
        """Record what the user approved of a plug-in. Raises OSError."""
        previous = self.trust_in(root)
        approved = ApprovedFile.from_bytes(text.encode("utf-8"), time.time())
        self._write(replace(previous, plugins={**previous.plugins, name: approved}))

    def forget_plugin(self, root: Path, name: str) -> None:
        """Withdraw the approval of a plug-in. Raises OSError."""
        previous = self.trust_in(root)
        rest = {other: file for other, file in previous.plugins.items() if other != name}
        self._write(replace(previous, plugins=rest))

    def remove(self, root: Path) -> bool:
        """Withdraw the trust in a folder. Returns False if it was not trusted. Raises OSError."""
        file = self._file_of(root.resolve())
        if not file.exists():
            return False
        file.unlink()
        return True

    def list(self) -> tuple[list[FolderTrust], list[str]]:
        """Return the trusted folders by name, and a line for each record that cannot be read."""
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
    if trust.hooks:
        value["hooks"] = _files_to_json(trust.hooks)
    if trust.plugins:
        value["plugins"] = _files_to_json(trust.plugins)
    return json.dumps(value, indent=1)  # lone surrogates of a file name are escaped


def _files_to_json(files: Mapping[str, ApprovedFile]) -> dict[str, Any]:
    return {name: _file_to_json(file) for name, file in files.items()}


def _file_to_json(file: ApprovedFile) -> dict[str, Any]:
    value: dict[str, Any] = {"sha256": file.digest, "text": file.text}
    return value if file.since is None else {**value, "since": file.since}


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
        hooks=_files_from_json(value.get("hooks", {})),
        plugins=_files_from_json(value.get("plugins", {})),
    )


def _files_from_json(value: Any) -> dict[str, ApprovedFile]:
    files: dict[str, ApprovedFile] = {}
    for name, entry in value.items():
        since = entry.get("since")
        file = ApprovedFile(entry["sha256"], entry["text"], None if since is None else float(since))
        if not isinstance(file.digest, str) or not isinstance(file.text, str):
            raise TypeError("a digest and a text are strings")
        files[name] = file
    return files
