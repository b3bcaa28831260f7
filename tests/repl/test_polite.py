"""Imports in a background thread give way to typing."""

from __future__ import annotations

import sys
import threading
import time

import pytest

from swecli.repl.background import PAUSE, PoliteFinder, spawn


async def test_it_leaves_the_import_system_as_it_was() -> None:
    before = list(sys.meta_path)
    with pytest.raises(ImportError):
        await spawn(lambda: __import__("a_module_that_is_not_there"), "worker", time.monotonic)
    assert sys.meta_path == before


def test_imports_pause_only_while_somebody_types_and_only_in_their_own_thread() -> None:
    pauses: list[float] = []
    last = [float("-inf")]
    finder = PoliteFinder(lambda: last[0], pauses.append)
    assert finder.find_spec("x", None) is None
    assert pauses == []
    last[0] = time.monotonic() + 60
    finder.find_spec("x", None)
    assert pauses == [PAUSE]
    other = threading.Thread(target=finder.find_spec, args=("x", None))
    other.start()
    other.join()
    assert pauses == [PAUSE]
