"""Test reading the turns of a session in outline."""

from __future__ import annotations

import json
from itertools import chain, count
from pathlib import Path

import pytest

from swecli.app import Runtime
from swecli.models.session import EarlierTurn
from swecli.models.window_spec import WindowSpec
from tests.support.runtime import calls, make_runtime, run_turn

SECRET = "ghp_" + "a1B2c3D4e5F6g7H8i9J0" + "k1L2m3N4o5P6q7R8"


async def three_turns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Runtime:
    """Run a turn that writes two files, one with a secret in its query, and one that the user marks."""
    monkeypatch.chdir(tmp_path)
    files = [("write_file", {"path": name, "content": "text\n"}) for name in ("a.py", "b.py")]
    replies = chain([calls(*files)], (f"Answer {number}." for number in count()))
    runtime = make_runtime(
        lambda request: next(replies),
        window=WindowSpec(1),
        mode="auto",
        reflect_with_model=False,
    )
    for query in ("make two files", f"the token is {SECRET}", "make it shorter"):
        await run_turn(runtime, query)
    await runtime.learning.mark(False, "still too long")
    return runtime


async def test_a_turn_has_its_request_its_files_and_its_outcome_without_secrets(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runtime = await three_turns(tmp_path, monkeypatch)
    sessions = runtime.sessions
    first, second, third = sessions.outline(sessions.session, 1, 3)
    assert first == EarlierTurn(1, "make two files", ("a.py", "b.py"))
    assert SECRET not in second.query
    assert third == EarlierTurn(3, "make it shorter", outcome="the user marked it bad")
    assert sessions.outline(sessions.session, 2, 2) == [second]


async def test_the_model_gets_the_outline_of_what_left_and_the_same_bytes_until_the_next_cut(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runtime = await three_turns(tmp_path, monkeypatch)
    model = runtime.agent.model
    await run_turn(runtime, "and now?")
    system = model.requests[-1].messages[0]["content"]  # type: ignore[attr-defined]
    assert '- T1 "make two files" · changed a.py, b.py\n' in system
    assert '- T2 "the token is ' in system
    assert '- T3 "' not in system, "its turn is in the request"
    assert SECRET not in json.dumps(system)
    runtime.sessions.set_window(WindowSpec(1, 5))
    systems = set[str]()
    for number in range(4):
        await run_turn(runtime, f"more {number}")
        systems.add(model.requests[-1].messages[0]["content"])  # type: ignore[attr-defined]
        await runtime.learning.mark(True, "fine")
    assert len(systems) == 1
    runtime.sessions.set_window(WindowSpec(1))
    await run_turn(runtime, "at last")
    after_cut = model.requests[-1].messages[0]["content"]  # type: ignore[attr-defined]
    assert '- T3 "make it shorter" · the user marked it bad\n' in after_cut
    assert '- T7 "more 2" · the user marked it good\n' in after_cut
