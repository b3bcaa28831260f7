"""Test `lab/windows/compare_policies`, which replays a stored session offline under each policy."""

from __future__ import annotations

import subprocess
import sys
import xml.etree.ElementTree as ET
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from swecli.models.message import ChatMessage, Role, ToolCall
from swecli.store.session_files.importing import import_session
from swecli.store.session_manager import SessionManager
from tests.support.databases import open_database
from tests.support.shell import ROOT

pytestmark = pytest.mark.slow

SESSION = "0190a0b0-0000-7000-8000-000000000001"
BEGAN = datetime(2025, 1, 1, tzinfo=UTC)


def store_session(
    turns: int, model: str = "anthropic/claude-sonnet-4-5", title: str = "the parser"
) -> None:
    """Store a session in the database `long.db`: one tool call per turn, turns one minute apart."""
    messages: list[dict[str, Any]] = []
    for number in range(1, turns + 1):
        at = (BEGAN + timedelta(minutes=number)).isoformat()
        call = {
            "id": f"c{number}",
            "name": "read_file",
            "parameters": {"path": "a"},
            "result": f"{number} " * 500,
        }
        for role, content, calls in (
            ("user", f"query {number}", []),
            ("assistant", "", [call]),
            ("assistant", "ok", []),
        ):
            row = {
                "role": role,
                "content": content,
                "tool_calls": calls,
                "interaction": number,
                "created_at": at,
            }
            messages.append(row)
    times = {"created_at": BEGAN.isoformat(), "updated_at": BEGAN.isoformat()}
    rows = [
        {"number": n, "status": "done", "started_at": BEGAN.isoformat()}
        for n in range(1, turns + 1)
    ]
    whole = {
        "id": SESSION,
        "directory": "/w",
        "title": title,
        "model": model,
        "interactions": rows,
        "messages": messages,
    }
    database = open_database(Path("long.db"))
    try:
        import_session(database, whole | times)
    finally:
        database.close()


def compare(*more: str, session: str = SESSION) -> subprocess.CompletedProcess[str]:
    command = [
        sys.executable,
        str(ROOT / "lab/windows/compare_policies"),
        "long.db",
        session,
        *more,
    ]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def cells(done: subprocess.CompletedProcess[str]) -> dict[str, list[str]]:
    """Return the cells of each policy's row."""
    assert done.returncode == 0, done.stderr
    rows = [line.strip("| ").split(" | ") for line in done.stdout.splitlines() if line[:1] == "|"]
    return {name: figures for name, *figures in rows[2:]}


def test_each_policy_has_a_row_and_the_assumptions_are_named() -> None:
    store_session(12)
    done = compare()
    rows = cells(done)
    assert list(rows) == ["full", "exact", "slack", "compact90", "ours"]
    assert all(figures[0] == "24" and figures[3].startswith("$") for figures in rows.values())
    full, exact, slack = (
        int(rows[name][1].replace(",", "")) for name in ("full", "exact", "slack")
    )
    assert full > slack > exact
    assert float(rows["exact"][4]) == pytest.approx((0 + 1 + 2 + 3 + 4 + 5 * 7) / 12, abs=0.05)
    assert "over the 12 stored turns of " + SESSION in done.stdout
    assert "ours costs" in done.stdout


def test_the_requested_policies_are_listed_once_and_in_order() -> None:
    store_session(3)
    done = compare("--policy", "ours", "--policy", "full", "--policy", "ours", session="the parser")
    assert list(cells(done)) == ["ours", "full"]


def test_an_unknown_price_gives_costs_in_relative_units() -> None:
    store_session(2, model="scripted/test")
    done = compare()
    assert "no price is known: relative units" in done.stdout
    assert "$" not in done.stdout
    assert "$" in compare("--model", "openai/gpt-4.1").stdout


def test_the_plot_is_written_as_svg() -> None:
    store_session(5)
    cells(compare("--svg", "plot.svg"))
    drawn = "".join(ET.parse("plot.svg").getroot().itertext())
    assert all(name in drawn for name in ("full", "exact", "slack", "compact90", "ours"))


def test_ttl_window_and_context_window_are_applied() -> None:
    store_session(12)
    assert "11 turns began later" in compare("--ttl", "30", "--policy", "full").stdout
    assert " 0 turns began later" in compare("--ttl", "3600", "--policy", "full").stdout
    narrow = compare("--window", "2", "--context-window", "9000").stdout
    assert "window 9,000 tokens; reflection window 2;" in narrow
    assert "which it would refuse: full" in narrow


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--policy", "best"), "invalid choice: 'best'"),
        (("--window", "0"), "0 is out of range: the window's size is 1 to 1000"),
        (("--window", "full"), "'full' is not a window size"),
    ],
)
def test_an_invalid_argument_is_a_usage_error(arguments: tuple[str, ...], message: str) -> None:
    done = compare(*arguments)
    assert done.returncode == 2
    assert message in done.stderr


def test_an_unknown_session_or_database_is_one_line() -> None:
    assert compare().stderr == "compare_policies: There is no file long.db.\n"
    store_session(1)
    done = compare(session="nobody")
    assert done.returncode == 1
    assert done.stderr.startswith("compare_policies: There is no session 'nobody'.")


def test_a_session_without_turns_or_a_plot_that_cannot_be_written_is_one_line() -> None:
    store_session(0)
    assert compare().stderr.startswith("compare_policies: This session has no turns to replay.")
    Path("long.db").unlink()
    store_session(1)
    assert "missing/plot.svg" in compare("--svg", "missing/plot.svg").stderr


def test_control_characters_and_inconsistent_times_are_replayed() -> None:
    store_session(0, title="odd \x1b]0;title\x07")
    with closing(open_database(Path("long.db"))) as database:
        sessions = SessionManager(database)
        sessions.resume(SESSION, "")
        sessions.begin_interaction("日本語 \x1b[0m \ud800")
        call = ToolCall("c", "run_command", {"command": "\x1b[31m"}, duration_ms=-5)
        sessions.append(ChatMessage(Role.ASSISTANT, "", [call], created_at=BEGAN))
        sessions.begin_interaction("")
    assert cells(compare("--svg", "plot.svg"))["full"][0] == "2"
    assert "\x1b" not in Path("plot.svg").read_text(encoding="utf-8")
