"""`swecli models`: what can be used here, what it needs, and what a start would choose."""

from __future__ import annotations

from pathlib import Path

import pytest

from swecli.llm.learned import LearnedFacts
from tests.support.shell import Run


def test_without_keys_everything_says_what_it_needs(run: Run) -> None:
    told = run("models", "--json").json
    states = {row["model"]: row["state"] for row in told["models"]}
    assert (told["chosen"], states["openai/…"], states["ollama/…"], states["demo"]) == (
        "demo",
        "key not set",
        "needs no key",
        "ready",
    )
    assert "A start here would use demo" in run("models").out


def test_a_key_makes_its_provider_ready_and_chosen(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "x")
    told = run("models", "--json").json
    assert told["chosen"].startswith("anthropic/")
    assert told["why"] == "ANTHROPIC_API_KEY is set"
    assert {row["model"]: row["state"] for row in told["models"]}["anthropic/…"] == "ready"


def test_the_second_variable_of_a_key_counts_too(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GOOGLE_API_KEY", "x")
    row = next(row for row in run("models", "--json").json["models"] if row["model"] == "gemini/…")
    assert (row["key"], row["state"]) == ("GOOGLE_API_KEY", "ready")


def test_known_models_are_found_by_a_word_with_their_prices(run: Run) -> None:
    rows = run("models", "GPT-4o-mini", "--json").json
    row = next(row for row in rows if row["model"] == "openai/gpt-4o-mini")
    assert row["window"] == 128_000
    assert row["input_usd_per_million"] == pytest.approx(0.15)
    assert run("models", "gpt-4o-mini").out.splitlines()[0].split()[:2] == ["model", "window"]


def test_a_word_that_is_in_no_name_is_said(run: Run) -> None:
    done = run("models", "walrus")
    assert done.code == 42
    assert "may work all the same" in done.complaint


def test_the_record_of_a_model_is_shown_with_its_layers_and_what_it_taught_is_forgotten(
    run: Run, own_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    facts = LearnedFacts(own_home / "swecli" / "models.json")
    facts.learn("openai https://api.openai.com/v1 gpt-4.1", "max_output", 4096, "at most 4096")
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    shown = run("models", "show", "openai/gpt-4.1", "--json").json
    assert shown["max_output"] == {"value": 4096, "from": "learned"}
    assert shown["window"] == {"value": 1_047_576, "from": "table"}
    assert run("models", "forget", "openai/gpt-4.1").code == 0
    assert run("models", "forget", "openai/gpt-4.1").code == 42
    assert run("models", "gpt", "nothing").code == 42
