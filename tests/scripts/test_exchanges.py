"""Test lab/exchanges on two exchanges: what rules and a recorded reflector say beside the label."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
TOLD = "boxes are counted in dozens"


def exchange(name: str, **more: Any) -> dict[str, Any]:
    row: dict[str, Any] = {
        "id": name,
        "query": "count the boxes",
        "calls": [],
        "answer": "There are 3 [P-4].",
    }
    row |= {"shown": [{"id": "P-4", "text": "Boxes are counted one by one."}], "cited": ["P-4"]}
    row |= {"stored": [], "waiting": [], "mark": {"value": "", "words": "", "by": ""}}
    return row | more


def label(turn: str, effect: str, *lessons: dict[str, Any]) -> dict[str, Any]:
    return {"turn": turn, "why": "so", "strategies": {"P-4": effect}, "lessons": [*lessons]}


ROWS = [
    exchange(
        "S1T1",
        reactions=[{"kind": "message", "text": f"No. {TOLD.capitalize()}", "when": "after"}],
        truth=label(
            "bad",
            "refuted",
            {"text": "Boxes are counted in dozens.", "source": "user", "quote": TOLD,
             "replaces": None, "same_as": None},
        ),
    ),
    exchange(
        "S1T2",
        reactions=[{"kind": "mark", "value": "good", "text": "right", "when": "after"}],
        truth=label("good", "helped"),
    ),
]  # fmt: skip


@pytest.mark.slow
def test_the_table_has_rules_reflector_and_label_of_each_effect(tmp_path: Path) -> None:
    file, answers = tmp_path / "rows.jsonl", tmp_path / "answers.jsonl"
    file.write_text("\n".join(map(json.dumps, ROWS)))
    said = {"turn": "good", "why": "fine", "strategies": [{"id": "P-4", "effect": "ignored"}]}
    answers.write_text(json.dumps({"id": "S1T2", "answer": said}))
    command = [
        sys.executable,
        str(ROOT / "lab" / "exchanges"),
        str(file),
        "--answers",
        str(answers),
    ]
    run = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert run.returncode == 0, run.stderr
    lines = run.stdout.splitlines()
    assert lines[1].split() == ["S1T1", "P-4", "refuted", "refuted"]
    assert lines[2].split() == ["S1T2", "P-4", "ignored", "helped"], "a mark alone credits nothing"
    assert "reflector: for: 0 of 0 said are right, 0 of 1 found" in run.stdout
    assert "new entries: 1 active" in run.stdout
