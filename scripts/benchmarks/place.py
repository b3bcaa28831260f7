"""The place for measurements: a folder with a small project, homes, and a clean environment."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from scripts.benchmarks.rows import MeasuringError

ROOT = Path(__file__).resolve().parents[2]
KEPT = ("PATH", "LD_LIBRARY_PATH", "TMPDIR")


class Place:
    """A prepared temporary folder. The caller removes `folder`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.project = folder / "project"
        self.project.mkdir()
        (self.project / "main.py").write_text('def main() -> None:\n    print("hello")\n')
        (self.project / "README.md").write_text("# project\n")
        who = ("-c", "user.name=A", "-c", "user.email=a@example.org")
        for command in (("init", "-q"), ("add", "-A"), (*who, "commit", "-qm", "first")):
            subprocess.run(("git", *command), cwd=self.project, check=True, capture_output=True)

    def environ(self, home: str = "home", more: Mapping[str, str] | None = None) -> dict[str, str]:
        """Return an environment with only the caller's PATH and a home of that name; like most users', without
        SWECLI_HOME."""
        (self.folder / home).mkdir(exist_ok=True)
        kept = {name: os.environ[name] for name in KEPT if name in os.environ}
        own = {"HOME": str(self.folder / home), "PYTHONPATH": f"{ROOT}:{ROOT}/tests/plugins"}
        screen = {"TERM": "xterm-256color", "COLORTERM": "truecolor", "LANG": "C.UTF-8"}
        return {**kept, **own, **screen, **(more or {})}

    def database(self, home: str) -> Path:
        """Return the path of swecli's database in that home."""
        return Path(run_once(self, *swecli("db", "path"), home=home).strip())

    def floor(self) -> tuple[str, ...]:
        """Return the command of the floor program."""
        (self.folder / "floor").mkdir(exist_ok=True)
        return (
            sys.executable,
            str(Path(__file__).parent / "bare_prompt.py"),
            str(self.folder / "floor"),
        )


def swecli(*arguments: str) -> tuple[str, ...]:
    """Return the command that runs this swecli."""
    return (sys.executable, "-m", "swecli", *arguments)


def run_once(place: Place, *command: str, home: str = "home") -> str:
    """Run a program in the place to its end and return its output. Raises MeasuringError if it fails."""
    done = subprocess.run(
        command,
        cwd=place.project,
        env=place.environ(home),
        check=False,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        errors="replace",
    )
    if done.returncode:
        name, said = " ".join(" ".join(command[1:]).split()), " ".join(done.stderr.split())
        raise MeasuringError(f"{name[:60]}: exit code {done.returncode}: {said[-300:]}")
    return done.stdout
