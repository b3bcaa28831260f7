"""Test that every setting has a description, an environment variable and a valid default."""

from __future__ import annotations

import pytest

from swecli.config.settings import SETTINGS, Settings
from swecli.models.context import WindowSpec


def test_a_variable_is_named_like_its_setting() -> None:
    assert SETTINGS["max_turns"].env == "SWECLI_MAX_TURNS"
    assert SETTINGS["allow"].env == ""  # A list is not plain text.
    assert "origins" not in SETTINGS


@pytest.mark.parametrize("name", SETTINGS)
def test_a_setting_states_what_it_does_and_takes_its_own_default(name: str) -> None:
    setting = SETTINGS[name]
    assert setting.doc.strip()
    assert getattr(Settings(), name) == setting.default
    if setting.default is not None:
        written = str(setting.default) if isinstance(setting.default, WindowSpec) else setting.default
        assert setting.parse(written) == setting.default


def test_settings_that_say_the_same_are_the_same_wherever_they_come_from() -> None:
    assert Settings(origins={"model": "flags"}) == Settings()
