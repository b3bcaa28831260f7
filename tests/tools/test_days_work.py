"""Test how many questions a day's work leads to in each mode, with real commands, with the sandbox and without."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from swecli.tools.sandbox import Sandbox
from tests.support.days_work import COMMANDS, LASTING, day_of_work, plain_path


@pytest.fixture(autouse=True)
def path(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let `python3` be an interpreter, no link of a manager of interpreters."""
    monkeypatch.setenv("PATH", plain_path())


LEAVING = [command.text for command in COMMANDS if command.reason]


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["edits", "auto"])
async def test_in_the_sandbox_only_what_leaves_it_is_asked_about(tmp_path: Path, mode: str) -> None:
    require_sandbox(tmp_path)
    outcomes = await day_of_work(tmp_path / "shop", "auto", mode)
    assert [one.command for one in outcomes if one.questions] == LEAVING
    assert [one for one in outcomes if one.failure] == []


@pytest.mark.slow
async def test_who_is_asked_for_each_change_is_not_asked_for_tests_and_looks(
    tmp_path: Path,
) -> None:
    require_sandbox(tmp_path)
    inside = await day_of_work(tmp_path / "with" / "shop", "auto", "ask")
    outside = await day_of_work(tmp_path / "without" / "shop", "off", "ask")
    assert [one for one in inside if one.questions > 1] == []
    asked, asked_without = (
        {one.command for one in outcomes if one.questions} for outcomes in (inside, outside)
    )
    assert asked < asked_without
    assert {"make check", "python3 -m unittest -q", "npm test"}.isdisjoint(asked)
    assert {"git status --short", "grep -rn total shop"}.isdisjoint(asked_without)


@pytest.mark.slow
@pytest.mark.parametrize("sandbox", ["auto", "off"])
async def test_what_was_allowed_for_the_session_is_not_asked_about_when_it_occurs_again(
    tmp_path: Path, sandbox: str
) -> None:
    outcomes = await day_of_work(tmp_path / "shop", sandbox, "ask", LASTING)
    last = {one.command: one.questions for one in outcomes}  # of a command that occurs again
    assert last["git commit -qam 'Name the module totals'"] == 0
    assert last["python3 -m unittest -q"] == 0
    assert last["sed -i 's/shop.prices/shop.totals/' tests/test_prices.py"] == 0
    assert last["git checkout -q -b next"] == 1, "it can destroy work, so its rule is exact"


def require_sandbox(folder: Path) -> None:
    problem = Sandbox("auto", folder, os.environ).problem
    if problem:
        pytest.skip(f"no sandbox on this machine: {problem}")
