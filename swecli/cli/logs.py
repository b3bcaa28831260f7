"""The log file: warnings and tracebacks, redacted, which only this user can read."""

from __future__ import annotations

import logging
import os
from contextlib import suppress
from io import TextIOWrapper
from pathlib import Path

from swecli.config.paths import Paths
from swecli.models.errors import SwecliError, describe_unexpected
from swecli.redact import redact

MAX_LOG_BYTES = 1_000_000  # so that the two files can be read in an editor


def log_to(path: Path, level: str = "warning") -> None:
    """Write the program's records of this level and above, and the warnings of libraries, redacted, to this file only.
    It rotates at `MAX_LOG_BYTES`; if it cannot be written, nothing is logged."""
    logging.getLogger("swecli").setLevel(level.upper())
    root = logging.getLogger()
    if any(getattr(handler, "baseFilename", None) == str(path) for handler in root.handlers):
        return
    handler = _LogFile(path, encoding="utf-8", errors="replace", delay=True)
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    root.addHandler(handler)
    root.setLevel(logging.WARNING)
    logging.raiseExceptions = False  # a full disk must not write over the conversation


def internal_error(error: Exception) -> SwecliError:
    """Log an unexpected error with its traceback, and return the error to show."""
    problem = describe_unexpected(error)
    try:
        log = Paths.find(os.environ).log
    except SwecliError:
        return SwecliError(problem)
    log_to(log)
    logging.getLogger(__name__).error("internal error", exc_info=error)
    return SwecliError(problem, f"The details are in {log}.")


class _LogFile(logging.FileHandler):
    """A log file that only this user can read, with secrets redacted. It is renamed to `….1` at `MAX_LOG_BYTES`; the
    standard library's rotating handler would add 3 ms of imports to every start."""

    def emit(self, record: logging.LogRecord) -> None:
        with suppress(OSError):
            if self.stream is not None and self.stream.tell() >= MAX_LOG_BYTES:
                self.close()  # the next line opens a new file
                Path(self.baseFilename).replace(f"{self.baseFilename}.1")
            super().emit(record)

    def _open(self) -> TextIOWrapper:
        os.close(os.open(self.baseFilename, os.O_CREAT | os.O_APPEND | os.O_WRONLY, 0o600))
        return super()._open()

    def format(self, record: logging.LogRecord) -> str:
        return redact(super().format(record))
