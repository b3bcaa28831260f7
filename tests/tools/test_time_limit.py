"""Test the time limits of commands."""

from __future__ import annotations

import pytest

from swecli.tools.registry import ToolRegistry
from swecli.tools.time_limit import READ_ONLY_SECONDS, TimeLimit


@pytest.mark.parametrize(
    ("wanted", "seconds"),
    [(None, READ_ONLY_SECONDS), (3600, READ_ONLY_SECONDS), (1, 1), (READ_ONLY_SECONDS, 10)],
)
def test_what_only_reads_gets_what_it_wants_up_to_a_limit(
    wanted: float | None, seconds: float
) -> None:
    assert TimeLimit.of_reading(wanted) == TimeLimit(seconds, only_reads=True)


def test_the_limit_is_said_only_of_what_only_reads() -> None:
    assert TimeLimit(5).rule == ""
    assert "at most 10 s" in TimeLimit.of_reading(5).rule


def test_the_model_is_told_the_same_limit_beforehand() -> None:
    described = ToolRegistry.discover()["run_command"].description
    assert f"one that only reads gets at most {READ_ONLY_SECONDS:g} seconds" in described
