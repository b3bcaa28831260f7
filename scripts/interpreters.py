"""Find the Pythons of this machine that swecli promises to run on.

Usage: python scripts/interpreters.py other    prints version and path of the newest one of another minor version than
that of the Python that runs this; exit code 1 and the reason if there is none
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PREFIX = "Programming Language :: Python :: "
TIMEOUT = 20.0  # seconds in which a Python that works has started, however busy the machine is
FACTS = """
import importlib.util, json, os, sys
print(json.dumps({
    "version": sys.version_info[:3],
    "is_release": sys.version_info.releaselevel == "final",
    "path": os.path.realpath(sys.executable),  # not the link in an environment
    "has_venv": all(map(importlib.util.find_spec, ("venv", "ensurepip"))),
}))
"""


@dataclass(frozen=True, order=True)
class Interpreter:
    """A Python of this machine. `has_venv`: it can make an environment with pip."""

    version: tuple[int, int, int]
    path: Path
    has_venv: bool

    @property
    def minor(self) -> str:
        """Its minor version, for example "3.11"."""
        return f"{self.version[0]}.{self.version[1]}"

    def __str__(self) -> str:
        """Return version and path."""
        return f"{'.'.join(map(str, self.version))} {self.path}"


def promised_versions(project_file: Path = ROOT / "pyproject.toml") -> list[str]:
    """Return the minor versions that the metadata names, such as "3.11"."""
    classifiers = tomllib.loads(project_file.read_text())["project"]["classifiers"]
    return [row.removeprefix(PREFIX) for row in classifiers if row.startswith(PREFIX)]


def find_interpreters() -> list[Interpreter]:
    """Return the released Pythons of promised versions, oldest first, each version once: those on the PATH, in the
    usual folders, and those of pyenv."""
    promised = promised_versions()
    found: dict[tuple[int, int, int], Interpreter] = {}
    for file in _find_files(promised):
        interpreter = _ask(file)
        if interpreter is not None and interpreter.minor in promised:
            found.setdefault(interpreter.version, interpreter)
    return sorted(found.values())


def oldest_and_newest(interpreters: Iterable[Interpreter]) -> list[Interpreter]:
    """Return the oldest and the newest of each minor version, oldest first."""
    by_minor: dict[str, list[Interpreter]] = {}
    for interpreter in sorted(interpreters):
        by_minor.setdefault(interpreter.minor, []).append(interpreter)
    chosen = []
    for same in by_minor.values():
        chosen.append(same[0])
        if len(same) > 1:
            chosen.append(same[-1])
    return chosen


def newest_other(interpreters: Iterable[Interpreter], minor: str) -> Interpreter | None:
    """Return the newest one that can make an environment and is of another minor version, or None."""
    others = [one for one in interpreters if one.minor != minor and one.has_venv]
    return max(others, default=None)


def _find_files(promised: list[str]) -> Iterator[Path]:
    """Yield the files that may be Pythons, each once."""
    pyenv = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv")
    folders = [Path(folder) for folder in os.environ.get("PATH", "").split(":") if folder]
    folders += [Path("/usr/local/bin"), Path("/usr/bin")]
    folders += sorted(pyenv.glob("versions/*/bin"))
    seen: set[Path] = set()
    for folder in folders:
        for name in ("python3", *(f"python{version}" for version in promised)):
            file = folder / name
            if file.is_file() and file.resolve() not in seen:
                seen.add(file.resolve())
                yield file


def _ask(file: Path) -> Interpreter | None:
    """Return what a Python says of itself; None if it does not start or is no release."""
    try:
        done = subprocess.run([file, "-I", "-c", FACTS], capture_output=True, timeout=TIMEOUT)
        facts = json.loads(done.stdout)
    except (OSError, subprocess.TimeoutExpired, ValueError):
        return None
    if not facts["is_release"]:
        return None
    major, minor, patch = facts["version"]
    return Interpreter((major, minor, patch), Path(facts["path"]), facts["has_venv"])


def main() -> int:
    """Print the newest other Python."""
    if sys.argv[1:] != ["other"]:
        sys.exit(__doc__)
    own = f"{sys.version_info[0]}.{sys.version_info[1]}"
    interpreters = find_interpreters()
    other = newest_other(interpreters, own)
    if other is not None:
        print(other)
        return 0
    without = [str(one) for one in interpreters if one.minor != own]
    reason = f"without venv: {', '.join(without)}" if without else "there is none"
    print(
        f"No other Python of {', '.join(promised_versions())} can be used: {reason}.",
        file=sys.stderr,
    )
    return 1


if __name__ == "__main__":
    sys.exit(main())
