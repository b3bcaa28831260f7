"""Paths of the workspace: resolved without leaving it, and shown relative to it."""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from pathlib import Path

from swecli.file_names import read_name, write_name
from swecli.models.errors import ToolError
from swecli.tools.limits import one_line

_MAX_COMPARED = 5000  # names in a folder; comparing more takes noticeably long


def resolve_path(root: Path, text: str) -> Path:
    """Return the real path of `text`, with every link followed; it need not exist. Relative paths start at `root`;
    absolute ones must be inside it. Raises ToolError: the path or a link leaves the workspace, or it is not a path."""
    path = _resolve(root, text, may_leave=False)
    if not is_inside(root, path):
        raise ToolError(
            f"{one_line(text)} is outside the workspace.",
            f"Only paths inside {root.resolve()} can be used.",
        )
    return path


def resolve_for_reading(root: Path, text: str) -> Path:
    """Return the real path of `text` like `resolve_path`, also if it is outside the workspace: then the user must be
    asked about it. Raises ToolError if it is not a path."""
    return _resolve(root, text, may_leave=True)


def is_inside(root: Path, path: Path) -> bool:
    """Return whether a resolved path is in the workspace."""
    return path.is_relative_to(root.resolve())


def given_name(root: Path, text: str) -> str:
    """Return the name that a text means: as it stands, or, in quotes, as the lists of the tools write it."""
    name = read_name(text)
    if name is None or (os.path.lexists(root / text) and not os.path.lexists(root / name)):
        return text
    return name


def _resolve(root: Path, text: str, *, may_leave: bool) -> Path:
    text = given_name(root, text)
    if not text.strip():
        raise ToolError("The path is empty.", "Give one relative to the workspace.")
    if "\0" in text:
        raise ToolError("The path contains a NUL character.")
    if text == "~" or text.startswith("~/"):
        raise ToolError("~ is not expanded here.", "Give a path relative to the workspace.")
    base = root.resolve()
    start = Path("/") if text.startswith("/") else base
    try:
        os.fsencode(text)
        return _follow(base, start, text, may_leave=may_leave)
    except (OSError, UnicodeEncodeError) as error:
        reason = getattr(error, "strerror", None) or "not a usable path"
        raise ToolError(f"{one_line(text)}: {reason}.") from error


def _follow(base: Path, position: Path, text: str, *, may_leave: bool) -> Path:
    """Return the real path of `text` below `position`, which is one. Raises ToolError, OSError.

    Each part is looked up once. Positions are strings: a `Path` reads its whole text anew for each part that is put
    behind it, from Python 3.12 on.
    """
    current = str(position)
    mode = _mode(current)
    for part in text.split("/"):
        if part in ("", "."):
            continue
        if mode is not None and not stat.S_ISDIR(mode):
            raise ToolError(f"{write_name(current)} is not a directory.")
        step = os.path.dirname(current) if part == ".." else os.path.join(current, part)  # noqa: PTH118, PTH120
        mode = _mode(step)
        if mode is None or not stat.S_ISLNK(mode):
            current = step
            continue
        current = os.path.realpath(step)
        mode = _mode(current)
        if mode is not None and stat.S_ISLNK(mode):
            raise ToolError(f"{write_name(step)} is a symbolic link to itself.")
        leaves = Path(step).is_relative_to(base) and not Path(current).is_relative_to(base)
        if leaves and not may_leave:
            raise ToolError(
                f"{display_path(base, Path(step))} is a link out of the workspace.",
                "It is not followed.",
            )
    return Path(current)


def _mode(path: str) -> int | None:
    """Return type and permissions of what is at a path, a link not followed; None if there is nothing."""
    try:
        return os.lstat(path).st_mode
    except (FileNotFoundError, NotADirectoryError):
        return None


def relative_path(root: Path, path: Path) -> str:
    """Return a resolved path relative to the workspace, with `/`; "." for the workspace itself, and a path outside as
    it is."""
    if not is_inside(root, path):
        return path.as_posix()
    return path.relative_to(root.resolve()).as_posix()


def display_path(root: Path, path: Path) -> str:
    """Return a resolved path relative to the workspace, with hidden characters escaped."""
    return write_name(relative_path(root, path))


def not_found_error(root: Path, path: Path) -> ToolError:
    """Return the error for a path that does not exist, with similar names nearby."""
    base = root.resolve() if is_inside(root, path) else Path("/")
    folder = path.parent
    while not folder.is_dir() and folder != base:
        folder = folder.parent
    missing_name = path.relative_to(folder).parts[0]
    near = [display_path(root, folder / name) for name in _similar_names(folder, missing_name)]
    hint = f" Near names: {', '.join(near)}." if near else ""
    return ToolError(f"{display_path(root, path)} does not exist.{hint}")


def _similar_names(folder: Path, name_to_match: str) -> list[str]:
    """Return up to three entries of a folder whose names are similar without their endings, which most have in
    common."""
    by_stem: dict[str, list[str]] = {}
    with suppress(OSError):
        for name in sorted(os.listdir(folder))[:_MAX_COMPARED]:  # noqa: PTH208  names only
            by_stem.setdefault(_stem(name), []).append(name)
    # late: for a path that is not there
    import difflib

    stems = difflib.get_close_matches(_stem(name_to_match), by_stem, n=3)
    return [name for stem in stems for name in by_stem[stem]][:3]


def _stem(name: str) -> str:
    return Path(name).stem.lower()
