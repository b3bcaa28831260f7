"""Test that the models which defaults, help and pages name are those of the table's day, and not older ones."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from swecli.llm import default_models
from swecli.llm.price_table import find_row, guess_row
from swecli.llm.services import HOSTED

ROOT = Path(__file__).parents[2]
PAGES = (ROOT / "README.md", *sorted((ROOT / "docs" / "how-to").glob("*.md")))
NAME = re.compile(r"\b(openai|anthropic)/((?:gpt|claude)-[\w.-]+)")
NAMED = {
    f"{found[1]}/{found[2].rstrip('.')}"
    for page in PAGES
    for found in NAME.finditer(page.read_text(encoding="utf-8"))
}
DEFAULTS = {one.default_model for one in HOSTED if one.default_model}


@pytest.mark.parametrize("name", sorted(NAMED | DEFAULTS))
def test_a_model_that_is_named_is_in_the_table_and_stays(name: str) -> None:
    provider, _, model = name.partition("/")
    row = find_row(provider, model)
    assert row is not None
    assert not row.get("deprecation_date")


@pytest.mark.parametrize("name", sorted({*NAMED, default_models.OPENAI, default_models.ANTHROPIC}))
def test_a_model_that_is_named_in_pages_and_help_is_the_newest_of_its_family(name: str) -> None:
    provider, _, model = name.partition("/")
    newest = guess_row(provider, re.sub(r"\d+", "99", model))
    assert newest is not None
    assert newest[0] == model


def test_pages_and_help_name_the_same_model() -> None:
    assert default_models.OPENAI in NAMED
