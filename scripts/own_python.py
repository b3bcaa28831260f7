"""Select the Python that the scripts run with: the project's own."""

from __future__ import annotations

import os
import sys
from pathlib import Path

VENV = Path(__file__).resolve().parents[1] / ".venv"


def use_own_python() -> None:
    """Restart with the Python of `.venv`, if that exists and the current one is of no environment of this copy, as
    `.venv.3.13` is one."""
    own = VENV / "bin" / "python"
    if Path(sys.prefix).parent != VENV.parent and own.exists():
        os.execv(own, [str(own), *sys.argv])
