"""Test that every setting has a description, an environment variable and a valid default."""

from __future__ import annotations

import pytest

from swecli.config.settings import SETTINGS, Settings
from swecli.models.context import WindowSpec


def test_a_setting_has_an_environment_variable_of_its_name_unless_it_is_a_list() -> None:
    assert SETTINGS["max_turns"].variable == "SWECLI_MAX_TURNS"
    assert SETTINGS["allow"].variable == ""  # A list is not plain text.
    assert "origins" not in SETTINGS


@pytest.mark.parametrize("name", SETTINGS)
def test_every_setting_has_a_description_and_accepts_its_default(name: str) -> None:
    setting = SETTINGS[name]
    assert setting.doc.strip()
    assert getattr(Settings(), name) == setting.default
    if setting.default is not None:
        written = (
            str(setting.default) if isinstance(setting.default, WindowSpec) else setting.default
        )
        assert setting.parse(written) == setting.default


def test_settings_are_compared_without_their_origins() -> None:
    assert Settings(origins={"model": "flags"}) == Settings()
