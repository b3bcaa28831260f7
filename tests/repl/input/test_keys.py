"""Test the key bindings that the line editor adds; their effects are tested in whole runs of the REPL."""

from __future__ import annotations

import os

import pytest

from swecli.models.errors import BadInput
from swecli.repl.input.keys import editor_command


def test_the_editor_is_the_users() -> None:
    assert editor_command({"VISUAL": "a", "EDITOR": "b"}) == ["a"]
    assert editor_command({"EDITOR": "'my b' -w"}) == ["my b", "-w"]
    with pytest.raises(BadInput, match="No editor was found"):
        editor_command({"PATH": os.devnull})
