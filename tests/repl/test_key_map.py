"""Test the keys of the prompt's actions, and what is said about wrong ones."""

from __future__ import annotations

import pytest

from swecli.config.parsers import KeyChoice
from swecli.repl.key_map import ACTIONS, KeyMap, parse_key, show_key


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("c-o", "Ctrl+O"),
        ("Ctrl+O", "Ctrl+O"),
        ("alt+enter", "Alt+Enter"),
        ("escape enter", "Alt+Enter"),
        ("Esc Esc", "Esc Esc"),
        ("shift+tab", "Shift+Tab"),
        ("ctrl+shift+left", "Ctrl+Shift+←"),
        ("c-x c-e", "Ctrl+X Ctrl+E"),
        ("ctrl+space", "Ctrl+Space"),
        ("f2", "F2"),
    ],
)
def test_keys_are_read_in_both_spellings_and_shown_in_one(written: str, shown: str) -> None:
    assert show_key(parse_key(written)) == shown
    assert parse_key(shown) == parse_key(written)


@pytest.mark.parametrize("written", ["", "ctrl+", "ctrl+enter", "hyper+a", "<any>", "a", "j k"])
def test_what_a_terminal_cannot_send_and_what_is_text_is_no_key(written: str) -> None:
    with pytest.raises(ValueError, match=r"no key|no such key|is text"):
        parse_key(written)


def test_a_chosen_key_replaces_the_default_and_is_taken_from_the_action_that_had_it() -> None:
    keys = KeyMap([KeyChoice("expand", ("c-t", "f2"))])
    assert keys.show("expand") == "Ctrl+T, F2"
    assert keys.hint("expand", "to expand") == "Ctrl+T to expand"
    assert keys.keys_of("steer") == ()
    assert keys.hint("steer", "sends it") == ""
    assert keys.freed == [("c-o",)]
    assert keys.notices == []


@pytest.mark.parametrize(
    ("choice", "notice"),
    [
        (
            KeyChoice("expnd", ("c-o",)),
            "[keys] expnd = c-o: there is no action 'expnd' (did you mean expand?)",
        ),
        (
            KeyChoice("editor", ("ctrl+",)),
            "[keys] editor = ctrl+: 'ctrl+' cannot be a key (no such key); editor stays Ctrl+G",
        ),
        (
            KeyChoice("quit", ("f2",)),
            "[keys] quit = f2: 'f2' is the key of redraw; quit stays Ctrl+D",
        ),
    ],
)
def test_a_wrong_choice_is_said_in_one_line_and_leaves_the_default(
    choice: KeyChoice, notice: str
) -> None:
    keys = KeyMap([KeyChoice("redraw", ("f2",)), choice])
    assert keys.notices == [notice]
    assert all(keys.is_default(action.name) for action in ACTIONS if action.name != "redraw")


def test_no_two_actions_share_a_default_key() -> None:
    keys = [key for action in ACTIONS for key in KeyMap().keys_of(action.name)]
    assert len(keys) == len(set(keys))


def test_where_lines_are_read_whole_only_the_interrupt_has_a_key() -> None:
    keys = KeyMap.without_keys()
    assert [action.name for action in ACTIONS if keys.keys_of(action.name)] == ["interrupt"]
    assert keys.hint("interrupt", "to interrupt") == "Ctrl+C to interrupt"
