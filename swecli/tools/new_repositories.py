"""Whether a repository that a command made starts a program when git is used in it."""

from __future__ import annotations

import re
from pathlib import Path

from swecli.regular_files import read_regular
from swecli.tools.protected_folders import OF_REPOSITORIES

# What `git init`, `git clone`, `git remote` and `git switch` write, and the author; none of it names a program.
_SETTINGS = {
    "core": frozenset(
        {
            "repositoryformatversion",
            "filemode",
            "bare",
            "logallrefupdates",
            "ignorecase",
            "precomposeunicode",
            "symlinks",
        }
    ),
    "extensions": frozenset({"objectformat", "refstorage"}),
    "remote": frozenset({"url", "fetch"}),
    "branch": frozenset({"remote", "merge"}),
    "user": frozenset({"name", "email"}),
}
# Where more settings lie, of this or another repository.
_FURTHER_PATHS = ("config.worktree", "commondir", "gitdir", "modules", "worktrees")
_SECTION = re.compile(r'\[(\w+)(?: "[^"\\]*")?\]')
_SETTING = re.compile(r"\s*(\w+) = [^\\]*")  # a backslash would join it to the next line


def starts_nothing(folder: Path) -> bool:
    """Return whether git starts no program because of what lies in the folder of a repository, its `.git` or any other:
    no hook but samples, no setting but plain ones, and no way to others. What cannot be read, a file or link in place
    of the folder, and what is none, may start one."""
    try:
        is_repository = folder.name == ".git" or all(
            (folder / name).exists() for name in OF_REPOSITORIES
        )
        if not is_repository or folder.is_symlink() or not folder.is_dir():
            return False
        if any(folder.joinpath(name).exists() for name in _FURTHER_PATHS):
            return False
        hooks = folder / "hooks"
        if hooks.is_symlink() or any(hook.suffix != ".sample" for hook in hooks.glob("*")):
            return False
        return _is_plain(read_regular(folder / "config").decode("utf-8"))
    except (OSError, UnicodeDecodeError):
        return False


def _is_plain(text: str) -> bool:
    section = ""
    for line in text.splitlines():
        if heading := _SECTION.fullmatch(line):
            section = heading[1].lower()
            continue
        setting = _SETTING.fullmatch(line)
        if setting is None or setting[1].lower() not in _SETTINGS.get(section, ()):
            return False
    return True
