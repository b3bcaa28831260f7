"""Test the first lines."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from swecli.models.errors import BadInput, SwecliError
from swecli.models.message import ModelChoice
from swecli.repl.key_map import KeyMap
from swecli.repl.render.formatting import short_path
from swecli.repl.repl import _banner, _describe_model, _format_error, _wrap_parts
from tests.support.runtime import make_start


def test_the_banner_names_the_demo_model_and_why_it_is_used() -> None:
    start = replace(
        make_start(Path.home()),
        choice=ModelChoice("demo", "no key found"),
        notices=("something odd",),
    )
    lines = _banner(start, KeyMap(), color=False, width=100).splitlines()
    assert lines[0] == "swecli 0.2.0 · demo model (offline tour; no key found) · ~"
    assert lines[1] == "/help for commands · Shift+Tab to switch mode"
    assert lines[2] == "! something odd"


def test_a_long_description_of_the_model_is_wrapped_between_words() -> None:
    why = "the answers are recorded ones, everything else is real"
    start = replace(make_start(Path.home()), choice=ModelChoice("demo", why))
    lines = _banner(start, KeyMap(), color=False, width=60).splitlines()
    assert all(len(line) <= 60 for line in lines)
    assert " ".join(lines[1:3]).startswith(f"demo model (offline tour; {why})")


def test_a_model_is_named_with_the_reason_for_its_choice() -> None:
    assert (
        _describe_model("openai/gpt", "OPENAI_API_KEY is set")
        == "openai/gpt (OPENAI_API_KEY is set)"
    )
    assert _describe_model("openai/gpt", "") == "openai/gpt"


def test_escape_sequences_in_a_folder_name_are_not_printed() -> None:
    start = make_start(Path("/tmp/evil\x1b[31m"))
    assert "\x1b" not in _banner(start, KeyMap(), color=False)
    assert "\x1b[31m" not in _banner(start, KeyMap(), color=True)


@given(st.lists(st.text("ab ", min_size=1, max_size=30), min_size=1), st.integers(30, 100))
def test_the_banner_wraps_only_between_its_parts(parts: list[str], width: int) -> None:
    lines = _wrap_parts(parts, width)
    assert " · ".join(lines) == " · ".join(parts)
    assert all(len(line) <= width for line in lines)


def test_the_home_folder_is_shortened_to_a_tilde() -> None:
    assert short_path(Path.home()) == "~"
    assert short_path(Path.home() / "a" / "b") == "~/a/b"
    assert short_path(Path("/opt")) == "/opt"


def test_a_failure_is_one_line_with_its_hint() -> None:
    assert (
        _format_error(BadInput("It broke\nin two.", "Mend it."), color=False)
        == "✗ It broke in two. · Mend it.\n"
    )
    assert _format_error(SwecliError("It broke."), color=False) == "✗ It broke.\n"
