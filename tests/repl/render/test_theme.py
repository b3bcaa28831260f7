"""Test themes, and detecting the terminal's background."""

from __future__ import annotations

import pytest

from swecli.repl.render.theme import Theme

WEZTERM = {"TERM_PROGRAM": "WezTerm"}
WHITE = "\x1b]11;rgb:ffff/ffff/ffff\x1b\\"
COLOURED = "\x1b[1;36mname\x1b[0m \x1b[33mwarn\x1b[0m \x1b[0;2;31mno\x1b[0m"


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("dark", COLOURED),
        ("light", "\x1b[1;34mname\x1b[0m \x1b[35mwarn\x1b[0m \x1b[0;2;31mno\x1b[0m"),
        ("none", "\x1b[1mname\x1b[0m warn\x1b[0m \x1b[0;2mno\x1b[0m"),
    ],
)
def test_a_theme_changes_colours_and_nothing_else(name: str, shown: str) -> None:
    assert Theme(name, {}).recolor(COLOURED) == shown


@pytest.mark.parametrize(
    ("environ", "shown", "asks"),
    [
        ({"COLORFGBG": "0;15"}, "light", False),
        ({"COLORFGBG": "15;default;0", **WEZTERM}, "dark", False),
        (WEZTERM, "dark", True),
        ({"TERM": "xterm-256color"}, "dark", False),
        ({"TMUX": "x", **WEZTERM}, "dark", False),
    ],
)
def test_the_background_comes_from_the_environment_or_from_a_query_to_a_known_terminal(
    environ: dict[str, str], shown: str, asks: bool
) -> None:
    theme = Theme("auto", environ)
    assert (theme.resolved, bool(theme.pop_query())) == (shown, asks)
    assert not Theme("light", environ).pop_query()


@pytest.mark.parametrize(
    ("answer", "shown"),
    [
        (WHITE, "light"),
        ("\x1b]11;rgb:2828/2a2a/3636\x07", "dark"),
        ("\x1b]11;rgba:fd/f6/e3/ff\x07", "light"),
    ],
)
def test_the_reply_of_the_terminal_is_removed_from_the_keys_wherever_it_is_split(
    answer: str, shown: str
) -> None:
    for cut in range(2, len(answer)):
        theme = Theme("auto", WEZTERM)
        theme.pop_query()
        assert (
            theme.strip_reply("ab" + answer[:cut]) + theme.strip_reply(answer[cut:] + "c\x1b[A")
            == "abc\x1b[A"
        )
        assert theme.resolved == shown


def test_keys_pass_through_and_a_late_reply_of_the_terminal_is_not_typed() -> None:
    theme = Theme("auto", WEZTERM)
    assert theme.strip_reply(WHITE) == WHITE, "nothing was asked"
    theme.pop_query()
    for keys in ("\x1b", "\x1b[A", "\x1b]x", "11;rgb", "\x1bOP"):
        assert theme.strip_reply(keys) == keys
    theme._queried_at -= 60
    assert theme.strip_reply("\x1b]11;rg") == "\x1b]11;rg", (
        "a minute after the query, part of a reply is typed text"
    )
    assert (theme.strip_reply(WHITE + "x"), theme.resolved) == ("x", "light")
