"""Test the tables `[models.NAME]` and `roles`: the values they accept, and the one-line error for any other."""

from __future__ import annotations

from pathlib import Path

import pytest

from swecli.config.settings import Settings, load_settings, unknown_setting
from swecli.models.errors import ConfigError


def load(user: str, project: str = "", **flags: str) -> tuple[Settings, list[str]]:
    Path("user.toml").write_text(user, encoding="utf-8")
    return load_settings(
        user_file=Path("user.toml"),
        project_file=Path("project.toml"),
        project_text=project,
        environ={},
        flags=flags,
    )


WORK = """
[models.work]
api = "anthropic"
model = "claude-sonnet-5-5"
base_url = "https://gateway.example.com/anthropic/"
key_command = ["pass", "show", "llm/work"]
headers = { "X-Team" = "${TEAM}" }
thinking = "high"
context_window = 100_000
max_output = 8_000
price = { input = 3, output = 15.0 }
aliases = ["w"]
first_byte = 60
"""


def test_a_table_is_found_under_its_name_and_its_aliases() -> None:
    settings, notices = load(WORK)
    entry = settings.entry("work")
    assert entry is not None
    assert entry is settings.entry("w")
    assert settings.entry("other") is None
    assert (entry.base_url, entry.key_command) == (
        "https://gateway.example.com/anthropic",
        ("pass", "show", "llm/work"),
    )
    assert (entry.price, entry.first_byte, entry.quiet) == (
        {"input": 3.0, "output": 15.0},
        60,
        None,
    )
    assert not notices


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ('modle = "x"', r"\[models.w\] has no key 'modle' \(did you mean model\?\)\."),
        ("zzzz = 1", r"has no key 'zzzz' \(it takes api, model"),
        (
            'api = "grpc"',
            r"api: unknown api 'grpc' \(choose: openai, responses, anthropic, gemini, litellm\)",
        ),
        (
            'api_key = "sk-1234"',
            r"api_key: a key is not kept in a file; use key_env = .* or key_command",
        ),
        ('key_env = "sk-12 34"', "key_env: takes the name of an environment variable, not a key"),
        ('key_env = "A"\nkey_command = ["b"]', "leave one out"),
        ('key_command = "pass show x"', "key_command: takes the words of a command"),
        ("key_command = []", "key_command: takes the words of a command"),
        ('base_url = "gateway.example.com"', "base_url: is not an address: 'gateway.example.com'"),
        ('base_url = "http://[::1"', "base_url: is not an address"),
        ('base_url = "http://h:99999/v1"', "base_url: is not an address"),
        ('base_url = "http://a b/v1"', "base_url: is not an address"),
        ('base_url = "https://h/v1?api-version=1"', "base_url: contains a query"),
        ('headers = { Authorization = "Bearer x" }', "headers: Authorization cannot be set here"),
        ('headers = { X-Api-Key = "x" }', "headers: X-Api-Key cannot be set here"),
        ('headers = { Host = "x" }', "headers: Host cannot be set here"),
        ('headers = { "X Y" = "x" }', "is not a header name"),
        ('headers = { X-Team = "a\\nb" }', "the value of X-Team is not one line of plain text"),
        ("extra_body = { messages = [] }", "extra_body: messages cannot be set here"),
        ("extra_body = { stream = false }", "extra_body: stream cannot be set here"),
        (
            "extra_body = { until = 2026-01-01 }",
            "extra_body: contains a value that JSON does not support",
        ),
        ("extra_body = { top_p = nan }", "extra_body: contains a value that JSON does not support"),
        ('thinking = "hard"', "thinking: unknown effort 'hard' .choose: off, low"),
        ("context_window = 0", "context_window: 0 is not a whole number from 256"),
        ("context_window = 4096\nmax_output = 5000", "max_output is larger than context_window"),
        ("price = { input = 3 }", "price: takes dollars per million tokens: input and output"),
        ("price = { input = -3, output = 1 }", "price: takes amounts of dollars, at least 0"),
        ('tools = "maybe"', "tools: 'maybe' is not true or false"),
        ("quiet = 0", "quiet: 0 is not a whole number from 1 to 86400"),
        ('aliases = ["w"]', "'w' names two tables"),
    ],
)
def test_an_invalid_entry_of_a_model_table_is_a_one_line_error_that_shows_no_key(
    line: str, says: str
) -> None:
    with pytest.raises(ConfigError, match=f"user.toml: models: .*{says}") as caught:
        load(f"[models.w]\n{line}")
    assert "sk-1" not in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("start", ["https://", "ftp://", "", "https:// "])
def test_credentials_in_an_address_are_refused_without_showing_them(start: str) -> None:
    with pytest.raises(ConfigError, match="base_url: contains credentials") as caught:
        load(f'[models.w]\nbase_url = "{start}me:hunter2@gateway/v1"')
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize(
    "text", ["models = 3", 'models = ["a"]', "[models]\nwork = 3", 'models."" = {}']
)
def test_a_models_value_that_is_not_named_tables_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match=r"user.toml: models: "):
        load(text)


def test_models_and_roles_in_a_project_file_are_ignored_with_notices() -> None:
    settings, notices = load("", f'roles = {{ main = "theirs", fast = "theirs" }}\n{WORK}')
    assert settings == Settings()
    assert [line.split()[1] for line in notices] == [
        "model",
        "reflect_model",
        "condense_model",
        "review_verify_model",
        "models",
    ]


def test_a_role_sets_its_settings_and_explicit_settings_override_it() -> None:
    settings, _ = load('reflect_model = "r/1"\nroles = { main = "work", fast = "qwen" }')
    assert (settings.model, settings.reflect_model) == ("work", "r/1")
    assert (settings.condense_model, settings.review_verify_model) == ("qwen", "qwen")
    assert settings.origins["condense_model"] == "user.toml"
    assert load('roles = { main = "work" }', model="a/b")[0].model == "a/b"


@pytest.mark.parametrize("text", ["roles = 3", 'roles = { fats = "x" }', "roles = { fast = 3 }"])
def test_invalid_roles_are_an_error_that_names_the_setting(text: str) -> None:
    with pytest.raises(ConfigError, match=r"user.toml: (roles|reflect_model)"):
        load(text)


def test_header_values_are_hidden_in_the_repr_of_the_settings() -> None:
    settings, _ = load('[models.w]\nheaders = { X-Team = "hush" }')
    assert "hush" not in repr(settings)


def test_the_unknown_setting_error_for_roles_points_to_config_edit() -> None:
    assert "swecli config edit" in unknown_setting("roles").hint
