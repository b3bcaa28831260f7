"""Real git repositories."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path


def git(folder: Path, *words: str) -> str:
    identity = ("-c", "user.name=A", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false")
    argv = ["git", *identity, "-C", str(folder), *words]
    environ = {**os.environ, "GIT_ALLOW_PROTOCOL": "file"}
    return subprocess.run(argv, check=True, capture_output=True, text=True, env=environ).stdout


def make_repository(folder: Path, text: str = "one") -> Path:
    """Make a repository with one commit, whose id depends on the text."""
    folder.mkdir(parents=True, exist_ok=True)
    git(folder, "init", "-q", "-b", "main")
    commit(folder, text)
    return folder


def commit(folder: Path, text: str) -> None:
    (folder / "a.py").write_text(text, encoding="utf-8")
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", text)
