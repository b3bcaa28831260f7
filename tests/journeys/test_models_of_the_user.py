"""Test a whole run with models from the user's configuration: which model answers, which reflects, and which key each
gets."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.shell import swecli
from tests.support.strict_provider import Refusal, Reply, StrictProvider

pytestmark = pytest.mark.slow

NO_LESSONS = '{"strategies": [], "lessons": []}'


def test_the_main_model_answers_and_the_fast_model_reflects_each_with_its_key(
    own_home: Path,
) -> None:
    with (
        StrictProvider([Reply("Done.")], key="k-main") as main,
        StrictProvider([Reply(NO_LESSONS)] * 3, key="k-fast") as fast,
    ):
        (own_home / "swecli").mkdir()
        (own_home / "swecli" / "config.toml").write_text(f"""
roles = {{ main = "big", fast = "small" }}
[models.big]
api = "openai"
model = "gpt-4.1"
base_url = "{main.openai_base}"
key_command = ["echo", "k-main"]
[models.small]
api = "openai"
model = "gpt-4.1"
base_url = "{fast.openai_base}"
key_env = "SMALL_KEY"
""")
        done = swecli("-p", "hello", environ={"SMALL_KEY": "k-fast"})
        assert (done.code, done.out) == (0, "Done.\n")
        assert (len(main.requests), len(fast.requests)) == (1, 1)
        assert not main.refusals
        assert not fast.refusals


def test_an_invalid_model_table_is_an_error_that_does_not_print_the_key(own_home: Path) -> None:
    (own_home / "swecli").mkdir()
    file = own_home / "swecli" / "config.toml"
    file.write_text('[models.work]\napi_key = "sk-very-secret"')
    done = swecli("-p", "hello", "-m", "work")
    assert (done.code, done.out) == (42, "")
    assert "[models.work] api_key: a key is not kept in a file" in done.complaint
    assert "very-secret" not in done.err
    file.write_text('[models.work]\napi = "openai"\nkey_command = ["sh", "-c", "echo a; echo b"]')
    assert (
        "key_command sh printed more than one line" in swecli("-p", "hello", "-m", "work").complaint
    )


def test_two_accounts_at_one_service_are_told_apart_in_what_was_spent(own_home: Path) -> None:
    with (
        StrictProvider([Reply("Mine.")], key="k-mine") as mine,
        StrictProvider([Reply("Theirs."), Reply("Again.")], key="k-work") as work,
    ):
        (own_home / "swecli").mkdir()
        (own_home / "swecli" / "config.toml").write_text(f"""
learn = false
[models.mine]
api = "openai"
model = "gpt-4.1"
base_url = "{mine.openai_base}"
key_env = "MY_KEY"
[models.work]
api = "openai"
model = "gpt-4.1"
base_url = "{work.openai_base}"
key_env = "WORK_KEY"
""")
        environ = {"MY_KEY": "k-mine", "WORK_KEY": "k-work"}
        assert swecli("-p", "one", "-m", "mine", environ=environ).code == 0
        assert swecli("-p", "two", "-c", "-m", "work", environ=environ).code == 0
        assert swecli("-p", "three", "-c", "-m", "work", environ=environ).code == 0
        spent = swecli("cost", "--json", environ=environ).json
        stats = swecli("stats", "1", "--json", environ=environ).json
    for found in (spent, stats):
        assert {row["name"]: row["requests"] for row in found["models"]} == {"mine": 1, "work": 2}
        assert all(row["cost"] > 0 for row in found["models"])
    assert spent["full_window"]["requests"] == 3


def test_a_run_without_a_screen_goes_on_with_the_fallback_and_says_so(own_home: Path) -> None:
    overloaded = Refusal(429, "Rate limit reached: requests per day.")
    with (
        StrictProvider([overloaded] * 2) as main,
        StrictProvider([Reply("Done.")] * 2) as other,
    ):
        (own_home / "swecli").mkdir()
        (own_home / "swecli" / "config.toml").write_text(f"""
model = "big"
fallback = ["small"]
learn = false
[models.big]
api = "openai"
model = "gpt-4.1"
base_url = "{main.openai_base}"
key_command = ["echo", "test-key"]
[models.small]
api = "openai"
model = "gpt-4.1"
base_url = "{other.openai_base}"
key_command = ["echo", "test-key"]
""")
        done = swecli("-p", "hello")
        assert (done.code, done.out) == (0, "Done.\n")
        assert "this turn goes on with small" in done.err
        streamed = swecli("-p", "hello", "--output-format", "stream-json")
    events = [json.loads(line) for line in streamed.out.splitlines()]
    [changed] = [event for event in events if event["type"] == "model_changed"]
    assert (changed["failed"], changed["model"], changed["passed_over"]) == ("big", "small", [])
