"""Logging to a file of the user's own; nothing of it reaches the screen."""

from __future__ import annotations

import logging
import logging.handlers
import os
from io import TextIOWrapper
from pathlib import Path

from swecli.redact import redact

LIMIT_BYTES = 1_000_000


def log_to(path: Path) -> None:
    """Send warnings and worse to this file, which is cut at a megabyte, and to nothing else. A file that cannot be
    written is not a failure: then nothing is logged. Secrets leave each entry."""
    root = logging.getLogger()
    if any(getattr(handler, "baseFilename", None) == str(path) for handler in root.handlers):
        return
    handler = _LogFile(path, maxBytes=LIMIT_BYTES, backupCount=1, encoding="utf-8", errors="replace", delay=True)
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    root.addHandler(handler)
    root.setLevel(logging.WARNING)


class _LogFile(logging.handlers.RotatingFileHandler):
    """For this user alone, redacted, and silent: a full disk must not write over the conversation."""

    def _open(self) -> TextIOWrapper:
        os.close(os.open(self.baseFilename, os.O_CREAT | os.O_APPEND | os.O_WRONLY, 0o600))
        return super()._open()

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802  logging's name
        """Nobody to report it to."""

    def format(self, record: logging.LogRecord) -> str:
        return redact(super().format(record))
