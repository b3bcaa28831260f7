"""Test that imports in a background thread pause while the user types."""

from __future__ import annotations

import sys
import time
from types import SimpleNamespace

import pytest

from swecli.repl.dispatch import ImportThrottle
from swecli.repl.program import run_in_thread
from tests.support.screenless import play


async def test_a_run_restores_sys_meta_path() -> None:
    before = list(sys.meta_path)
    await play("exit\r")
    assert sys.meta_path == before


async def test_imports_pause_only_while_the_user_types_and_no_line_is_pending(monkeypatch: pytest.MonkeyPatch) -> None:
    program, pauses = SimpleNamespace(working=False), list[float]()
    monkeypatch.setattr(time, "sleep", pauses.append)
    prompt = SimpleNamespace(last_key=float("-inf"))
    finder = ImportThrottle(program, prompt)  # type: ignore[arg-type]
    await run_in_thread(lambda: finder.find_spec("x", None), "worker")
    assert pauses == []
    prompt.last_key = time.monotonic() + 60
    finder.find_spec("x", None)
    assert pauses == [], "imports of the event loop's thread are not throttled"
    await run_in_thread(lambda: finder.find_spec("x", None), "worker")
    assert len(pauses) == 1
    program.working = True
    await run_in_thread(lambda: finder.find_spec("x", None), "worker")
    assert len(pauses) == 1


async def test_importing_the_tokenizer_waits_until_the_user_stops_typing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    program, pauses = SimpleNamespace(working=False), list[float]()
    prompt = SimpleNamespace(last_key=float("-inf"))
    finder = ImportThrottle(program, prompt)  # type: ignore[arg-type]

    def pause(seconds: float) -> None:
        pauses.append(seconds)
        program.working = len(pauses) == 9  # Enter was pressed: the user is waiting for the imports.

    monkeypatch.setattr(time, "sleep", pause)
    prompt.last_key = time.monotonic() + 60
    await run_in_thread(lambda: finder.find_spec("tiktoken", None), "worker")
    assert len(pauses) == 9
