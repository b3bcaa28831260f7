"""Make the Python that builds the site, from a lock of its own."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LOCK = ROOT / "scripts" / "lock" / "docs.txt"
VENV = ROOT / "build" / "site-venv"
_MADE_FROM = VENV / "made-from.txt"


class VenvError(Exception):
    """The packages cannot be installed; the text says why in one line."""


def is_ready() -> bool:
    """Return whether the venv is there and made from the lock of today."""
    return _MADE_FROM.exists() and _MADE_FROM.read_bytes() == LOCK.read_bytes()


def make() -> None:
    """Make the venv if it is not ready. Raises VenvError."""
    if is_ready():
        return
    _run(sys.executable, "-I", "-m", "venv", "--clear", str(VENV))
    pip = (
        str(VENV / "bin" / "python"),
        "-I",
        "-m",
        "pip",
        "install",
        "--disable-pip-version-check",
    )
    _run(*pip, "--quiet", "--no-input", "--require-hashes", "--no-deps", "-r", str(LOCK))
    _MADE_FROM.write_bytes(LOCK.read_bytes())


def _run(*command: str) -> None:
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    if ended.returncode == 0:
        return
    lines = [line for line in (ended.stdout + ended.stderr).splitlines() if line.strip()]
    last = lines[-1] if lines else f"exit code {ended.returncode}"
    raise VenvError(
        re.sub(r"[a-z]+://\S+", "(address)", last)
    )  # addresses of servers are not shown
