"""Which files of a workspace commands do not see, and which they cannot change."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from swecli.regular_files import read_regular
from swecli.tools.base import ToolError
from swecli.tools.own_programs import own_folders
from swecli.tools.protected_folders import find_protected_folders, linked_places
from swecli.tools.sandbox import GuardedFiles, Profile, repository_folders
from swecli.tools.searching import DEFAULT_IGNORES, list_tree, own_ignore_files
from swecli.tools.sensitive import (
    is_installed,
    is_sensitive,
    protected_part,
    protected_patterns,
    sensitive_patterns,
)

_MAX_HIDDEN = 2_000  # each is a mount of its own, which takes bubblewrap some 20 µs

# Of what is installed, some has the name of a secret and is none: program text like botocore/credentials.py, and the
# certificates of authorities, without which no library opens a connection.
_PROGRAM_TEXT = (".py", ".pyi", ".pyc", ".js", ".cjs", ".mjs", ".ts", ".cts", ".mts", ".map")
_CERTIFICATES = ".pem"
_MAX_CERTIFICATES = 2_000_000  # bytes
_OF_PRIVATE_KEYS = b"PRIVATE KEY"  # in the first line of each (RFC 7468)

# What in a repository's `.git` names programs for git to start, or says where else such settings lie; and in the folder
# that a linked work tree has there.
_REDIRECTION = "commondir"
_OF_REPOSITORY = ("config", "config.worktree", _REDIRECTION, "modules", "worktrees")
_OF_WORK_TREE = ("gitdir", _REDIRECTION, "config.worktree")


def find_guarded_files(root: Path, env: Mapping[str, str], profile: Profile) -> GuardedFiles:
    """Return the files that are hidden (they may hold secrets, or an ignore file of the assistant names them) and those
    that are protected (what is written there starts programs), where anything can be written. Takes as long as listing
    the folder. Raises ToolError."""
    every = list_tree(root, env)
    hidden = tuple(f"{root}/{name}" for name in sorted(_find_hidden(root, env, every)))
    if profile == "read-only":
        return GuardedFiles(hidden)
    found = find_protected_folders(root)
    paths = [*found.folders, *_find_protected_files(root, env, every)]
    repositories = {path for path in paths if path.endswith("/.git")}
    protected = set(paths) - repositories
    protected.update(linked_places(root, found.links))
    protected.update(map(str, own_folders(root)))
    for folder in {*repository_folders(root), *repositories}:
        protected.update(_programs_of_git(Path(folder)))
    return GuardedFiles(hidden, tuple(sorted(protected)), found.links)


def _find_hidden(root: Path, env: Mapping[str, str], every: set[str]) -> set[str]:
    """Return the files that may hold secrets, also among what is installed, and those of `every` that an ignore file of
    the assistant names."""
    # ripgrep compares patterns with names much faster, and finds the few that are left for the exact look
    candidates = list_tree(root, env, ignore_files=(), only=sensitive_patterns())
    secrets = {name for name in candidates if _is_secret(root, name)}
    listed = secrets & every
    if own := own_ignore_files(root):
        listed |= every - list_tree(root, env, ignore_files=(DEFAULT_IGNORES, *own))
    if len(listed) > _MAX_HIDDEN:
        listed = _whole_folders(listed, every)
    hidden = listed | (secrets - every)
    if len(hidden) > _MAX_HIDDEN:
        raise ToolError(
            f"More than {_MAX_HIDDEN:,} files here are to be hidden from commands. Let an ignore file name folders."
        )
    return hidden


def _is_secret(root: Path, name: str) -> bool:
    if not is_sensitive(name):
        return False
    if not is_installed(name):
        return True
    if name.endswith(_CERTIFICATES):
        return not _holds_only_certificates(root / name)
    return not name.endswith(_PROGRAM_TEXT)


def _holds_only_certificates(path: Path) -> bool:
    try:
        return _OF_PRIVATE_KEYS not in read_regular(path, _MAX_CERTIFICATES)
    except OSError:  # a pipe, or a longer one
        return False


def _find_protected_files(root: Path, env: Mapping[str, str], every: set[str]) -> list[str]:
    candidates = every - list_tree(root, env, excluding=protected_patterns())
    parts = {part for name in candidates if (part := protected_part(name))}
    return [f"{root}/{part}" for part in parts]


def remove_redirections(root: Path, before: GuardedFiles) -> list[str]:
    """Remove the file by which git takes a repository's settings from another folder, if a command has created it: no
    mount prevents that, and nobody creates it by hand. Returns what was removed."""
    found = []
    for folder in repository_folders(root):
        path = Path(folder, _REDIRECTION)
        if os.path.lexists(path) and str(path) not in before.protected:
            path.unlink()
            found.append(str(path))
    return found


def _whole_folders(hidden: set[str], every: set[str]) -> set[str]:
    """Return the folders that hold nothing but hidden files, instead of these."""
    visible = {folder for name in every - hidden for folder in _parents(name)}
    found = set()
    for name in hidden:
        outermost = next((one for one in _parents(name) if one not in visible), name)
        found.add(outermost)
    return found


def _parents(name: str) -> list[str]:
    """Return the folders of a relative path, the outermost first."""
    parts = name.split("/")[:-1]
    return ["/".join(parts[: count + 1]) for count in range(len(parts))]


def _programs_of_git(folder: Path) -> list[str]:
    """Return what exists of a repository's protected files, and its folder of hooks in any case. A linked work tree has
    a file in place of `.git`."""
    if folder.is_file():
        return [str(folder)]
    if (folder / "gitdir").exists():
        return [f"{folder}/{name}" for name in _OF_WORK_TREE if os.path.lexists(folder / name)]
    names = [name for name in _OF_REPOSITORY if os.path.lexists(folder / name)]
    return [f"{folder}/{name}" for name in ("hooks", *names)]
