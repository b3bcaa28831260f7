"""How long a command may run, and how that is said of one that was stopped."""

from __future__ import annotations

TIMEOUT_CODE = 124  # the exit code of a command that was stopped, as of timeout(1)


def excess(seconds: float | None) -> str:
    """Return what a command did that was stopped at this limit."""
    return f"it took longer than {seconds or 0:g} s"
