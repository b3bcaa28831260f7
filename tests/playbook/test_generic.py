"""General advice is told from what holds here: by the words it is made of, in English and German."""

from __future__ import annotations

from swecli.playbook.generic import is_generic

ADVICE = [
    "Be careful",
    "Think carefully before making changes",
    "Handle errors gracefully",
    "Always look at the surrounding code before you edit it",
    "Schreibe sauberen und verständlichen Code",
    "Prüfe immer das Ergebnis deiner Arbeit",
]
HERE = [
    "Use tabs",
    "Never commit to main",
    "Run make check before committing",
    "The user wants short answers",
    "Handle errors with `ShopError`",
    "Check the version in CI",
    "Der Dienst startet erst, wenn Redis läuft",
    "Beträge werden in Cent gerechnet",
]


def test_advice_for_everyone_is_generic_and_what_names_or_says_something_is_not() -> None:
    assert [content for content in ADVICE if not is_generic(content)] == []
    assert [content for content in HERE if is_generic(content)] == []


def test_one_strange_word_does_not_make_long_advice_specific() -> None:
    assert is_generic("Test your changes thoroughly with panache and document the result well")
    assert not is_generic("Test with panache")
