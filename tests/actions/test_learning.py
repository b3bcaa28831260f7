"""Test `swecli learn`, which learns from stored sessions, once from each."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.support.shell import Run, script

ADD = {"lessons": [{"text": "Build with `sh build.sh`", "quote": "see build.sh for it"}]}
ALWAYS = ("--config", "always.toml")


def run_session(run: Run, *queries: str) -> None:
    """Run a session of these queries with learning disabled."""
    Path("no.toml").write_text("learn = false\n")
    Path("always.toml").write_text('reflect = "always"\n')
    for at, query in enumerate(queries):
        more = ["-c"] if at else []
        assert (
            run("-p", query, "-m", script("s.json", "Done."), "--config", "no.toml", *more).code
            == 0
        )


def exported_playbook(run: Run) -> Any:
    return run("playbook", "export", "-").out


@pytest.mark.slow
def test_stored_sessions_are_learned_from_once(run: Run) -> None:
    run_session(run, "remember that answers are short", "hello", "from now on, write in English")
    assert run("playbook", "list", "--json").json == []
    outcome = run("learn", "--from", "here", "--rules-only")
    assert "1 added to the playbook" in outcome.out
    learned = exported_playbook(run)
    for again in (["--from", "all"], ["--from", "here", "--epochs", "3"]):
        run("learn", *again, "--rules-only")
        assert exported_playbook(run) == learned
    assert run("learn", "--from", "here", "--rules-only", "--json").json["turns"] == 0


@pytest.mark.slow
def test_a_model_reflects_on_each_turn_once_per_epoch(run: Run) -> None:
    run_session(run, "how is it built, see build.sh for it", "and again, see build.sh for it")
    model = script("reflector.json", *[json.dumps(ADD)] * 9)
    first = run("learn", "--from", "here", *ALWAYS, "-m", model, "--json").json
    assert (first["turns"], first["failed"]) == (2, 0)
    assert first["tokens"] > 0
    learned = exported_playbook(run)
    assert "Build with `sh build.sh`" in learned
    assert run("learn", "--from", "here", *ALWAYS, "-m", model, "--json").json["turns"] == 0
    assert (
        run("learn", "--from", "here", *ALWAYS, "-m", model, "--epochs", "2", "--json").json[
            "turns"
        ]
        == 2
    )
    assert (
        run("learn", "--from", "here", *ALWAYS, "-m", model, "--epochs", "2", "--json").json[
            "turns"
        ]
        == 0
    )


def test_failed_reflections_are_reported_with_reasons_and_exit_code_1(run: Run) -> None:
    run_session(run, "how is it built, see build.sh for it")
    outcome = run(
        "learn",
        "--from",
        "here",
        *ALWAYS,
        "-m",
        script("reflector.json", "no JSON", "none again"),
        "--json",
    )
    assert outcome.code == 1
    [failure] = outcome.json["failures"]
    assert (failure["turn"], outcome.json["failed"]) == (1, 1)
    assert "JSON" in failure["reason"]


def test_a_session_whose_directory_is_missing_is_skipped_and_reported(
    run: Run, tmp_path: Path
) -> None:
    place = tmp_path / "gone"
    place.mkdir()
    os.chdir(place)
    run_session(run, "remember that answers are short")
    os.chdir(tmp_path)
    shutil.rmtree(place)
    outcome = run("learn", "--from", "all", "--rules-only")
    assert f"{place} does not exist" in outcome.out
    assert "0 turns reflected on" in outcome.out
    [line] = run("learn", "--from", "all", "--rules-only", "--json").json["left_out"]
    assert str(place) in line


@pytest.mark.parametrize(
    ("argv", "code"),
    [
        ([], 2),
        (["--from"], 2),
        (["--from", "nowhere"], 42),
        (["--from", "here"], 42),
        (["--from", "here", "--epochs", "0", "--rules-only"], 2),
        (["--from", "here", "-m", "nobody/nothing"], 42),
    ],
)
def test_an_invalid_source_or_option_is_an_error_in_one_line(
    run: Run, argv: list[str], code: int
) -> None:
    outcome = run("learn", *argv)
    assert outcome.code == code
    assert outcome.complaint
