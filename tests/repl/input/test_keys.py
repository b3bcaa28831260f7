"""Keys that are not an ordinary editor's; what they do in the whole is in the runs of the REPL."""

from __future__ import annotations

import os

from swecli.repl.input.keys import TwiceToLeave, editor


def test_two_presses_within_two_seconds_leave() -> None:
    twice = TwiceToLeave()
    assert [twice.press(now) for now in (0.0, 1.9, 10.0, 13.0, 14.0)] == [False, True, False, False, True]


def test_typing_between_two_presses_makes_them_two_first_ones() -> None:
    twice = TwiceToLeave()
    assert not twice.press(0.0)
    twice.typed()
    assert not twice.press(0.0)
    assert twice.press(0.0)


def test_the_editor_is_the_users() -> None:
    assert editor({"VISUAL": "a", "EDITOR": "b"}) == "a"
    assert editor({"EDITOR": "b -w"}) == "b -w"
    assert editor({"PATH": os.devnull}) is None
