"""How this process was started, as a command to type again."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from pathlib import Path

_PACKAGE = Path(__file__).resolve().parents[1]
_MODULE = "__main__.py"  # the program's name if Python was told `-m swecli`


def find_start_script(package: Path = _PACKAGE) -> Path | None:
    """Return `scripts/start` of the checkout that the package is in; None if it is installed."""
    script = package.parent / "scripts" / "start"
    return script if script.is_file() else None


def own_command(
    program: str,
    cwd: Path,
    search_path: str | None,
    *,
    anywhere: bool = False,
    package: Path = _PACKAGE,
) -> str:
    """Return the command that starts swecli again in `cwd`, or in any folder, quoted for a shell. `program` is
    `sys.argv[0]`, `search_path` the PATH.

    A command that is found on the PATH is named alone, another one by its path. Python that was told to run the module
    is `scripts/start` of the checkout, by its shortest path, or else that Python."""
    if Path(program).name != _MODULE:
        return shlex.quote(_name_command(program, cwd, search_path, anywhere))
    script = find_start_script(package)
    if script is None:
        return f"{shlex.quote(_name_python(search_path))} -m swecli"
    if not anywhere and script.is_relative_to(cwd.resolve()):
        return shlex.quote(f"./{script.relative_to(cwd.resolve())}")
    return shlex.quote(str(script))


def _name_command(program: str, cwd: Path, search_path: str | None, anywhere: bool) -> str:
    path = cwd / program
    on_path = shutil.which(path.name, path=search_path)
    if on_path is not None and (cwd / on_path).resolve() == path.resolve():
        return path.name
    if "/" in program and not anywhere:
        return program
    return os.path.normpath(path)


def _name_python(search_path: str | None) -> str:
    """Return the Python that has swecli. Links are not followed: that of an environment is a link to one without."""
    path = Path(sys.executable)
    on_path = shutil.which(path.name, path=search_path)
    is_found = on_path is not None and Path(on_path) == path
    return path.name if is_found else str(path)
