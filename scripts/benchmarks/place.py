"""Where things are measured: a folder of its own with a small project, homes, and an environment without surprises."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
KEPT = ("PATH", "LD_LIBRARY_PATH", "TMPDIR")


class Place:
    """A temporary folder, prepared. `folder` is the caller's to remove."""

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
        """Nothing of the caller's but the path; a home of that name."""
        (self.folder / home).mkdir(exist_ok=True)
        kept = {name: os.environ[name] for name in KEPT if name in os.environ}
        own = {"HOME": str(self.folder / home), "SWECLI_HOME": str(self.home(home)), "PYTHONPATH": str(ROOT)}
        screen = {"TERM": "xterm-256color", "COLORTERM": "truecolor", "LANG": "C.UTF-8"}
        return {**kept, **own, **screen, **(more or {})}

    def home(self, home: str = "home") -> Path:
        """swecli's folder in that home."""
        return self.folder / home / "swecli"

    def floor(self) -> tuple[str, ...]:
        """The command of the floor program."""
        (self.folder / "floor").mkdir(exist_ok=True)
        return (sys.executable, str(ROOT / "scripts" / "floor"), str(self.folder / "floor"))


def swecli(*arguments: str) -> tuple[str, ...]:
    """The command of this swecli."""
    return (sys.executable, "-m", "swecli", *arguments)
