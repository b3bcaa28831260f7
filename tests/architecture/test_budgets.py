"""Test that the package stays within the budgets of budgets.toml."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from tests.architecture.measures import PackageSource, traced_turn

RATCHET = tomllib.loads(Path(__file__).with_name("budgets.toml").read_text(encoding="utf-8"))["ratchet"]


@pytest.mark.slow
def test_no_measure_or_package_size_is_above_its_ratchet() -> None:
    source = PackageSource()
    over = {name: value for name, value in source.figures().items() if value > RATCHET[name]}
    assert not over, source.unreached()
    sizes = {name: lines for name, lines in source.packages().items() if lines > 50}
    assert not {name: lines for name, lines in sizes.items() if lines > RATCHET["packages"].get(name, 0)}


def test_a_trivial_turn_runs_no_more_modules_than_its_ratchet(tmp_path: Path) -> None:
    found = traced_turn(tmp_path)
    assert {name: value for name, value in found.items() if value > RATCHET[name]} == {}
