"""Test how a run starts: its directory, settings files and model, and the errors for missing ones."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from swecli.cli.flags import parse_run
from swecli.cli.startup import make_folders, make_start, offer_model
from swecli.config.own_command import own_command
from swecli.config.paths import Paths
from swecli.config.settings import Start
from swecli.models.errors import BadInput, StoreError


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
    assert (start.choice.name, start.choice.reason, start.prompt) == (
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


def test_the_cwd_flag_moves_the_run_but_neither_the_process_nor_the_config_file(
    tmp_path: Path,
) -> None:
    (tmp_path / "there").mkdir()
    Path("c.toml").write_text("max_turns = 3")
    here = Path.cwd()
    start = start_of("-C", str(tmp_path / "there"), "--config", "c.toml")
    assert (start.cwd, Path.cwd()) == (tmp_path / "there", here)
    assert start.settings.origins["max_turns"] == str(here / "c.toml")


def test_a_home_folder_that_cannot_be_created_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    Path("file").write_text("")
    monkeypatch.setenv("SWECLI_HOME", "file/home")
    with pytest.raises(StoreError, match=r"cannot be created: Not a directory\.  Set SWECLI_HOME"):
        make_folders(Paths.find(os.environ))


def test_a_prompt_that_is_not_utf8_is_refused_before_any_folder_is_created() -> None:
    with pytest.raises(BadInput, match="not UTF-8"):
        start_of("-p", "\udcff")
    assert not Paths.find(os.environ).config.exists()


def test_a_first_start_without_a_model_offers_the_tutorial_by_a_command_that_runs() -> None:
    [offer] = offer_model(start_of()).notices
    command = own_command(sys.argv[0], Path.cwd(), os.environ.get("PATH"))
    assert f"`{command} tutorial`" in offer
    assert not offer_model(start_of("-m", "demo")).notices
