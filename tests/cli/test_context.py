"""Test `swecli context replay`, which replays a stored session offline under each policy."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from swecli.models.message import ChatMessage, Role, ToolCall
from swecli.store.session_files.importing import import_session
from swecli.store.session_manager import SessionManager
from swecli.store.sqlite.database import open_database
from tests.support.shell import HELLO, Run

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


def replay(run: Run, *more: str, session: str = SESSION) -> Any:
    return run("context", "replay", session, "--db", "long.db", *more)


def test_replay_prints_a_row_for_each_policy_and_the_assumptions(run: Run) -> None:
    store_session(12)
    done = replay(run)
    assert done.code == 0
    lines = done.out.splitlines()
    assert lines[0].split("  ")[0] == "policy"
    assert [line.split()[0] for line in lines[1:6]] == [
        "full",
        "exact",
        "slack",
        "compact90",
        "ours",
    ]
    assert all(line.split()[1] == "24" and "$" in line for line in lines[1:6])
    assert (
        f"A simulation over the 12 stored turns of {SESSION}: nothing was sent to a model."
        in done.out
    )
    assert "Prices of anthropic/claude-sonnet-4-5 in litellm's local table" in done.out
    assert "ours costs" in done.out


def test_replay_prints_its_figures_as_json(run: Run) -> None:
    store_session(12)
    value = replay(run, "--json").json
    assert value["simulation"] is True
    assert (value["turns"], value["window"], value["ttl"], value["cost_unit"]) == (
        12,
        "5+3",
        300,
        "USD",
    )
    policies = {row["policy"]: row for row in value["policies"]}
    assert list(policies) == ["full", "exact", "slack", "compact90", "ours"]
    for row in policies.values():
        assert sum(turn["input"] for turn in row["by_turn"]) == row["input"]
        assert 0 < row["cached_share"] < 1
    assert policies["full"]["input"] > policies["slack"]["input"] > policies["exact"]["input"]
    assert policies["exact"]["mean_visible"] == pytest.approx((0 + 1 + 2 + 3 + 4 + 5 * 7) / 12)


def test_replay_lists_the_requested_policies_once_and_in_order(run: Run) -> None:
    store_session(3)
    value = replay(run, "--json", "--policy", "ours", "--policy", "full", "--policy", "ours").json
    assert [row["policy"] for row in value["policies"]] == ["ours", "full"]


def test_a_session_is_found_by_its_title(run: Run) -> None:
    store_session(2)
    assert replay(run, "--json", session="the parser").json["session_id"] == SESSION
    assert replay(run, session="").code == 42


def test_replay_without_a_session_uses_the_last_one_of_the_directory(run: Run) -> None:
    done = run("context", "replay")
    assert done.code == 42
    assert "no session in this directory yet" in done.complaint
    run("-p", "hello", "-m", HELLO)
    assert run("context", "replay", "--json").json["turns"] == 1


def test_an_unknown_price_gives_costs_in_relative_units(run: Run) -> None:
    store_session(2, model="scripted/test")
    done = replay(run)
    assert "No price is known for 'scripted/test': cost in relative units" in done.out
    assert "$" not in done.out
    assert "The model's window is unknown and was assumed" in done.out
    assert replay(run, "--json").json["cost_unit"] == "relative units"
    assert replay(run, "--json", "--model", "openai/gpt-4.1").json["cost_unit"] == "USD"


def test_the_plot_fits_the_terminal_width(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    store_session(30)
    monkeypatch.setenv("COLUMNS", "50")
    lines = replay(run, "--plot", "--policy", "full", "--policy", "ours").out.splitlines()
    drawn = lines[lines.index("input tokens a turn, by turn:") :]
    assert all(len(line) <= 50 for line in drawn[: drawn.index("")])
    assert any("ff full" in line for line in drawn)
    assert any("oo ours" in line for line in drawn)


def test_the_plot_is_written_as_svg(run: Run) -> None:
    store_session(5)
    assert "Wrote plot.svg." in replay(run, "--svg", "plot.svg").out
    root = ET.parse("plot.svg").getroot()
    drawn = "".join(root.itertext())
    assert all(name in drawn for name in ("full", "exact", "slack", "compact90", "ours"))
    assert json.loads(replay(run, "--svg", "again.svg", "--json").out)["turns"] == 5


def test_ttl_window_and_context_window_flags_are_applied(run: Run) -> None:
    store_session(12)
    cold = replay(run, "--json", "--ttl", "30", "--policy", "full").json["policies"][0]
    assert all(turn["cold"] for turn in cold["by_turn"])
    warm = replay(run, "--json", "--ttl", "3600", "--policy", "full").json["policies"][0]
    assert not any(turn["cold"] for turn in warm["by_turn"][1:])
    narrow = replay(run, "--json", "--window", "2", "--context-window", "9000").json
    assert (narrow["window"], narrow["context_window"]) == ("2", 9000)
    by_name = {row["policy"]: row for row in narrow["policies"]}
    assert by_name["compact90"]["reductions"] > 0
    assert by_name["full"]["over"] > 0
    assert "which it would refuse: full" in replay(run, "--context-window", "9000").out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--policy", "best"), "--policy: invalid choice: 'best'"),
        (("--window", "0"), "--window: 0 is out of range: the window's size is 1 to 1000"),
        (("--window=-3",), "-3 is out of range"),
        (("--window", "1000000000"), "1000000000 is out of range"),
        (("--window", "abc"), "'abc' is not a window"),
        (("--window", "99999"), "99999 is out of range"),
        (("--window", "full"), "'full' is not a window size"),
        (("--ttl", "5m"), "'5m' is not a whole number above 0"),
        (("--context-window", "0"), "'0' is not a whole number above 0"),
    ],
)
def test_an_invalid_argument_is_a_usage_error(
    run: Run, arguments: tuple[str, ...], message: str
) -> None:
    done = replay(run, *arguments)
    assert done.code == 2
    assert message in done.complaint


def test_an_unknown_session_or_database_is_an_error(run: Run) -> None:
    store_session(1)
    done = replay(run, session="nobody")
    assert (done.code, done.complaint) == (
        42,
        "swecli: There is no session 'nobody'.  See: swecli sessions list",
    )
    assert run("context", "replay", SESSION, "--db", "none.db").code == 42
    assert run("context").code == run("context", "forecast").code == 2


def test_a_session_without_turns_is_refused(run: Run) -> None:
    store_session(0)
    done = replay(run)
    assert done.code == 42
    assert "This session has no turns to replay." in done.complaint


def test_an_svg_file_that_cannot_be_written_is_an_error(run: Run) -> None:
    store_session(1)
    done = replay(run, "--svg", "missing/plot.svg")
    assert done.code == 42
    assert "missing/plot.svg cannot be written" in done.complaint


def test_control_characters_and_inconsistent_times_are_replayed(run: Run) -> None:
    store_session(0, title="odd \x1b]0;title\x07")
    database = open_database(Path("long.db"))
    try:
        sessions = SessionManager(database)
        sessions.resume(SESSION, "")
        sessions.begin_interaction("日本語 \x1b[0m \ud800")
        call = ToolCall("c", "run_command", {"command": "\x1b[31m"}, duration_ms=-5)
        sessions.append(ChatMessage(Role.ASSISTANT, "", [call], created_at=BEGAN))
        sessions.begin_interaction("")
    finally:
        database.close()
    done = replay(run, "--plot")
    assert done.code == 0
    assert "\x1b" not in done.out
    assert replay(run, "--json").json["policies"][0]["requests"] == 2
