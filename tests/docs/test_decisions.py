"""Test that the index of decisions lists each record, and that every record named elsewhere exists."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
RECORDS = {path.name for path in (ROOT / "docs/adr").glob("[0-9]*.md")}
NUMBERS = {name[:4] for name in RECORDS}
NAMED = re.compile(r"docs/adr/(\d{4})|\bADR (\d+)")


def test_the_index_lists_each_decision_once() -> None:
    index = (ROOT / "docs/adr/index.md").read_text(encoding="utf-8")
    assert sorted(re.findall(r"\]\((\d{4}-[^)]+)\)", index)) == sorted(RECORDS)


def test_each_decision_begins_with_its_number() -> None:
    for name in RECORDS:
        title = (ROOT / "docs/adr" / name).read_text(encoding="utf-8").splitlines()[0]
        assert title.startswith(f"# {int(name[:4])}. ")


def test_decisions_named_in_code_and_pages_exist() -> None:
    files = [
        ROOT / "pyproject.toml",
        *(ROOT / "swecli").rglob("*.py"),
        *(ROOT / "docs").rglob("*.md"),
    ]
    named = {
        (first or second).zfill(4)
        for file in files
        for first, second in NAMED.findall(file.read_text(encoding="utf-8"))
    }
    assert named <= NUMBERS
