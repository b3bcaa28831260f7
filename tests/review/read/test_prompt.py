"""What a review's model is told does not grow with the project."""

from __future__ import annotations

from pathlib import Path

from swecli.models.finding import SMELLS
from swecli.review.read.linter_hints import Lead
from swecli.review.read.prompt import not_read, system_prompt
from swecli.review.target.diffs import FileDiff
from swecli.review.target.targets import Target

MANY = tuple(f"package/module_{n:05}.py" for n in range(10_000))


def test_it_stays_short_for_ten_thousand_files() -> None:
    leads = [Lead("ruff", name, 1, "x") for name in MANY]
    text, shown = system_prompt(Target((".",), "the whole tree", MANY), leads, [], Path("/p"), 60_000)
    assert len(text) < 20_000
    assert shown == []
    assert all(smell in text for smell in SMELLS)
    assert len(not_read(MANY, MANY[:5])) < 2_000


def test_changes_that_fit_are_shown_and_count_as_read() -> None:
    diffs = {"a.py": FileDiff("a.py", "the change of a"), "b.py": FileDiff("b.py", "x" * 5_000)}
    text, shown = system_prompt(Target((), "the changes", ("a.py", "b.py"), diffs), [], [], Path("/p"), 1_000)
    assert shown == ["a.py"]
    assert "the change of a" in text
    assert "(the change of b.py has 5,000 characters: read the file)" in text


def test_what_is_left_is_named_until_nothing_is() -> None:
    assert not_read(["a", "b"], ["a"]) == "Not read yet (1 of 2): b."
    assert not_read(["a"], ["a"]) == ""
