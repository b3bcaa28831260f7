"""Keys that are not an ordinary editor's; what they do in the whole is in the runs of the REPL."""

from __future__ import annotations

import os

from swecli.repl.input.keys import editor


def test_the_editor_is_the_users() -> None:
    assert editor({"VISUAL": "a", "EDITOR": "b"}) == "a"
    assert editor({"EDITOR": "b -w"}) == "b -w"
    assert editor({"PATH": os.devnull}) is None
