"""Test `swecli models`: the models that can be used, the keys they require, and the one chosen by default."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from swecli.llm import registry
from swecli.llm.price_table import shipped_table
from swecli.llm.table_update import ADDRESS_VARIABLE
from tests.llm.test_openrouter_list import LIST, serving
from tests.support.shell import Run
from tests.support.strict_provider import Call, Refusal, Reply, StrictProvider, Tokens


def test_without_keys_each_model_is_listed_with_its_state_and_demo_is_chosen(run: Run) -> None:
    listed = run("models", "--json").json
    states = {row["model"]: row["state"] for row in listed["models"]}
    assert (listed["chosen"], states["openai/…"], states["ollama/…"], states["demo"]) == (
        "demo",
        "key not set",
        "needs no key",
        "ready",
    )
    assert "In this folder swecli would use demo" in run("models").out


def test_a_key_makes_its_provider_ready_and_chosen(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "x")
    listed = run("models", "--json").json
    assert listed["chosen"].startswith("anthropic/")
    assert listed["why"] == "ANTHROPIC_API_KEY is set"
    assert {row["model"]: row["state"] for row in listed["models"]}["anthropic/…"] == "ready"


def test_an_alternative_key_variable_makes_its_provider_ready(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GOOGLE_API_KEY", "x")
    row = next(row for row in run("models", "--json").json["models"] if row["model"] == "gemini/…")
    assert (row["key"], row["state"]) == ("GOOGLE_API_KEY", "ready")


def test_known_models_are_found_by_a_word_with_their_prices(run: Run) -> None:
    rows = run("models", "GPT-4o-mini", "--json").json
    row = next(row for row in rows if row["model"] == "openai/gpt-4o-mini")
    assert row["window"] == 128_000
    assert row["input_usd_per_million"] == pytest.approx(0.15)
    assert run("models", "gpt-4o-mini").out.splitlines()[0].split()[:2] == ["model", "window"]


def test_a_word_that_matches_no_model_is_an_error(run: Run) -> None:
    outcome = run("models", "walrus")
    assert outcome.code == 42
    assert "may still work" in outcome.complaint


def test_a_profile_is_shown_with_origins_and_without_a_key(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    fields = run("models", "show", "openai/gpt-4.1", "--json").json
    assert fields["wire"]["value"] == "OpenAI's chat completions"
    assert fields["levels"]["value"] == []
    assert fields["window"] == {"value": 1_047_576, "from": "table"}
    assert run("models", "gpt", "nothing").code == 2
    dated = run("models", "show", "openai/gpt-4.1-2031-01-01", "--json").json
    assert dated["window"] == {"value": fields["window"]["value"], "from": "guessed: like gpt-4.1"}
    assert dated["price_input"]["from"] == "guessed: like gpt-4.1"
    assert "models show needs a model's name" in run("models", "show").complaint


def write_config(own_home: Path, text: str) -> None:
    (own_home / "swecli").mkdir(exist_ok=True)
    (own_home / "swecli" / "config.toml").write_text(text)


def test_configured_models_are_listed_and_shown_by_name(
    run: Run, own_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = '[models.work]\napi = "openai"\nmodel = "m"\nbase_url = "http://gw.example/v1"\nkey_env = "WORK_KEY"\n'
    write_config(
        own_home,
        f'{table}context_window = 9000\n[models.w2]\nmodel = "openai/gpt-4.1"\nkey_command = ["false"]',
    )
    rows = run("models", "--json").json["models"][:2]
    assert rows[0] == {
        "model": "work",
        "key": "WORK_KEY",
        "state": "key not set",
        "address": "http://gw.example/v1",
    }
    assert rows[1] == {
        "model": "w2",
        "key": "key_command",
        "state": "ready",
        "address": "openai/gpt-4.1",
    }
    monkeypatch.setenv("WORK_KEY", "k")
    assert run("models", "show", "work", "--json").json["window"] == {
        "value": 9000,
        "from": "config",
    }
    assert run("config", "get", "models").out.strip() == '["work", "w2"]'


@pytest.mark.slow
def test_testing_a_model_reports_its_answer_cost_and_tool_support(
    run: Run, own_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    no_tools = Refusal(400, "gpt-4.1 does not support tools")
    monkeypatch.setenv("WORK_KEY", "test-key")
    with StrictProvider(
        [no_tools, Reply("pong", usage=Tokens(40)), Reply(calls=(Call("ping"),))]
    ) as server:
        table = (
            f'[models.work]\napi = "openai"\nmodel = "gpt-4.1"\nbase_url = "{server.openai_base}"\n'
        )
        write_config(own_home, f'{table}key_env = "WORK_KEY"\nprice = {{ input = 1, output = 2 }}')
        outcome = run("models", "test", "work", "--json").json
        assert (outcome["answer"], outcome["prompt_tokens"]) == ("answered in text: 'pong'", 40)
        assert outcome["cost_usd"] == pytest.approx(40e-6 + 14e-6)
        assert outcome["learned"] == {"tools": "no"}
        [notice] = outcome["notices"]
        assert notice.startswith("gpt-4.1 does not support tools: it can answer, not act (")
        registry._learned.clear()  # another session
        assert "work called the tool ping" in run("models", "test", "work").out
        assert len(server.requests) == 3
        monkeypatch.setenv("WORK_KEY", "wrong")
        refused = run("models", "test", "work")
        assert "refused the key in WORK_KEY" in refused.complaint


@pytest.mark.slow
def test_models_of_a_local_server_are_listed_with_state_and_port(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    with StrictProvider(models=("qwen3:8b",)) as server:
        monkeypatch.setenv("VLLM_BASE_URL", f"127.0.0.1:{server.port}")
        row = run("models", "--json").json["models"][-1]
        assert row == {
            "model": "vllm/qwen3:8b",
            "key": "",
            "state": "unknown tokens, tools",
            "address": f"port {server.port}",
        }


def test_the_table_of_models_is_updated_and_the_changes_are_shown(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    row = {"litellm_provider": "openai", "mode": "chat", "max_input_tokens": 777_000}
    table = json.dumps(shipped_table() | {"gpt-99": row}).encode()
    with serving(table) as (_, environ):
        monkeypatch.setenv(ADDRESS_VARIABLE, environ["OPENROUTER_BASE_URL"])
        outcome = run("models", "update")
        assert outcome.code == 0
        assert "1 new, 0 gone, 0 with another price" in outcome.out
        assert "new: gpt-99" in outcome.out
    assert run("models", "gpt-99", "--json").json[0]["window"] == 777_000
    failed = run("models", "update")
    assert failed.code == 75
    assert failed.complaint.count("\n") <= 2
    assert "cannot be read" in failed.complaint


def test_the_last_day_of_a_model_is_shown_where_the_table_has_one(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    row = {"litellm_provider": "openai", "mode": "chat", "max_input_tokens": 777_000}
    rows = {
        "gpt-97": row | {"deprecation_date": "2031-02-28"},
        "gpt-98": row | {"deprecation_date": "when it is done"},
        "gpt-99": row,
    }
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    with serving(json.dumps(shipped_table() | rows).encode()) as (_, environ):
        monkeypatch.setenv(ADDRESS_VARIABLE, environ["OPENROUTER_BASE_URL"])
        assert run("models", "update").code == 0
    fields = run("models", "show", "openai/gpt-97", "--json").json
    assert fields["deprecation_date"] == {"value": "2031-02-28", "from": "table"}
    for name in ("gpt-98", "gpt-99", "gpt-97-2031-01-01"):
        lasting = run("models", "show", f"openai/{name}", "--json").json
        assert lasting["window"]["value"] == 777_000
        assert "deprecation_date" not in lasting


def test_names_of_the_list_of_openrouter_are_found_once_it_was_fetched(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serving(LIST) as (lists, environ):
        monkeypatch.setenv("OPENROUTER_API_KEY", "k")
        monkeypatch.setenv("OPENROUTER_BASE_URL", environ["OPENROUTER_BASE_URL"])
        assert "openrouter/moonshotai/kimi-k3" not in run("models", "kimi-k3").out
        assert lists.asked == [], "a search fetches nothing"
        assert run("models", "show", "openrouter/acme/writer").code == 0
        found = run("models", "kimi-k3", "--json").json
    row = next(row for row in found if row["model"] == "openrouter/moonshotai/kimi-k3")
    assert (row["window"], row["input_usd_per_million"]) == (262_144, 2.0)
