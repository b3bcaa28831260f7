"""Imports in a background thread that give way to typing."""

from __future__ import annotations

import contextlib
import importlib.abc
import importlib.machinery
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from types import ModuleType

PAUSE = 0.002
TYPING = 0.3


class PoliteFinder(importlib.abc.MetaPathFinder):
    """Finds nothing; makes one thread pause before each module while keys are coming in, so that typing stays quick."""

    def __init__(self, last_key: Callable[[], float], sleep: Callable[[float], object] = time.sleep) -> None:
        self._last_key = last_key
        self._sleep = sleep
        self._thread = threading.get_ident()

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """Pause, if it is this thread's import and somebody types."""
        if threading.get_ident() == self._thread and time.monotonic() - self._last_key() < TYPING:
            self._sleep(PAUSE)
        return None


@contextlib.contextmanager
def polite(last_key: Callable[[], float]) -> Iterator[None]:
    """Imports of this thread give way to typing. `last_key` is the time of the last key by `time.monotonic`."""
    finder = PoliteFinder(last_key)
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)
