"""Asking git, without letting the repository's configuration start programs."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from pathlib import Path

from swecli.models.errors import BadInput
from swecli.tools.processes import child_environment

SECONDS = 60
LARGEST = 50_000_000  # bytes of one answer
_SAFE = ("-c", "core.fsmonitor=false", "-c", "core.quotePath=false", "-c", "color.ui=false", "--no-pager")
DIFF = ("diff", "--no-ext-diff", "--no-textconv", "--no-renames", "--unified=3")


class GitFailed(BadInput):
    """git said no; `said` is its own last line."""

    def __init__(self, said: str) -> None:
        super().__init__(f"git: {said or 'it failed without a word'}.")
        self.said = said


def run_git(root: Path, *arguments: str, environ: Mapping[str, str] | None = None) -> str:
    """What git answers, bytes that are no UTF-8 replaced. Raises BadInput: git is missing, too slow, or said no."""
    try:
        done = subprocess.run(
            ["git", *_SAFE, *arguments],
            cwd=root,
            env=child_environment(environ),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=SECONDS,
            check=False,
        )
    except FileNotFoundError as error:
        raise BadInput("git is not installed.", "Name files instead: /review src/") from error
    except subprocess.TimeoutExpired as error:
        raise BadInput(f"git took longer than {SECONDS} s.", "Name files instead: /review src/") from error
    if done.returncode:
        lines = done.stderr.decode("utf-8", "replace").strip().splitlines()
        raise GitFailed(lines[0].removeprefix("fatal: ").rstrip(".") if lines else "")
    if len(done.stdout) > LARGEST:
        raise BadInput(f"The diff has {len(done.stdout):,} bytes.", "Name fewer files.")
    return done.stdout.decode("utf-8", "replace")


def need_repository(root: Path, environ: Mapping[str, str] | None = None) -> Path:
    """The top of the repository. Raises BadInput where there is none."""
    try:
        return Path(run_git(root, "rev-parse", "--show-toplevel", environ=environ).rstrip("\n"))
    except GitFailed as error:
        raise BadInput("This is not a git repository.", "Name files or folders: /review src/ or /review .") from error
