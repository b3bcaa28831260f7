"""Test the cases of the live review benchmark and its rule for a hit, without downloads."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from scripts.benchmarks.live import wilson
from scripts.benchmarks.truth import Case, Truth, load_cases
from swecli.review.judge.grounding import smell_family

ROOT = Path(__file__).parents[2]
TRUTH = Truth("a.py", ((10, 12), (40, 40)), frozenset({"work"}), frozenset({"boundary", "logic"}))


def write_trees(case: Case) -> tuple[str, str]:
    before, after = case.trees(Path("no-cache"))
    for name, content in after.items():
        Path(name).write_bytes(content)
    return before[case.row[0]].decode(), after[case.row[0]].decode()


@pytest.mark.parametrize(
    ("changes", "hit"),
    [
        ({"line": 8}, True),
        ({"line": 42}, True),
        ({"line": 5, "end_line": 9}, True),
        ({"line": 7}, False),
        ({"line": 43}, False),
        ({"line": 300, "symbol": "work"}, True),
        ({"line": 300, "symbol": ""}, False),
        ({"line": 10, "path": "b.py"}, False),
        ({"line": 10, "code_smell_type": "SQL_INJECTION"}, False),
        ({"line": 10, "code_smell_type": "WRONG_CONDITION"}, True),
        ({"line": 10, "code_smell_type": "SOMETHING_ELSE"}, True),  # of no category
    ],
)
def test_a_hit_requires_the_file_nearby_lines_or_the_symbol_and_an_accepted_family(
    changes: dict[str, object], hit: bool
) -> None:
    finding = {
        "path": "a.py",
        "end_line": None,
        "symbol": "other",
        "code_smell_type": "OFF_BY_ONE",
        **changes,
    }
    assert TRUTH.is_hit(finding) is hit


def test_the_number_of_cases_is_as_designed_and_the_first_four_cover_every_kind() -> None:
    cases = load_cases()
    assert Counter(case.kind for case in cases) == {
        "problem": 30,
        "harmless": 20,
        "clean": 10,
        "release": 12,
    }
    assert {case.kind for case in cases[:4]} == {"problem", "harmless", "clean", "release"}
    assert len({case.name for case in cases}) == len(cases)


def test_each_planted_change_is_at_one_place_and_its_truth_names_the_changed_lines() -> None:
    for case in load_cases():
        if case.kind == "release":
            continue
        before, after = write_trees(case)
        assert before.count(case.row[1]) == 1, case
        if case.project == "python":
            compile(after, case.name, "exec")
        changed = [
            n
            for n, pair in enumerate(zip(before.split("\n"), after.split("\n"), strict=False), 1)
            if len({*pair}) == 2
        ]
        truth = case.truth(Path.cwd())
        assert (truth is not None) == (case.kind == "problem"), case
        if truth is not None:
            assert [
                line for place in truth.ranges for line in range(place[0], place[1] + 1)
            ] == changed, case
            assert truth.symbols, case


def test_each_reverted_fix_has_two_releases_lines_known_families_and_a_description() -> None:
    families = {
        smell_family(word)
        for word in (
            "ERROR",
            "LEAK",
            "GLOBAL",
            "LOGIC",
            "BOUNDARY",
            "CONTRACT",
            "RACE",
            "SQL",
            "SECRET",
        )
    }
    for case in load_cases():
        if case.kind == "release":
            _, fixed, broken, path, lines, accepted, wrong = case.row
            assert fixed != broken, case
            assert path.endswith((".py", ".js")), case
            assert wrong.endswith("."), case
            assert all(place.replace("-", "").isdecimal() for place in lines.split()), case
        accepted = (
            case.row[5] if case.kind == "release" else case.row[3] if case.kind == "problem" else ""
        )
        assert set(accepted.split()) <= families, case


def test_the_wilson_interval_has_known_values() -> None:
    assert [round(value, 3) for value in wilson(5, 10)] == [0.237, 0.763]
    assert [round(value, 3) for value in wilson(0, 30)] == [0.0, 0.114]


@pytest.mark.slow
def test_recorded_answers_are_replayed_through_a_review_and_scored() -> None:
    found = {
        "path": "inventory.py",
        "line": 29,
        "code_smell_type": "OFF_BY_ONE",
        "message": "an empty batch is accepted",
    }
    quote = {"path": "inventory.py", "line": 29, "quote": "if batch.pieces < 0:", "why": "0 passes"}
    calls = [
        ("report_findings", {"done": True, "findings": [found]}),
        ("judge_findings", {"judgements": [{"id": "F-1", "verdict": "introduced", **quote}]}),
    ]
    rows = [
        [
            {"call": {"index": 0, "id": "c", "name": name, "arguments": json.dumps(given)}},
            {"stop": "tool_calls"},
        ]
        for name, given in calls
    ]
    lines = [{"window": 128_000}, *rows]
    Path("run.json").write_text('{"model": "some/model", "date": "2026-01-02"}')
    Path("python-problem-1.jsonl").write_text("\n".join(map(json.dumps, lines)) + "\n")
    command = [sys.executable, str(ROOT / "scripts/bench"), "review", "--replay", "."]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(r"^python-problem-1 +hit +1 finding ", done.stdout, re.M)
    assert "replayed: some/model, 2026-01-02, 1 case, 0 incomplete" in done.stdout
    assert "price unknown" in done.stdout
    assert re.search(r"^recall, planted problems +1 of 1  21% to 100%$", done.stdout, re.M)
