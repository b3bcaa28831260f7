"""Whether colour is wanted."""

from __future__ import annotations

import pytest

from swecli.repl.render.formatting import wants_color


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
