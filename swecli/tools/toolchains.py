"""Find the folders of programs and toolchains in use, by what names them: the PATH, interpreters, variables."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

_ENVIRONMENTS = (".venv", "venv")  # the usual names of an environment in a workspace
# Variables by which a toolchain is told where it lies, from the documentation of each.
_VARIABLES = (
    "VIRTUAL_ENV", "CONDA_PREFIX", "PYENV_ROOT", "CARGO_HOME", "RUSTUP_HOME", "GOROOT", "GOPATH", "GOMODCACHE",
    "JAVA_HOME", "GRADLE_HOME", "MAVEN_HOME", "NVM_DIR", "NODE_PATH", "GEM_HOME", "RBENV_ROOT", "DOTNET_ROOT",
)  # fmt: skip
# Where toolchains lie at home if no variable says so: what a program on the PATH starts is not known by a link to it.
_USUAL = (".rustup", ".nvm", ".pyenv", "go", ".sdkman", ".rbenv")
_OF_USERS = Path("/run/user")  # the folders that hold the sockets of a user's session


def toolchains_below(
    places: tuple[str, ...], root: Path, environ: Mapping[str, str]
) -> tuple[str, ...]:
    """Return the folders of programs and toolchains that lie below some places, as real paths, each before those in it.

    They are those on the PATH, of swecli's interpreter, of an environment in the workspace, and those that variables
    name. What this user may not see is left out, since no sandbox can show it."""
    # a folder of programs whose neighbours are the user's own files
    apart = (*places, str(Path(environ.get("HOME", "/"), ".local")))
    on_path = {Path(name).resolve() for name in _variable_places(environ, "PATH")}
    folders = set(on_path)
    for folder in on_path:
        if not folder.is_relative_to(root):  # a stranger's links could name any folder
            folders |= _linked_programs(folder)
    folders = {_with_neighbours(folder, apart) for folder in folders}
    folders.add(Path(apart[-1], "lib"))
    folders |= {Path(sys.prefix).resolve(), Path(sys.base_prefix).resolve()}
    for name in _ENVIRONMENTS:
        folders |= _places_of_environment(root / name, apart)
    for name in _VARIABLES:
        folders |= {Path(path).resolve() for path in _variable_places(environ, name)}
    folders |= {Path(environ.get("HOME", "/"), name).resolve() for name in _USUAL}
    visible = (path for path in folders if _is_below(places, path) and not _holds_one(path, places))
    return tuple(sorted(str(path) for path in visible if _may_see(path)))


def places_of(path: Path, environ: Mapping[str, str]) -> set[Path]:
    """Return the real paths of what a program or a file needs to be of use: a folder itself; a file's folder, and if
    that is one of programs what lies beside it, and the environment that it is of. Nothing for a home, or what lies
    above one."""
    home = environ.get("HOME", "/")
    apart = ("/tmp", "/var/tmp", "/home", "/root", home, str(Path(home, ".local")))
    if path.is_dir():
        places = {path.resolve()}
    elif path.exists():
        places = {
            _with_neighbours(folder, apart) for folder in (path.parent, path.resolve().parent)
        }
        places |= _places_of_environment(path.parent.parent, apart)
    else:
        return set()
    return {place.resolve() for place in places if not _holds_one(place.resolve(), apart)}


def _variable_places(environ: Mapping[str, str], variable: str) -> list[str]:
    """Return the absolute paths in a variable."""
    parts = environ.get(variable, "").split(os.pathsep)
    return [part for part in parts if part.startswith("/")]


def _linked_programs(folder: Path) -> set[Path]:
    """Return the folders of the programs to which a folder has links."""
    with suppress(OSError), os.scandir(folder) as entries:
        links = [entry.path for entry in entries if entry.is_symlink()]
        return {Path(path).resolve().parent for path in links if os.access(path, os.X_OK)}
    return set()


def _with_neighbours(folder: Path, places: tuple[str, ...]) -> Path:
    """Return the folder above one with programs, which need what lies beside it, as in a virtual environment. If that
    is a place of many files, such as a home folder, return the folder itself."""
    above = folder.parent
    if not folder.name.endswith(("bin", "shims", "Scripts")):
        return folder
    return folder if _holds_one(above, places) or above.parent == _OF_USERS else above


def _places_of_environment(folder: Path, places: tuple[str, ...]) -> set[Path]:
    """Return where an environment lies, and its interpreter with what lies beside it; nothing if it is none."""
    if not os.access(folder / "pyvenv.cfg", os.R_OK):
        return set()
    shown_places = {folder.resolve()}
    interpreter = (folder / "bin" / "python").resolve()
    # the environment may be a stranger's, and its link could name any file
    if interpreter.name.startswith("python") and os.access(interpreter, os.X_OK):
        shown_places.add(_with_neighbours(interpreter.parent, places))
    return shown_places


def _may_see(path: Path) -> bool:
    """Return whether this user may look at a path, also if nothing is there."""
    try:
        path.stat()
    except PermissionError:
        return False
    except OSError:
        return True
    return True


def _holds_one(path: Path, places: tuple[str, ...]) -> bool:
    """Return whether a path is one of the places, or lies above one: showing it would show that too."""
    return any(Path(place).is_relative_to(path) for place in places)


def _is_below(places: tuple[str, ...], path: Path) -> bool:
    return any(path.is_relative_to(place) and str(path) != place for place in places)
