"""Which Python the scripts run with: the project's own, whoever calls them."""

from __future__ import annotations

import os
import sys
from pathlib import Path

VENV = Path(__file__).resolve().parents[1] / ".venv"


def use_own_python() -> None:
    """Begin anew with the Python of `.venv`, where there is one and this is another."""
    own = VENV / "bin" / "python"
    if Path(sys.prefix) != VENV and own.exists():
        os.execv(own, [str(own), *sys.argv])
