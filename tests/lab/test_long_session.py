"""Test the script that generates a long session: deterministic per seed, and shaped like real work."""

from __future__ import annotations

import subprocess
import sys
from datetime import datetime
from pathlib import Path

import pytest

from lab.windows.sessions import recorded
from lab.windows.sessions.mixed_work import LONGEST, PAUSED, exported
from swecli.store.session_files.importing import import_session
from swecli.store.session_manager import SessionManager
from tests.support.databases import open_database

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


def test_a_generated_session_has_mixed_tools_and_some_long_results() -> None:
    calls = [call for m in exported(100, 3, "m")["messages"] for call in m.get("tool_calls", [])]
    assert {call["name"] for call in calls} == {
        "read_file",
        "search_files",
        "edit_file",
        "run_command",
    }
    lengths = sorted(len(call["result"]) for call in calls)
    assert lengths[-1] == LONGEST
    assert lengths[len(lengths) // 2] < LONGEST / 3


def test_a_generated_session_is_imported_with_its_times_and_strategies(tmp_path: Path) -> None:
    whole = exported(30, 1, "m")
    database = open_database(tmp_path / "long.db")
    try:
        made = import_session(database, whole)
        session = SessionManager(database).resume(made.session_id, "", window_hint=30)
    finally:
        database.close()
    assert [m.created_at.isoformat() for m in session.messages] == [
        m["created_at"] for m in whole["messages"]
    ]
    assert len(session.playbook.bullets) == len(whole["playbook"]) > 0


@pytest.mark.parametrize("shape", sorted(recorded.SHAPES.glob("*.csv")), ids=lambda path: path.stem)
def test_a_recorded_session_has_the_sizes_and_pauses_of_its_shape(
    shape: Path, tmp_path: Path
) -> None:
    lines = [
        line for line in shape.read_text(encoding="utf-8").splitlines() if not line.startswith("#")
    ]
    rows = [dict(zip(lines[0].split(","), line.split(","), strict=True)) for line in lines[1:]]
    database = open_database(tmp_path / "recorded.db")
    try:
        made = import_session(database, recorded.exported(shape.stem, "m"))
        session = SessionManager(database).resume(made.session_id, "", window_hint=200)
    finally:
        database.close()
    asked, replies = (
        [m for m in session.messages if m.role == role] for role in ("user", "assistant")
    )
    assert [len(message.content.split()) for message in asked] == [
        int(row["user"]) for row in rows if row["user"]
    ]
    assert [[len((call.result or "").split()) for call in m.tool_calls] for m in replies] == [
        [int(size) for size in row["results"].split()] for row in rows
    ]
    times = [message.created_at for message in replies]
    assert [(at - times[0]).total_seconds() for at in times] == [
        int(row["seconds"]) for row in rows
    ]


@pytest.mark.slow
def test_the_script_prints_the_session_id_and_refuses_a_second_run(tmp_path: Path) -> None:
    command = [
        sys.executable,
        str(ROOT / "lab" / "windows" / "long_session"),
        str(tmp_path / "long.db"),
        "--turns",
        "3",
    ]
    first, second = (
        subprocess.run(command, capture_output=True, text=True, check=False) for _ in range(2)
    )
    assert (first.returncode, first.stdout.strip()) == (0, exported(3, 1, "m")["id"])
    assert second.returncode == 1
    assert "already exists" in second.stderr


@pytest.mark.slow
def test_the_page_has_the_figures_of_a_recorded_session() -> None:
    """Within one percentage point: a changed system prompt moves the figures by tenths."""
    command = [
        sys.executable,
        str(ROOT / "lab" / "windows" / "replay_tables"),
        "--session",
        "repair",
    ]
    printed = subprocess.run(
        command, capture_output=True, text=True, check=True
    ).stdout.splitlines()[2:]
    page = (ROOT / "docs" / "explanation" / "replay-figures.md").read_text(encoding="utf-8")
    known = {
        line.split("|")[1]: line
        for line in page.splitlines()
        if line.startswith("| recorded, repair")
    }
    assert len(printed) == len(known) == 3
    for line in printed:
        assert _percents(line) == pytest.approx(_percents(known[line.split("|")[1]]), abs=1.0)


def _percents(line: str) -> list[float]:
    return [
        float(cell.strip().removesuffix(" %").replace("\N{MINUS SIGN}", "-"))
        for cell in line.split("|")[2:-1]
    ]
