"""Test `swecli doctor`: one line per check, and an exit code of 1 if any check fails."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from swecli.config.paths import Paths
from tests.support.databases import open_database
from tests.support.shell import Run


def test_all_checks_pass_on_a_new_installation_and_no_database_is_created(run: Run) -> None:
    outcome = run("doctor")
    assert outcome.code == 0, outcome.out
    assert [line[:3] for line in outcome.out.splitlines()] == ["ok "] * 10
    assert "none yet" in outcome.out
    assert not Paths.find(os.environ).database.exists()


def doctor_rows(run: Run, *argv: str) -> tuple[int, dict[str, tuple[bool, str]]]:
    outcome = run("doctor", "--json", *argv)
    return outcome.code, {row["what"]: (row["ok"], row["detail"]) for row in outcome.json}


def test_the_sandbox_is_named_and_fails_only_if_it_is_required_and_missing(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SWECLI_SANDBOX", "off")
    code, checks = doctor_rows(run)
    reason = "none, so commands run as you, after you allow them (the setting sandbox is off)"
    assert checks["sandbox"] == (True, reason)
    monkeypatch.setenv("SWECLI_SANDBOX", "required")
    code, checks = doctor_rows(run, "--cwd", "/")
    assert code == 1
    assert checks["sandbox"][0] is False
    assert "The setting sandbox is required, and there is none" in checks["sandbox"][1]


def test_a_sound_database_passes_with_its_path(run: Run) -> None:
    open_database("x.db").close()
    code, checks = doctor_rows(run, "--db", "x.db")
    assert (code, checks["database"]) == (0, (True, f"{Path.cwd() / 'x.db'}: ok"))


def test_a_bad_database_fails_only_its_check(run: Run) -> None:
    Path("x.db").write_text("no database" * 100)
    code, checks = doctor_rows(run, "--db", "x.db")
    assert code == 1
    assert checks["database"][0] is False
    assert "not a database" in checks["database"][1]
    assert checks["model"][0] is True


def test_invalid_settings_fail_and_the_model_is_not_checked(run: Run) -> None:
    Path("c.toml").write_text('mode = "yolo"')
    code, checks = doctor_rows(run, "--config", "c.toml")
    assert code == 1
    assert "unknown mode 'yolo'" in checks["settings"][1]
    assert checks["model"] == (False, "not checked: the settings cannot be read")


def test_a_model_without_its_key_fails_the_model_check(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SWECLI_MODEL", "openai/gpt-4o")
    code, checks = doctor_rows(run)
    assert code == 1
    assert "OPENAI_API_KEY" in checks["model"][1]


def test_a_home_that_cannot_be_written_fails_the_folder_check(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("file").write_text("")
    monkeypatch.setenv("SWECLI_HOME", "file/home")
    code, checks = doctor_rows(run)
    assert code == 1
    assert checks["folders"][0] is False
