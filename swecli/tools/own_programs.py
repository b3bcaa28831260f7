"""Programs that swecli starts itself, and the folders it runs from: none of them may lie where a command can write."""

from __future__ import annotations

import os
import shutil
import sys
import sysconfig
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from swecli.tools.environment import own_environment

NO_RIPGREP = (
    "There is no ripgrep (rg) outside this folder, where no command can replace it. "
    "Install it, or run scripts/setup again."
)
_MAX_LINKS = 40  # as many as the kernel follows in one path
_PACKAGE = Path(__file__).parents[1]


def find_program(name: str, environ: Mapping[str, str] | None, root: Path) -> str | None:
    """Return the path of a program on the PATH that no command in the workspace can replace; None if there is none."""
    folders = own_environment(environ).get("PATH", os.defpath).split(os.pathsep)
    for folder in folders:
        if not folder.startswith("/"):
            continue
        path = shutil.which(name, path=folder)
        if path and not leads_into(root, Path(path)):
            return path
    return None


def find_ripgrep(environ: Mapping[str, str] | None, root: Path) -> str | None:
    """Return the path of ripgrep: the one installed with swecli, else the one on the PATH. None if there is none, or
    only one that a command in the workspace could replace."""
    beside = Path(sysconfig.get_path("scripts"), "rg")
    if os.access(beside, os.X_OK) and is_out_of_reach(beside, root):
        return str(beside)
    return find_program("rg", environ, root)


def is_out_of_reach(path: Path, root: Path) -> bool:
    """Return whether no command in the workspace can put another program in place of this one: it lies outside, or in a
    folder of swecli itself, which the sandbox keeps as it is. It cannot where swecli runs through a link."""
    real = path.resolve()
    if not own_link(root) and any(real.is_relative_to(folder) for folder in own_folders(root)):
        return True
    return not leads_into(root, path)


def leads_into(root: Path, path: Path) -> bool:
    """Return whether a path passes through the workspace, by its own folders or by those of a link on its way. One that
    never ends does."""
    real_root = root.resolve()
    remaining_parts = [*path.absolute().parts[:0:-1]]
    place = Path("/")
    links = 0
    while remaining_parts:
        place = Path(os.path.normpath(place / remaining_parts.pop()))
        if place.is_relative_to(real_root):
            return True
        if os.path.islink(place):  # noqa: PTH114  False also where nobody may look
            links += 1
            if links > _MAX_LINKS:
                return True
            target = place.readlink()
            place = Path("/") if target.is_absolute() else place.parent
            remaining_parts += [part for part in reversed(target.parts) if part != "/"]
    return False


@cache
def own_folders(root: Path) -> tuple[Path, ...]:
    """Return the real paths of the folders in the workspace from which this process runs: its environment, its
    interpreter and the package. Commands may not write there, since it loads parts of itself while it runs."""
    real_root = root.resolve()
    real = dict.fromkeys(path.resolve() for path in _running_from())
    inside = []
    for path in real:
        if path == real_root:
            inside += [path / "bin", path / "lib", path / "pyvenv.cfg"]
        elif path.is_relative_to(real_root):
            inside.append(path)
    return tuple(path for path in inside if os.path.lexists(path))


@cache
def own_link(root: Path) -> str:
    """Return the link in the workspace through which this process runs, "" if it runs through none: no mount keeps a
    command from putting something else in place of a link."""
    real_root = root.resolve()
    for path in _running_from():
        for place in (path, *path.parents):
            is_link = os.path.islink(place)  # noqa: PTH114  as above
            if is_link and place.parent.resolve().is_relative_to(real_root):
                return str(place.parent.resolve() / place.name)
    return ""


def _running_from() -> list[Path]:
    """Return the folders of the environment, of the interpreter and of the package, as this process names them."""
    interpreter = Path(os.path.realpath(sys.executable)).parent
    library = Path(sysconfig.get_path("stdlib"))
    return [Path(sys.prefix), interpreter, library, _PACKAGE]
