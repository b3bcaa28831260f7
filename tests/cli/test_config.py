"""Test `swecli config`: show settings with their origin, and change one of them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from swecli.config.paths import Paths
from tests.support.shell import Run


@pytest.fixture
def config_file() -> Path:
    paths = Paths.find(os.environ)
    paths.ensure()
    return paths.config_file


def test_path_is_printed_for_a_missing_or_broken_file(run: Run, config_file: Path) -> None:
    assert run("config", "path").out == f"{config_file}\n"
    config_file.write_text("[[[")
    assert run("config", "path", "--json").json == {"path": str(config_file), "exists": True}
    assert run("config", "path", "--config", "x.toml").out == f"{Path.cwd() / 'x.toml'}\n"


def test_get_shows_all_settings_and_their_origins(
    run: Run, config_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config_file.write_text('mode = "plan"')
    monkeypatch.setenv("SWECLI_MAX_TURNS", "7")
    lines = [line.split() for line in run("config", "get").out.splitlines()]
    assert lines[0] == ["setting", "value"]
    assert ["mode", '"plan"'] in lines
    assert ["learn", "true"] in lines
    origins = [
        line.split() for line in run("config", "get", "--origin", "--db", "x.db").out.splitlines()
    ]
    assert ["mode", str(config_file), '"plan"'] in origins
    assert ["max_turns", "environment", "7"] in origins
    assert ["db", "flags", '"x.db"'] in origins
    assert ["learn", "default", "true"] in origins
    assert run("config", "get", "--json").json["mode"] == {
        "value": "plan",
        "origin": str(config_file),
    }


def test_get_with_a_name_prints_only_the_value(run: Run, config_file: Path) -> None:
    config_file.write_text('mode = "plan"\nallow = ["run(ls)"]')
    assert run("config", "get", "mode").out == "plan\n"
    assert run("config", "get", "allow").out == '["run(ls)"]\n'
    assert run("config", "get", "window").out == '"5+3"\n'
    assert run("config", "get", "max_budget_usd").out == "\n"
    assert run("config", "get", "mode", "--origin").out.split() == [
        "setting",
        "from",
        "value",
        "mode",
        str(config_file),
        '"plan"',
    ]
    assert run("config", "get", "window", "--json").json == {
        "window": {"value": "5+3", "origin": "default"}
    }


def test_set_changes_one_setting_and_keeps_the_rest_of_the_file(
    run: Run, config_file: Path
) -> None:
    config_file.write_text('# mine\nmode = "plan" # for now\n')
    assert run("config", "set", "mode", "edits").out == f'mode = "edits" in {config_file}\n'
    assert run("config", "set", "window", "5+3", "--json").json == {
        "path": str(config_file),
        "name": "window",
    }
    assert run("config", "set", "allow", "run(git status*)", "edit(src/**)").code == 0
    assert config_file.read_text() == (
        '# mine\nmode = "edits" # for now\nwindow = "5+3"\nallow = ["run(git status*)", "edit(src/**)"]\n'
    )
    assert run("config", "set", "mode", "--unset").code == 0
    assert "mode" not in config_file.read_text()
    assert run("config", "get", "mode").out == "ask\n"


def test_set_creates_a_private_file_and_folder(run: Run) -> None:
    run("config", "set", "mode", "plan")
    config_file = Paths.find(os.environ).config_file
    assert config_file.stat().st_mode & 0o777 == 0o600
    assert config_file.parent.stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize(
    ("argv", "code", "message"),
    [
        (["mod", "ask"], 42, "Did you mean mode?"),
        (["mod", "--unset"], 42, "Did you mean mode?"),
        (["mode", "yolo"], 42, "choose: ask, edits, plan, auto"),
        (["mode", "ask", "plan"], 42, "takes one value"),
        (["max_turns", "0"], 42, "whole number"),
        (["allow", "bad("], 42, "Invalid permission rule"),
        (["mode"], 2, "Give a value, or --unset"),
        (["mode", "ask", "--unset"], 2, "Give a value, or --unset"),
    ],
)
def test_an_invalid_setting_is_an_error_and_changes_nothing(
    run: Run, config_file: Path, argv: list[str], code: int, message: str
) -> None:
    config_file.write_text("max_turns = 3")
    outcome = run("config", "set", *argv)
    assert outcome.code == code
    assert message in outcome.complaint
    assert config_file.read_text() == "max_turns = 3"


def test_a_broken_file_is_not_changed_by_set_but_can_be_edited(
    run: Run, config_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config_file.write_text("[[[")
    assert "is not valid TOML" in run("config", "set", "mode", "ask").complaint
    assert config_file.read_text() == "[[["
    Path("editor").write_text('#!/bin/sh\necho \'mode = "plan"\' > "$2"\n')
    Path("editor").chmod(0o755)
    monkeypatch.setenv("EDITOR", f"{Path.cwd() / 'editor'} --wait")
    assert run("config", "edit").out == f"{config_file}: ok\n"
    assert config_file.read_text() == 'mode = "plan"\n'


def test_edit_creates_a_file_with_commented_defaults(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VISUAL", "true")
    assert run("config", "edit").code == 0
    assert "# max_turns = 50" in Paths.find(os.environ).config_file.read_text()


def test_edit_reports_an_invalid_setting_afterwards(
    run: Run, monkeypatch: pytest.MonkeyPatch, config_file: Path
) -> None:
    config_file.write_text('mode = "yolo"')
    monkeypatch.setenv("VISUAL", "true")
    outcome = run("config", "edit")
    assert (outcome.code, "unknown mode 'yolo'" in outcome.complaint) == (42, True)


@pytest.mark.parametrize(("editor", "code"), [("false", 1), ("/no/such/editor", 42), ("'", 42)])
def test_an_editor_that_fails_is_reported(
    run: Run, monkeypatch: pytest.MonkeyPatch, editor: str, code: int
) -> None:
    monkeypatch.setenv("VISUAL", editor)
    outcome = run("config", "edit")
    assert outcome.code == code
    assert "editor" in outcome.complaint.lower()


def test_a_settings_file_that_cannot_be_written_is_an_error(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("file").write_text("")
    monkeypatch.setenv("SWECLI_HOME", "file/home")
    outcome = run("config", "set", "mode", "ask")
    assert outcome.code == 42
    assert "cannot be written: Not a directory" in outcome.complaint
