"""Which files of a workspace commands do not see, and which they cannot change."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path

from swecli.models.added_folder import AddedFolder
from swecli.models.errors import ToolError
from swecli.tools.guard import Guard, Reading, Writing
from swecli.tools.own_programs import own_folders
from swecli.tools.path_rules import fixed_places
from swecli.tools.paths import is_inside
from swecli.tools.protected_folders import find_protected_names, linked_places
from swecli.tools.sandbox import GuardedFiles, GuardedFolder, Profile, repository_folders
from swecli.tools.searching import DEFAULT_IGNORES, list_tree, own_ignore_files
from swecli.tools.sensitive import protected_part, sensitive_patterns

_NO_NAME = "\N{REPLACEMENT CHARACTER}"  # of a file that no pattern is about, so that only one for all names it
_MAX_HIDDEN = 2_000  # each is a mount of its own, which takes bubblewrap some 20 µs

# What in a repository's `.git` names programs for git to start, or says where else such settings lie; and in the folder
# that a linked work tree has there.
_REDIRECTION = "commondir"
OF_REPOSITORY = ("hooks", "config", "config.worktree", _REDIRECTION, "modules", "worktrees")
_OF_WORK_TREE = ("gitdir", _REDIRECTION, "config.worktree")


def find_guarded_files(guard: Guard, env: Mapping[str, str], profile: Profile) -> GuardedFiles:
    """Return the files that are hidden (the guard does not leave them free to be read) and those that are protected (it
    asks before they are changed, or a rule does), where anything can be written. Takes as long as listing the folder.
    Raises ToolError."""
    root = guard.root.resolve()

    @cache
    def every() -> set[str]:
        """Return the files that no list leaves out. Not each command needs them."""
        return list_tree(root, env)

    by_rules = _named_by_rules(guard, env)
    hidden_paths = [*_find_hidden(guard, env, every, by_rules), *_hidden_outside(guard)]
    opened = tuple(_shown_outside(guard))
    added = tuple(_look_into(guard, folder, env, profile) for folder in guard.folders)
    if profile == "read-only":
        return GuardedFiles(tuple(hidden_paths), opened=opened, added=added)
    protected = _protected(guard, by_rules)
    return replace(protected, hidden=tuple(hidden_paths), opened=opened, added=added)


def _look_into(
    guard: Guard, folder: AddedFolder, env: Mapping[str, str], profile: Profile
) -> GuardedFolder:
    """Return the guarded files of a folder that was added to the workspace. Of its repository only what lies in it is
    seen. Raises ToolError."""
    inner = guard.for_added(folder)
    by_rules = _named_by_rules(inner, env)
    every = list_tree(inner.root, env)
    hidden_paths = tuple(_find_hidden(inner, env, lambda: every, by_rules))
    if profile == "read-only" or not folder.may_change:
        return GuardedFolder(folder, GuardedFiles(hidden_paths))
    all_protected = _protected(inner, by_rules)
    files = GuardedFiles(
        hidden_paths,
        protected=tuple(filter(folder.holds, all_protected.protected)),
        links=tuple(link for link in all_protected.links if folder.holds(link[0])),
        repositories=tuple(filter(folder.holds, all_protected.repositories)),
    )
    return GuardedFolder(folder, files)


def find_protected_files(guard: Guard, env: Mapping[str, str]) -> GuardedFiles:
    """Return only what is protected, of a workspace or an added folder. Raises ToolError."""
    return _protected(guard, _named_by_rules(guard, env))


def _protected(guard: Guard, by_rules: set[str]) -> GuardedFiles:
    root = guard.root.resolve()
    names = find_protected_names(root)
    paths = [*names.folders, *_judge_protected(guard, {*names.judged_names, *by_rules})]
    repositories = {path for path in paths if path.endswith("/.git")}
    protected = set(paths) - repositories
    protected.update(linked_places(root, names.links))
    protected.update(map(str, own_folders(root)))
    repositories.update(repository_folders(root))
    repositories.update(names.repositories)
    for folder in repositories:
        protected.update(_programs_of_git(Path(folder)))
    return GuardedFiles(
        protected=tuple(sorted(protected)),
        links=names.links,
        repositories=tuple(sorted(repositories)),
    )


def _named_by_rules(guard: Guard, env: Mapping[str, str]) -> set[str]:
    """Return the files that deny and ask rules name, and of each folder with all that is or may come to be in it a file
    without a name of its own."""
    barred = guard.only_rules()
    if not barred.bars_paths:
        return set()
    names = list_tree(guard.root, env, ignore_files=())
    barred_names = {name for name in names if barred.bars(name)}
    free = {folder for name in names - barred_names for folder in (".", *_parents(name))}
    folders = {folder for name in barred_names for folder in (".", *_parents(name))} - free
    inside = (os.path.normpath(f"{folder}/{_NO_NAME}") for folder in folders)
    return barred_names | {
        path for path in inside if barred.bars(path) and barred.bars(f"{path}/{_NO_NAME}")
    }


def _outermost(names: Iterable[str]) -> set[str]:
    """Return the names, a folder for a file without a name in it, and nothing that lies in another one."""
    places = {os.path.dirname(name) or "." if name.endswith(_NO_NAME) else name for name in names}  # noqa: PTH120
    return {name for name in places if name == "." or places.isdisjoint((".", *_parents(name)))}


def _hidden_outside(guard: Guard) -> list[str]:
    """Return the places outside the workspace that rules hide as a whole."""
    barred = guard.only_rules()
    return [
        path
        for path in fixed_places(guard.rules)
        if not is_inside(guard.root, Path(path))
        and not guard.root.is_relative_to(path)
        and barred.judge(path).read is not Reading.FREE
    ]


def _shown_outside(guard: Guard) -> list[str]:
    """Return the places outside the workspace that rules let everybody read, as a whole."""
    opening = [rule for rule in guard.rules if rule.list == "allow" and not rule.is_about_changes]
    return [path for path in fixed_places(opening) if not guard.root.is_relative_to(path)]


def _find_hidden(
    guard: Guard, env: Mapping[str, str], every: Callable[[], set[str]], by_rules: set[str]
) -> list[str]:
    """Return the files that may hold secrets, also among what is installed, those of all others that an ignore file of
    the assistant names, and what rules name, as far as the guard does not leave it free."""
    root = guard.root
    # ripgrep compares patterns with names much faster, and finds the few that are left for the exact look
    candidates = list_tree(root, env, ignore_files=(), only=sensitive_patterns())
    candidates |= by_rules
    if ignore_files := own_ignore_files(root):
        candidates |= every() - list_tree(root, env, ignore_files=(DEFAULT_IGNORES, *ignore_files))
    barred = {name for name in candidates if guard.judge(name).read is not Reading.FREE}
    # where the command begins it has to be able to look; all that is in it is hidden
    hidden_paths = _outermost(barred - {_NO_NAME})
    if len(hidden_paths) > _MAX_HIDDEN:
        listed = _whole_folders(hidden_paths & every(), every())
        hidden_paths = listed | (hidden_paths - every())
    if len(hidden_paths) > _MAX_HIDDEN:
        raise ToolError(
            f"More than {_MAX_HIDDEN:,} files here are to be hidden from commands. Let an ignore file name folders."
        )
    return [f"{root}/{name}" for name in sorted(hidden_paths)]


def _judge_protected(guard: Guard, names: set[str]) -> list[str]:
    """Return the outermost of the places that may not be changed without a question."""
    parts = {part for name in names if (part := protected_part(name))}
    protected_names = {
        name for name in parts | names if guard.judge(name).write is not Writing.FREE
    }
    real_root = guard.root.resolve()
    return [str(real_root / name) for name in _outermost(protected_names)]


def _whole_folders(hidden_paths: set[str], every: set[str]) -> set[str]:
    """Return the folders that hold nothing but hidden files, instead of these."""
    visible = {folder for name in every - hidden_paths for folder in _parents(name)}
    folders = set()
    for name in hidden_paths:
        outermost = next((folder for folder in _parents(name) if folder not in visible), name)
        folders.add(outermost)
    return folders


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
    hooks, *others = OF_REPOSITORY
    names = [name for name in others if os.path.lexists(folder / name)]
    return [f"{folder}/{name}" for name in (hooks, *names)]
