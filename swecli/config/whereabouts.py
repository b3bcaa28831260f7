"""Where a folder is: its project's root, and the git folder that all work trees of the repository share. A few files
are read, and no program is run: it is asked before the first request."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from swecli.config.paths import project_root
from swecli.regular_files import read_regular
from swecli.values import dataclass

_MAX_LINK = 8_192  # bytes of a `.git` file; the longest path of Linux has 4,096
_GITDIR = "gitdir:"
_MAX_ENTRIES = 1_000  # that are looked at for one that was there before; a git folder has a dozen


@dataclass(frozen=True, slots=True)
class Whereabouts:
    """Where a folder is.

    Attributes:
        root: The root of its project, resolved.
        holder: What makes its project one: the git folder that work trees share, or `root` without git.
        subfolder: Its path from `root`, "" for the root itself.
        inode: The number of `holder` on its disk, 0 if it cannot be read.
        is_shallow: Whether the repository was cloned without its older commits.
    """

    root: Path
    holder: Path
    subfolder: str
    inode: int
    is_shallow: bool

    @property
    def has_git(self) -> bool:
        return self.holder != self.root

    @classmethod
    def of(cls, folder: Path) -> Whereabouts:
        """Find out where a folder is. Raises nothing: what cannot be read is not there."""
        resolved = folder.resolve()
        root = project_root(resolved)
        subfolder = resolved.relative_to(root).as_posix()
        holder = _shared_git_folder(root) or root
        return cls(
            root,
            holder,
            "" if subfolder == "." else subfolder,
            inode_of(holder),
            os.path.lexists(holder / "shallow") and holder != root,
        )

    def holds_since(self, moment: float) -> bool:
        """Return whether something in `holder` has been there since that moment, in seconds since 1970: then it is the
        folder it was. The number of a deleted folder is given to the next one, whose entries are newer."""
        with suppress(OSError), os.scandir(self.holder) as entries:
            for _, entry in zip(range(_MAX_ENTRIES), entries, strict=False):
                with suppress(OSError):
                    if entry.stat(follow_symlinks=False).st_ctime <= moment:
                        return True
        return False


def inode_of(folder: Path) -> int:
    """Return the number of a folder on its disk, 0 if there is none that can be read."""
    with suppress(OSError, ValueError):
        return folder.stat().st_ino
    return 0


def _shared_git_folder(root: Path) -> Path | None:
    """Return the git folder that the work trees of a repository share, resolved; None without a usable one."""
    link = root / ".git"
    try:
        git_folder = link if link.is_dir() else _follow(root, link)
        common_folder_file = git_folder / "commondir"  # only that of a further work tree has one
        if common_folder_file.exists():
            git_folder = git_folder / _read_line(common_folder_file)
        git_folder = git_folder.resolve()
        is_usable = (git_folder / "HEAD").is_file() and (git_folder / "objects").is_dir()
    except (OSError, RuntimeError, ValueError):  # circular links, a NUL in a name
        return None
    return git_folder if is_usable else None


def _follow(root: Path, link: Path) -> Path:
    """Return the git folder that a `.git` file names. Raises OSError, or ValueError if it names none."""
    line = _read_line(link)
    if not line.startswith(_GITDIR):
        raise ValueError("not the link of a work tree")
    return root / line.removeprefix(_GITDIR).strip()


def _read_line(file: Path) -> str:
    return os.fsdecode(read_regular(file, _MAX_LINK)).strip("\n")
