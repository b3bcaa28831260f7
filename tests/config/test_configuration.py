"""Test which settings files apply in a folder, and that two folders can be configured in one process."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from swecli.config.configuration import read_configuration
from swecli.config.settings import Start
from swecli.models.errors import ConfigError
from tests.support.runtime import trust_everything


def configured(
    folder: Path | None = None, *, config: Path | None = None, everything: bool = False
) -> Start:
    here = folder or Path.cwd()
    return read_configuration(here, os.environ, {}, config=config, everything=everything)


def test_two_folders_have_their_own_settings_in_one_process() -> None:
    one, other = Path.cwd() / "one", Path.cwd() / "other"
    for folder, mode in ((one, "plan"), (other, "edits")):
        (folder / ".swecli").mkdir(parents=True)
        (folder / ".swecli" / "config.toml").write_text(f'mode = "{mode}"')
    found = [configured(folder, everything=True) for folder in (one, other)]
    assert [(start.cwd, start.settings.mode) for start in found] == [(one, "plan"), (other, "ask")]


def test_project_settings_are_used_only_in_a_trusted_repository(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (Path.cwd() / ".git").mkdir()
    (Path.cwd() / ".swecli").mkdir()
    (Path.cwd() / ".swecli" / "config.toml").write_text('mode = "plan"\nallow = ["run"]')
    (Path.cwd() / "src").mkdir()
    monkeypatch.chdir("src")
    before = configured()
    assert before.settings.mode == "ask"
    assert before.notices == (
        ".swecli/config.toml is not used: this folder is not trusted. Run /trust to use it",
    )
    trust_everything(before)
    after = configured()
    assert (after.settings.mode, after.settings.allow) == ("plan", ())
    assert "allow is ignored" in after.notices[0]


def test_project_settings_that_changed_since_they_were_trusted_are_not_used() -> None:
    settings = Path.cwd() / ".swecli" / "config.toml"
    settings.parent.mkdir()
    settings.write_text('mode = "plan"')
    trust_everything(configured())
    settings.write_text('mode = "edits"')
    changed = configured()
    assert changed.settings.mode == "ask"
    assert changed.notices == (
        ".swecli/config.toml is not used: it has changed since you trusted it. /trust shows the change",
    )


def test_the_flag_trust_uses_the_project_settings_and_records_nothing() -> None:
    (Path.cwd() / ".swecli").mkdir()
    (Path.cwd() / ".swecli" / "config.toml").write_text('mode = "plan"')
    assert configured(everything=True).settings.mode == "plan"
    assert configured().settings.mode == "ask"


def test_a_broken_project_file_in_an_untrusted_folder_is_ignored() -> None:
    (Path.cwd() / ".swecli").mkdir()
    (Path.cwd() / ".swecli" / "config.toml").write_text("[[[")
    assert configured().settings.mode == "ask"


def test_a_missing_named_settings_file_is_an_error() -> None:
    with pytest.raises(ConfigError, match=r"There is no settings file gone\.toml"):
        configured(config=Path("gone.toml"))
