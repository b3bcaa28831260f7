"""Content words and how alike two texts are."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from swecli.playbook.words import containment, content_words, forbids, jaccard, shorten


def test_filler_is_dropped_and_flags_and_paths_stay_whole() -> None:
    assert content_words("Always run the tests with pytest -q in src/app.py") == {
        "run",
        "test",
        "pytest",
        "-q",
        "src/app.py",
    }


def test_a_plural_counts_with_its_singular() -> None:
    assert content_words("tests") == content_words("test")
    assert content_words("process") == {"process"}


def test_likeness_runs_from_none_to_all() -> None:
    one, other = content_words("use tabs for indentation"), content_words("use spaces for indentation")
    assert jaccard(one, other) == 0.5
    assert jaccard(one, one) == 1.0
    assert jaccard(frozenset(), frozenset()) == 0.0
    assert containment(frozenset({"tab"}), one) == 1.0
    assert containment(frozenset(), one) == 0.0


def test_a_prohibition_is_told_from_a_demand() -> None:
    assert forbids("never use tabs")
    assert forbids("don’t use tabs")
    assert not forbids("always use tabs")


@given(st.text(max_size=300), st.integers(min_value=1, max_value=80))
def test_a_shortened_text_is_one_line_within_its_limit(text: str, limit: int) -> None:
    line = shorten(text, limit)
    assert len(line) <= limit
    assert "\n" not in line


@given(st.text(max_size=200), st.text(max_size=200))
def test_likeness_is_symmetric_and_bounded(a: str, b: str) -> None:
    one, other = content_words(a), content_words(b)
    assert jaccard(one, other) == jaccard(other, one)
    assert 0.0 <= jaccard(one, other) <= 1.0
