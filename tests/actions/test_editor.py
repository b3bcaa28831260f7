"""Test the key bindings that the line editor adds; their effects are tested in whole runs of the REPL."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from swecli.actions.editor import editor_command, run_editor
from swecli.models.errors import BadInput


def test_the_editor_is_taken_from_visual_then_from_editor() -> None:
    assert editor_command({"VISUAL": "a", "EDITOR": "b"}) == ["a"]
    assert editor_command({"EDITOR": "'my b' -w"}) == ["my b", "-w"]
    with pytest.raises(BadInput, match="No editor was found"):
        editor_command({"PATH": os.devnull})


def test_a_known_editor_is_started_with_the_line_number(tmp_path: Path) -> None:
    editor = tmp_path / "vim"
    editor.write_text('#!/bin/sh\necho "$@" > "$0.called"\n')
    editor.chmod(0o755)
    run_editor({"EDITOR": f"{editor} -R"}, Path("a.py"), 3)
    assert (tmp_path / "vim.called").read_text() == "-R +3 a.py\n"


def test_an_editor_that_cannot_be_started_is_named() -> None:
    with pytest.raises(BadInput, match="The editor '/nowhere/ed' cannot be started: No such file"):
        run_editor({"EDITOR": "/nowhere/ed"}, Path("a.py"))
