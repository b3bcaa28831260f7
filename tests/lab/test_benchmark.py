"""Test the task benchmark: it resumes a stopped run, and draws no conclusion from too little data."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def run_benchmark(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(ROOT / "lab" / "learning" / "benchmark"), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.slow
def test_learning_solves_later_tasks_and_a_stopped_run_is_resumed(tmp_path: Path) -> None:
    what = (
        str(ROOT / "lab" / "learning" / "tasks"),
        "--model",
        "scripted",
        "--seeds",
        "1",
        "--json",
        str(tmp_path / "b.jsonl"),
    )
    assert run_benchmark(*what, "--usd", "0").returncode == 3
    assert (tmp_path / "b.jsonl").read_text().count("\n") == 1
    done = run_benchmark(*what, "--resume")
    assert "| off | 8 of 12 | 5 of 6 | 3 of 6 |" in done.stdout, done.stderr
    assert "| rules | 12 of 12 | 6 of 6 | 6 of 6 |" in done.stdout
    assert "4 more and 0 fewer of 12 pairs (exact McNemar p = 0.125" in done.stdout
    assert "not shown: fewer than 160 pairs. Nothing is claimed." in done.stdout
    assert "says nothing about real ones" in done.stdout


@pytest.mark.parametrize(
    ("text", "line"),
    [("prompt = 1 1", "cannot be read"), ("prompt = 'x'", "has no check"), ("", "has no prompt")],
)
@pytest.mark.slow
def test_an_invalid_task_is_refused_in_one_line(tmp_path: Path, text: str, line: str) -> None:
    (tmp_path / "01-x").mkdir()
    (tmp_path / "01-x" / "task.toml").write_text(text)
    done = run_benchmark(str(tmp_path), "--model", "scripted", "--json", str(tmp_path / "b.jsonl"))
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert line in done.stderr
