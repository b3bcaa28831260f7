"""How well a text matches a query: rare shared terms count most, endings and paths are seen through."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from swecli.playbook.relevance import matches, terms

TEXTS = st.lists(st.text(alphabet="abc ./-", max_size=30), max_size=8)


def test_no_shared_term_is_no_match_and_more_shared_terms_are_a_better_one() -> None:
    none, one, two = matches("round the prices", ["Use tabs", "The prices have tax", "Round prices late"])
    assert none == 0 < one < two < 1


def test_a_rare_term_says_more_than_a_common_one() -> None:
    texts = ["run tests", "run linters", "run migrations", "redis container"]
    found = matches("run redis", texts)
    assert found[3] > found[0] > 0


def test_a_long_text_needs_more_to_match_as_well() -> None:
    short, long = matches("migrations", ["write migrations", "migrations of shops, carts, taxes and prices"])
    assert short > long


def test_words_match_in_their_forms_and_paths_in_their_parts() -> None:
    assert terms("testing") == terms("tests") == terms("test")
    assert terms("committing") == terms("commits")
    assert terms("price") < terms("src/api/prices.py")
    assert matches("what about prices.py", ["src/api/prices.py rounds late", "Use tabs"])[0] > 0


def test_other_languages_match_as_they_are_written() -> None:
    found = matches("Rechnungen prüfen", ["Die Rechnungen liegen in data/", "Use tabs"])
    assert found[0] > found[1] == 0


@given(st.text(max_size=30), TEXTS)
def test_a_match_is_a_share_and_depends_on_no_order(query: str, texts: list[str]) -> None:
    found = matches(query, texts)
    assert all(0 <= match < 1 for match in found)
    assert matches(query, texts[::-1]) == found[::-1]
