"""Test that changing one setting in a file leaves the rest of the file unchanged."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from swecli.config.settings import SETTINGS, load_settings, render_template
from swecli.config.toml_files import edit_setting, format_toml
from swecli.models.errors import ConfigError
from swecli.models.window_spec import WindowSpec

FILE = '''\
# mine
model = "a#b/c" # why
allow = [ # rules
  "run(ls)", # one = 1
  'mode = "x"',
] # tail

note = """
mode = "no"
"""
'''


def test_a_value_is_replaced_and_its_comment_stays() -> None:
    assert edit_setting(FILE, "model", "d/e") == FILE.replace('"a#b/c"', '"d/e"')


def test_a_list_over_several_lines_is_replaced_whole() -> None:
    changed = edit_setting(FILE, "allow", ("run(git status*)",))
    assert 'allow = ["run(git status*)"] # tail\n\nnote' in changed


def test_a_new_setting_is_appended_to_the_file() -> None:
    assert edit_setting(FILE, "mode", "plan") == FILE + 'mode = "plan"\n'
    assert edit_setting("", "mode", "plan") == 'mode = "plan"\n'
    assert edit_setting("learn = true", "mode", "plan") == 'learn = true\nmode = "plan"\n'


def test_line_endings_and_spacing_are_preserved() -> None:
    assert (
        edit_setting('mode="ask"  # x\r\nlearn=true\r\n', "mode", "auto")
        == 'mode="auto"  # x\r\nlearn=true\r\n'
    )
    assert edit_setting("learn=true\r\n", "max_turns", 5) == "learn=true\r\nmax_turns = 5\r\n"


def test_a_setting_with_a_quoted_name_is_edited() -> None:
    assert edit_setting('"mode" = "ask"\n', "mode", "auto") == '"mode" = "auto"\n'


def test_unsetting_removes_the_lines_of_a_setting() -> None:
    assert (
        edit_setting(FILE, "allow", None)
        == FILE[: FILE.index("allow")] + FILE[FILE.index("\nnote") :]
    )
    assert edit_setting(FILE, "mode", None) == FILE


@pytest.mark.parametrize("text", ["mode = ", "[[[", "a = 1\na = 2"])
def test_editing_a_file_that_is_not_valid_toml_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="swecli config edit"):
        edit_setting(text, "mode", "ask")


def test_a_setting_is_inserted_before_tables_and_found_under_an_escaped_name() -> None:
    assert tomllib.loads(edit_setting("[table]\nx = 1\n", "mode", "ask")) == {
        "mode": "ask",
        "table": {"x": 1},
    }
    assert tomllib.loads(edit_setting('"m\\u006fde" = 1\n', "mode", "ask")) == {"mode": "ask"}


@pytest.mark.parametrize(
    ("name", "words", "value"),
    [
        ("mode", ["edits"], "edits"),
        ("window", ["5+3"], WindowSpec(5, 3)),
        ("learn", ["off"], False),
        ("allow", ["run(a b)", "edit"], ("run(a b)", "edit")),
        ("max_budget_usd", ["2.5"], 2.5),
    ],
)
def test_command_line_words_are_parsed_to_a_value(name: str, words: list[str], value: Any) -> None:
    assert SETTINGS[name].parse_words(words) == value


@pytest.mark.parametrize(
    ("name", "words", "message"),
    [
        ("mode", ["x"], "mode: unknown mode 'x'"),
        ("model", ["a", "b"], "takes one value, not 2"),
    ],
)
def test_invalid_command_line_words_are_refused(name: str, words: list[str], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        SETTINGS[name].parse_words(words)


def test_the_template_sets_nothing_and_its_uncommented_lines_are_valid() -> None:
    assert not tomllib.loads(render_template())
    used = "\n".join(line[2:] if " = " in line else line for line in render_template().splitlines())
    Path("t.toml").write_text(used)
    load_settings(user_file=Path("t.toml"), project_file=None, environ={}, flags={})
    assert set(tomllib.loads(used)) == set(SETTINGS)


text_values = st.text(
    st.characters(blacklist_categories=["Cs"], blacklist_characters="\0"), max_size=20
)
values = {
    "model": text_values,
    "mode": st.sampled_from(["ask", "edits", "plan", "auto"]),
    "max_turns": st.integers(1, 10_000),
    "max_budget_usd": st.floats(0.001, 1e6),
    "learn": st.booleans(),
    "allow": st.lists(text_values, max_size=3).map(tuple),
}
pairs = st.sampled_from(sorted(values)).flatmap(lambda name: st.tuples(st.just(name), values[name]))
comments = st.text(st.characters(categories=["L", "N", "P", "S", "Zs"]), max_size=15).map(
    lambda t: f"# {t}\n"
)


@given(st.lists(pairs | comments, max_size=6), st.lists(pairs, min_size=1, max_size=5))
def test_edits_keep_every_comment_and_the_last_value_of_each_setting(
    start: list[Any], changes: list[Any]
) -> None:
    text, message = "", {}
    for item in start:
        if isinstance(item, str):
            text += item
        elif item[0] not in message:
            text += f"{item[0]} = {format_toml(item[1])}  # {item[0]}\n"
            message[item[0]] = item[1]
    for name, value in changes:
        text = edit_setting(text, name, value)
        message[name] = value
    read = {
        name: tuple(value) if isinstance(value, list) else value
        for name, value in tomllib.loads(text).items()
    }
    assert read == message
    assert all(item in text for item in start if isinstance(item, str))
    for name in message:
        text = edit_setting(text, name, None)
    assert not tomllib.loads(text)
