"""Whether colour is wanted, and which signs can be shown."""

from __future__ import annotations

import pytest

from swecli.repl.render.formatting import wants_color
from swecli.repl.render.theme import Look, can_show_signs


@pytest.mark.parametrize(
    ("environ", "terminal", "setting", "wanted"),
    [
        ({"TERM": "xterm-256color"}, True, True, True),
        ({"TERM": "xterm-256color"}, False, True, False),
        ({"TERM": "xterm", "NO_COLOR": "1"}, True, True, False),
        ({"TERM": "xterm", "NO_COLOR": ""}, True, True, False),
        ({"TERM": "dumb"}, True, True, False),
        ({}, True, True, False),
        ({"TERM": "xterm"}, True, False, False),
        ({"FORCE_COLOR": "1"}, False, True, True),
        ({"FORCE_COLOR": "0"}, False, True, False),
        ({"FORCE_COLOR": "1", "NO_COLOR": "1"}, True, True, False),
        ({"FORCE_COLOR": "1", "TERM": "dumb"}, True, True, True),
    ],
)
def test_colour_is_used_where_it_is_wanted(
    environ: dict[str, str], terminal: bool, setting: bool, wanted: bool
) -> None:
    assert wants_color(environ, terminal, setting) is wanted


def test_places_without_unicode_get_ascii_signs() -> None:
    assert can_show_signs("utf-8")
    assert not can_show_signs("ascii")
    assert not can_show_signs("latin-1")
    assert not can_show_signs("no such encoding")
    plain = Look(unicode=False).glyphs
    assert all("".join(getattr(plain, name)).isascii() for name in plain.__slots__)
