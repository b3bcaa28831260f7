"""Logging to a file of the user's own; nothing of it reaches the screen."""

from __future__ import annotations

import logging
import logging.handlers
from pathlib import Path

LIMIT_BYTES = 1_000_000


def log_to(path: Path) -> None:
    """Send warnings and worse to this file, which is cut at a megabyte. A file that cannot be written is no failure."""
    root = logging.getLogger()
    if any(getattr(handler, "baseFilename", None) == str(path) for handler in root.handlers):
        return
    try:
        handler = logging.handlers.RotatingFileHandler(path, maxBytes=LIMIT_BYTES, backupCount=1, delay=True)
    except OSError:
        root.addHandler(logging.NullHandler())
        return
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    root.addHandler(handler)
    root.setLevel(logging.WARNING)
