"""Faults of the program itself: the whole trace goes to the log, one line to the user."""

from __future__ import annotations

import logging
from pathlib import Path

from swecli.models.errors import SwecliError

_log = logging.getLogger(__name__)


def fault(log: Path, error: BaseException | str) -> SwecliError:
    """Log the trace and give the line for the user, which says where the log is."""
    if isinstance(error, BaseException):
        _log.error("fault", exc_info=error)
        said = f"{type(error).__name__}: {error}".strip(": ")
    else:
        _log.error("fault: %s", error)
        said = error
    return SwecliError(f"This is a fault of swecli: {said}", f"The details are in {log}.")
