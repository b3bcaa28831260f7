"""Every setting is described, has a default of its kind, and can be read."""

from __future__ import annotations

import pytest

from swecli.config.load import parse_setting
from swecli.config.settings import Settings, described
from swecli.models.window import WindowSpec

ROWS = described()


def test_names_and_variables_are_given_once() -> None:
    names, variables = [row[0] for row in ROWS], [row[2] for row in ROWS if row[2]]
    assert len(set(names)) == len(names)
    assert len(set(variables)) == len(variables)
    assert all(variable == f"SWECLI_{name.upper()}" for name, _, variable, _ in ROWS if variable)
    assert "origins" not in names


@pytest.mark.parametrize("row", ROWS, ids=[row[0] for row in ROWS])
def test_a_setting_says_what_it_does_and_takes_its_own_default(row: tuple[str, str, str, object]) -> None:
    name, doc, _, default = row
    assert doc.strip()
    assert getattr(Settings(), name) == default
    if default is not None:
        written = str(default) if isinstance(default, WindowSpec) else default
        assert parse_setting(name, written) == default


def test_settings_that_say_the_same_are_the_same_wherever_they_come_from() -> None:
    assert Settings(origins={"model": "flags"}) == Settings()
