"""Test that regular expressions mean the same with each Python that swecli runs on."""

from __future__ import annotations

import re
from pathlib import Path

PROGRAM = Path(__file__).parents[2] / "swecli"
POSSESSIVE_GROUP = re.compile(r"(?<![\\(])\)(?:[*+?]|\{\d*,?\d*\})\+")


def test_no_group_is_repeated_possessively() -> None:
    """Before 3.11.5, Python ends such a repetition too early: half a key would not be recognised as one."""
    found = [
        f"{file.relative_to(PROGRAM)}:{number}"
        for file in sorted(PROGRAM.rglob("*"))
        if file.suffix in (".py", ".toml")
        for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1)
        if POSSESSIVE_GROUP.search(line)
    ]
    assert found == []
