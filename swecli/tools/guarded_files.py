"""Which files of a workspace commands do not see, and which they cannot change."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from swecli.tools.base import ToolError
from swecli.tools.sandbox import GuardedFiles, Profile, repository_folders
from swecli.tools.searching import list_tree, own_ignore_files
from swecli.tools.sensitive import is_sensitive, protected_part, protected_patterns

_MAX_HIDDEN = 2_000  # each is a mount of its own, which takes bubblewrap some 20 µs

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
    hidden = {name for name in every if is_sensitive(name)}
    if own := own_ignore_files(root):
        hidden |= every - list_tree(root, env, ignore_files=own)
    if len(hidden) > _MAX_HIDDEN:
        hidden = _whole_folders(hidden, every)
    return GuardedFiles(
        hidden=tuple(f"{root}/{name}" for name in sorted(hidden)),
        protected=() if profile == "read-only" else _find_protected(root, env, every),
    )


def _find_protected(root: Path, env: Mapping[str, str], every: set[str]) -> tuple[str, ...]:
    # ripgrep compares patterns with names much faster, and finds the few that are left for the exact look
    candidates = every - list_tree(root, env, excluding=protected_patterns())
    parts = {part for name in candidates if (part := protected_part(name))}
    repositories = {part for part in parts if part.rpartition("/")[2] == ".git"}
    protected = [f"{root}/{part}" for part in parts - repositories]
    folders = [*repository_folders(root), *(f"{root}/{part}" for part in repositories)]
    for folder in dict.fromkeys(folders):
        protected += _programs_of_git(Path(folder))
    return tuple(sorted(protected))


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
    """Return the folders that hold nothing but hidden files, instead of these. Raises ToolError if that is still too
    much."""
    visible = {folder for name in every - hidden for folder in _parents(name)}
    found = set()
    for name in hidden:
        outermost = next((one for one in _parents(name) if one not in visible), name)
        found.add(outermost)
    if len(found) > _MAX_HIDDEN:
        raise ToolError(
            f"More than {_MAX_HIDDEN:,} files here are to be hidden from commands. Let an ignore file name folders."
        )
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
