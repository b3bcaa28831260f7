"""The scripts that measure the gate and the selection print what the documentation shows."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from scripts.corpus.found import by_age, selected

ROOT = Path(__file__).parents[2]


def run(script: str) -> str:
    command = [sys.executable, str(ROOT / "scripts" / script)]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def test_the_gates_figures_are_those_of_the_documentation() -> None:
    page = (ROOT / "docs" / "explanation" / "what-is-let-in.md").read_text(encoding="utf-8")
    judged, active = run("measure_gate").split("active without the user's yes\n")
    rows = [row.split() for row in judged.splitlines()[1:]]
    assert rows
    for row in active.splitlines():
        name, _, figures = row.partition(": ")
        assert next(line for line in page.splitlines() if line.startswith(f"| {name}")).endswith(f"| {figures} |")
    for row in rows:
        part, figures = (" ".join(row[:2]), row[2:6]) if row[0] in ("held", "in") else (row[0], row[1:5])
        line = next(line for line in page.splitlines() if line.startswith(f"| {part}"))
        assert line.endswith("| " + " | ".join(figures) + " |")


def test_a_query_finds_the_strategy_it_needs_and_age_does_not() -> None:
    words = {"count": lambda text: len(text) // 4, "budget": 600}
    ours, newest = selected(**words), by_age(**words)
    assert ours.inside >= 0.9 * ours.queries
    assert ours.leading >= 0.75 * ours.queries
    assert newest.inside < ours.queries / 4


def test_the_selections_figures_are_printed() -> None:
    assert len(run("measure_selection").splitlines()) == 5
