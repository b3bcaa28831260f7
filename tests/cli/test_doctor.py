"""`swecli doctor`: one line a thing, and an exit code that says whether to look."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from swecli.config.paths import Paths
from swecli.store.sqlite.database import open_database
from tests.support.shell import Run


def test_a_good_machine_is_all_ok_and_nothing_is_made_but_folders(run: Run) -> None:
    done = run("doctor")
    assert done.code == 0, done.out
    assert [line[:3] for line in done.out.splitlines()] == ["ok "] * 8
    assert "none yet" in done.out
    assert not Paths.find(os.environ).database.exists()


def rows(run: Run, *argv: str) -> tuple[int, dict[str, tuple[bool, str]]]:
    done = run("doctor", "--json", *argv)
    return done.code, {row["what"]: (row["ok"], row["detail"]) for row in done.json}


def test_a_sound_database_is_named(run: Run) -> None:
    open_database("x.db").close()
    code, told = rows(run, "--db", "x.db")
    assert (code, told["database"]) == (0, (True, f"{Path.cwd() / 'x.db'}: ok"))


def test_a_bad_database_needs_attention(run: Run) -> None:
    Path("x.db").write_text("no database" * 100)
    code, told = rows(run, "--db", "x.db")
    assert code == 1
    assert told["database"][0] is False
    assert "not a database" in told["database"][1]
    assert told["model"][0] is True


def test_bad_settings_need_attention_before_the_rest_is_looked_at(run: Run) -> None:
    Path("c.toml").write_text('mode = "yolo"')
    code, told = rows(run, "--config", "c.toml")
    assert code == 1
    assert "unknown mode 'yolo'" in told["settings"][1]
    assert told["model"] == (False, "not checked: the settings cannot be read")


def test_a_model_without_its_key_needs_attention(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SWECLI_MODEL", "openai/gpt-4o")
    code, told = rows(run)
    assert code == 1
    assert "OPENAI_API_KEY" in told["model"][1]


def test_a_home_that_cannot_be_written_needs_attention(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("file").write_text("")
    monkeypatch.setenv("SWECLI_HOME", "file/home")
    code, told = rows(run)
    assert code == 1
    assert told["folders"][0] is False
