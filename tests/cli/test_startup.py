"""Test how a run starts: its directory, settings files and model, and the errors for missing ones."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

import pytest

from swecli.cli.flags import parse_run
from swecli.cli.startup import (
    _working_directory,
    enter_directory,
    internal_error,
    make_folders,
    make_start,
    read_configuration,
)
from swecli.config.paths import Paths
from swecli.config.settings import Start
from swecli.models.errors import BadInput, ConfigError, StoreError
from tests.support.runtime import trust_everything


def start_of(*argv: str) -> Start:
    return make_start(parse_run(argv))


def write_settings(text: str) -> Path:
    paths = Paths.find(os.environ)
    paths.ensure()
    paths.config_file.write_text(text)
    return paths.config_file


def test_the_start_combines_flags_settings_files_and_defaults() -> None:
    write_settings('mode = "plan"\nmax_turns = 3')
    start = start_of("-m", "scripted/test", "--max-turns", "9", "--no-color", "do it")
    assert (start.settings.mode, start.settings.max_turns, start.settings.color) == (
        "plan",
        9,
        False,
    )
    assert (start.choice.name, start.choice.why, start.prompt) == (
        "scripted/test",
        "set by -m",
        "do it",
    )
    assert (start.cwd, start.resume, start.pick, start.trusted) == (Path.cwd(), None, False, False)


@pytest.mark.parametrize(
    ("argv", "resume", "pick"),
    [(["-c"], "", False), (["-r", "x"], "x", False), (["-r"], None, True)],
)
def test_continue_and_resume_flags_select_the_session(
    argv: list[str], resume: str | None, pick: bool
) -> None:
    start = start_of(*argv)
    assert (start.resume, start.pick) == (resume, pick)


def test_the_cwd_flag_changes_the_directory_after_resolving_config(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    Path("c.toml").write_text("max_turns = 3")
    here = Path.cwd()
    start = start_of("-C", str(tmp_path / "there"), "--config", "c.toml")
    assert start.cwd == tmp_path / "there"
    assert start.settings.origins["max_turns"] == str(here / "c.toml")


def test_project_settings_are_used_only_in_a_trusted_repository(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (Path.cwd() / ".git").mkdir()
    (Path.cwd() / ".swecli").mkdir()
    (Path.cwd() / ".swecli" / "config.toml").write_text('mode = "plan"\nallow = ["run"]')
    (Path.cwd() / "src").mkdir()
    monkeypatch.chdir("src")
    before = read_configuration(None, {})
    assert before.settings.mode == "ask"
    assert before.notices == (
        ".swecli/config.toml is not used: this folder is not trusted: run /trust to use it",
    )
    trust_everything(before)
    after = read_configuration(None, {})
    assert (after.settings.mode, after.settings.allow) == ("plan", ())
    assert "allow is ignored" in after.notices[0]


def test_project_settings_that_changed_since_they_were_trusted_are_not_used() -> None:
    settings = Path.cwd() / ".swecli" / "config.toml"
    settings.parent.mkdir()
    settings.write_text('mode = "plan"')
    trust_everything(read_configuration(None, {}))
    settings.write_text('mode = "edits"')
    changed = read_configuration(None, {})
    assert changed.settings.mode == "ask"
    assert changed.notices == (
        ".swecli/config.toml is not used: it has changed since you trusted it: /trust shows how",
    )


def test_the_flag_trust_uses_the_project_settings_and_records_nothing() -> None:
    (Path.cwd() / ".swecli").mkdir()
    (Path.cwd() / ".swecli" / "config.toml").write_text('mode = "plan"')
    assert read_configuration(None, {}, everything=True).settings.mode == "plan"
    assert read_configuration(None, {}).settings.mode == "ask"


def test_a_broken_project_file_in_an_untrusted_folder_is_ignored() -> None:
    (Path.cwd() / ".swecli").mkdir()
    (Path.cwd() / ".swecli" / "config.toml").write_text("[[[")
    assert read_configuration(None, {}).settings.mode == "ask"


def test_a_missing_named_settings_file_is_an_error() -> None:
    with pytest.raises(ConfigError, match=r"There is no settings file gone\.toml"):
        read_configuration("gone.toml", {})


@pytest.mark.parametrize("place", ["gone", "file"])
def test_changing_to_an_invalid_directory_is_an_error(place: str) -> None:
    Path("file").write_text("")
    with pytest.raises(BadInput, match=f"Cannot change to '{place}': "):
        enter_directory(argparse.Namespace(cwd=place, db=None, config=None))


def test_a_deleted_working_directory_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    with pytest.raises(BadInput, match="The working directory is gone"):
        _working_directory()


def test_a_home_folder_that_cannot_be_created_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    Path("file").write_text("")
    monkeypatch.setenv("SWECLI_HOME", "file/home")
    with pytest.raises(StoreError, match=r"cannot be created: Not a directory\.  Set SWECLI_HOME"):
        make_folders(Paths.find(os.environ))


def test_a_prompt_that_is_not_utf8_is_refused_before_any_folder_is_created() -> None:
    with pytest.raises(BadInput, match="not UTF-8"):
        start_of("-p", "\udcff")
    assert not Paths.find(os.environ).config.exists()


def test_an_internal_error_is_logged_without_secrets_and_reported() -> None:
    Paths.find(os.environ).ensure()
    try:
        raise ValueError("password = hunter22x")
    except ValueError as error:
        shown = internal_error(error)
    log = Paths.find(os.environ).log
    assert str(log) in shown.hint
    assert shown.exit_code == 1
    assert "Traceback" in log.read_text()
    assert "hunter22x" not in log.read_text()


def test_an_internal_error_is_reported_even_if_it_cannot_be_logged(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("SWECLI_HOME", "~nobody-of-that-name")
    assert internal_error(ValueError("x")).message == "Internal error: ValueError: x."
