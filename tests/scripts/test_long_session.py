"""The script that makes a long session: the same for the same seed, and shaped like real work."""

from __future__ import annotations

import subprocess
import sys
from datetime import datetime
from pathlib import Path

import pytest

from scripts.sessions.mixed_work import LONGEST, PAUSED, exported
from swecli.store.session_files.importing import import_session
from swecli.store.session_manager import SessionManager
from swecli.store.sqlite.database import open_database

ROOT = Path(__file__).parents[2]


def test_the_same_seed_gives_the_same_session() -> None:
    assert exported(8, 1, "m") == exported(8, 1, "m")
    assert exported(8, 1, "m")["messages"] != exported(8, 2, "m")["messages"]
    assert exported(8, 1, "m")["id"] != exported(9, 1, "m")["id"]


def test_one_turn_in_five_comes_after_a_long_pause() -> None:
    whole = exported(100, 3, "m")
    began = [datetime.fromisoformat(row["started_at"]) for row in whole["interactions"]]
    ended = [datetime.fromisoformat(row["finished_at"]) for row in whole["interactions"]]
    pauses = [(b - a).total_seconds() for a, b in zip(ended, began[1:], strict=False)]
    assert sum(pause > 300 for pause in pauses) == PAUSED * 100


def test_the_work_is_mixed_and_some_results_are_long() -> None:
    calls = [call for m in exported(100, 3, "m")["messages"] for call in m.get("tool_calls", [])]
    assert {call["name"] for call in calls} == {"read_file", "search_files", "edit_file", "run_command"}
    lengths = sorted(len(call["result"]) for call in calls)
    assert lengths[-1] == LONGEST
    assert lengths[len(lengths) // 2] < LONGEST / 3


def test_it_is_taken_in_with_its_times_and_strategies(tmp_path: Path) -> None:
    whole = exported(30, 1, "m")
    database = open_database(tmp_path / "long.db")
    try:
        made = import_session(database, whole)
        session = SessionManager(database).resume(made.session_id, "", window_hint=30)
    finally:
        database.close()
    assert [m.created_at.isoformat() for m in session.messages] == [m["created_at"] for m in whole["messages"]]
    assert len(session.playbook.bullets) == len(whole["playbook"]) > 0


@pytest.mark.slow
def test_the_script_prints_the_id_and_refuses_a_second_time(tmp_path: Path) -> None:
    command = [sys.executable, str(ROOT / "scripts" / "long_session"), str(tmp_path / "long.db"), "--turns", "3"]
    first, second = (subprocess.run(command, capture_output=True, text=True, check=False) for _ in range(2))
    assert (first.returncode, first.stdout.strip()) == (0, exported(3, 1, "m")["id"])
    assert second.returncode == 1
    assert "is already here" in second.stderr
