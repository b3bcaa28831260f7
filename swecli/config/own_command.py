"""How this process was started, as a command to type again."""

from __future__ import annotations

import shutil
from pathlib import Path

_PACKAGE = Path(__file__).resolve().parents[1]


def find_start_script(package: Path = _PACKAGE) -> Path | None:
    """Return `scripts/start` of the checkout that the package is in; None if it is installed."""
    script = package.parent / "scripts" / "start"
    return script if script.is_file() else None


def own_command(program: str, cwd: Path, search_path: str | None) -> str:
    """Return the command that starts swecli again in `cwd`. `program` is `sys.argv[0]`, `search_path` the PATH: the
    installed command is named alone if it is found there, `scripts/start` of a checkout by its shortest path."""
    name = Path(program).name
    if name == "swecli":
        found = shutil.which(name, path=search_path)
        is_found = found is not None and Path(found).resolve() == Path(program).resolve()
        return name if is_found else program
    script = find_start_script()
    if script is None:
        return "python -m swecli"
    if script.is_relative_to(cwd.resolve()):
        return f"./{script.relative_to(cwd.resolve())}"
    return str(script)
