"""Test masking secrets in a text without changing the rest."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from swecli.redact import has_secret, redact, redact_part, redact_value
from tests.support.secrets import harmless, secrets
from tests.support.shell import ROOT

SECRETS = {
    "openai": "sk-abcdEFGH1234567890abcd",
    "anthropic": "sk-ant-api03-AbCdEfGh1234567890-xyz",
    "aws": "AKIAIOSFODNN7EXAMPLE",
    "github": "ghp_0123456789abcdefABCDEF0123456789abcd",
    "github fine": "github_pat_11ABCDEFG0123456789_abcdef",
    "gitlab": "glpat-abcDEF1234567890xyz",
    "slack": "xoxb-123456789012-abcdefABCDEF",
    "google": "AIzaSyA1234567890abcdefghijklmnopqrstuv",
    "huggingface": "hf_abcdefghijklmnopqrstuvwx",
    "npm": "npm_abcdefghijklmnopqrstuvwxyz0123456789",
    "stripe": "sk_live_abcdefghij1234567890",
    "jwt": "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.abcDEF123_-xyz",
    "groq": "gsk_abcdefghijklmnopqrstuvwx12345678",
}
CASES = [
    ("OPENAI_API_KEY=abc123def456", "abc123def456"),
    ("export DB_PASSWORD='correct horse'", "correct horse"),
    ('password = "hunter2hunter2"', "hunter2hunter2"),
    ('{"api_key": "a1b2c3d4e5"}', "a1b2c3d4e5"),
    ("client_secret: a1b2c3d4e5f6", "a1b2c3d4e5f6"),
    ("Authorization: Bearer abcdef1234567890", "abcdef1234567890"),
    ("postgres://admin:s3cr3t@db.example.org/x", "s3cr3t"),
    ("the password is hunter2!", "hunter2!"),
    ("remember that the api key is abc123", "abc123"),
    ("-----BEGIN RSA PRIVATE KEY-----\nMIIE\nabc\n-----END RSA PRIVATE KEY-----", "MIIE"),
    ("-----BEGIN PRIVATE KEY-----\nMIIEcut", "MIIEcut"),
]
HARMLESS = [
    "password = None",
    "def login(password: str, token: str) -> None:",
    "token = os.environ['API_TOKEN']",
    "api_key=settings.api_key1()",
    "tokens: 123456",
    "max_tokens=4096",
    "the password is required",
    "the token is checked first",
    "run pytest -q in tests/test_token.py",
    "sk-learn is a library",
    "commit 0123456789abcdef0123456789abcdef01234567",
    "https://example.org/a:b@c",
    "secretary of state",
]


@pytest.mark.parametrize("secret", SECRETS.values(), ids=SECRETS)
def test_known_keys_are_taken_out_wherever_they_stand(secret: str) -> None:
    for text in (secret, f"use {secret} here", f"({secret})", f"x={secret};", f"a\n{secret}\nb"):
        assert secret not in redact(text)
        assert has_secret(text)


@pytest.mark.parametrize(("text", "secret"), CASES)
def test_values_of_secret_names_are_taken_out(text: str, secret: str) -> None:
    assert secret not in redact(text)
    assert "[redacted: " in redact(text)
    assert has_secret(text)


@pytest.mark.parametrize("text", HARMLESS)
def test_code_and_prose_stay_as_they_are(text: str) -> None:
    assert redact(text) == text
    assert not has_secret(text)


def test_what_was_redacted_is_still_known_to_have_held_a_secret() -> None:
    assert has_secret(redact("password=abc123def"))


@given(st.text(max_size=300))
def test_redacting_twice_changes_nothing_more(text: str) -> None:
    assert redact(redact(text)) == redact(text)


@given(st.text(max_size=60), st.sampled_from(sorted(SECRETS.values())), st.text(max_size=60))
def test_no_key_survives_between_any_words(before: str, secret: str, after: str) -> None:
    assert secret not in redact(f"{before} {secret} {after}")


def test_nested_values_are_redacted_by_pattern_and_by_name() -> None:
    value = {
        "command": "curl -H 'Authorization: Bearer abc123def456ghi'",
        "env": {"password": "x"},
        "n": [1, "ok"],
    }
    clean = redact_value(value)
    assert "abc123def456ghi" not in str(clean)
    assert clean["env"]["password"] == "[redacted: secret]"
    assert clean["n"] == [1, "ok"]


def test_long_strings_are_cut_with_their_size_named() -> None:
    assert redact_value("a" * 50, 10) == "a" * 10 + "… (50 characters)"


HOSTILE = (
    *(
        "://",
        "--",
        "=",
        ":",
        "x:",
        "password=",
        "password",
        "a.b",
        "eyJ",
        "key=",
        "sk-",
        "http://a:",
        "token=",
    ),
    *(
        "password='",
        "curl -u ",
        "-----BEGIN PRIVATE KEY-----",
        "1234:",
        "secret is ",
        "\\",
        "AKIA3JJD2AEMFBOOOGNT",
    ),
)


@pytest.mark.slow
def test_half_a_megabyte_of_hostile_text_takes_little_work() -> None:
    """Measures CPU time, which the kernel limits, so other load on the machine does not matter."""
    code = (
        "import resource, sys; resource.setrlimit(resource.RLIMIT_CPU, (8, 8))\n"
        "from swecli.redact import redact\n"
        f"for unit in {HOSTILE!r}: redact(unit * (500_000 // len(unit)))"
    )
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=False).returncode == 0


TEXTS = [text for text, _ in secrets().values()]
# secrets, words like them, and quotes and signs between them
PIECES = st.lists(st.sampled_from([*TEXTS, *harmless()]) | st.text(max_size=20), max_size=6)


@pytest.mark.parametrize("name", secrets())
def test_the_shapes_of_the_big_services_are_found(name: str) -> None:
    for seed in range(3):
        text, secret = secrets(seed)[name]
        for around in (
            *(text, f"{text}\n", f"\n{text}\nand then\n", f"\x1b[1m\n{text}\x1b[0m"),
            f"@@ -1 +1 @@\n-old\n+{text}\n",
        ):
            clean = redact(around)
            assert [
                secret[at : at + 8] for at in range(len(secret) - 7) if secret[at : at + 8] in clean
            ] == []
            assert redact(clean) == clean


def test_there_are_more_than_a_hundred_shapes_and_three_dozen_look_alikes() -> None:
    assert len(secrets()) >= 150
    assert len(harmless()) >= 36


@pytest.mark.parametrize("text", harmless())
def test_look_alikes_stay_byte_for_byte(text: str) -> None:
    assert redact(text) == text


def test_a_token_right_behind_another_one_is_seen() -> None:
    assert "AKIA" not in redact("key-ec30679b63006f073c53790a1dd8b6fc" + "AKIA3JJD2AEMFBOOOGNT")


@given(PIECES, st.sampled_from(["", " ", "\n", "; ", '"', "\\n"]))
def test_what_was_redacted_stays_as_it_is(pieces: list[str], between: str) -> None:
    clean = redact(between.join(pieces))
    assert redact(clean) == clean


@given(PIECES, st.data())
def test_a_part_is_what_it_is_in_the_whole(pieces: list[str], data: st.DataObject) -> None:
    text = "\n".join(pieces)
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, len(text)))
    part = redact_part(text, start, end)
    left = "".join(part.split("[redacted: ")[:1])
    assert redact(text).count(left) >= 1


@given(st.sampled_from(sorted(secrets())), st.integers(0, 400), st.integers(1, 60))
def test_no_half_of_a_secret_is_in_a_part(name: str, start: int, length: int) -> None:
    text, secret = secrets()[name]
    part = redact_part(text, start, start + length)
    assert [
        secret[at : at + 8] for at in range(len(secret) - 7) if secret[at : at + 8] in part
    ] == []


@given(st.sampled_from(sorted(secrets())))
def test_plain_data_that_is_redacted_is_the_same_data_otherwise(name: str) -> None:
    text, secret = secrets()[name]
    value = {
        "id": "123e4567-e89b-12d3-a456-426614174000",
        "n": 5,
        "calls": [{"result": text, "ok": True, "more": None}],
    }
    clean = redact_value(value)
    assert secret not in json.dumps(clean)
    assert clean | {"calls": []} == value | {"calls": []}
    assert clean["calls"][0] | {"result": ""} == {"result": "", "ok": True, "more": None}


def test_values_of_any_length_go_whole() -> None:
    for text in (f"client_secret='{'aB3' * 20_000}'", f"API_KEY={'aB3' * 20_000} rest"):
        assert "aB3" not in redact(text)
