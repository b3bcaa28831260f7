"""The editor of the user, who opens a file in it."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

from swecli.models.errors import BadInput

_EDITORS = ("editor", "nano", "pico", "vi", "emacs")
_LINE_EDITORS = (*_EDITORS, "vim", "nvim", "micro", "kak")  # open a file at `+LINE`


def editor_command(environ: Mapping[str, str]) -> list[str]:
    """Return the command line of $VISUAL, $EDITOR or a common editor, which prompt-toolkit starts too. Raises BadInput
    if there is none or it cannot be parsed."""
    search_path = environ.get("PATH", os.defpath)
    installed = (name for name in _EDITORS if shutil.which(name, path=search_path))
    try:
        words = shlex.split(environ.get("VISUAL") or environ.get("EDITOR") or next(installed, ""))
    except ValueError as error:
        raise BadInput(
            f"$VISUAL or $EDITOR cannot be parsed: {error}.", "Set EDITOR to your editor."
        ) from error
    if not words:
        raise BadInput("No editor was found.", "Set EDITOR to your editor.")
    return words


def run_editor(environ: Mapping[str, str], path: Path, line: int = 0) -> int:
    """Open a file in the editor, at `line` if it supports `+LINE`, and return its exit code. Raises BadInput if it
    cannot be started."""
    program, *words = editor_command(environ)
    plus = [f"+{line}"] if line and Path(program).name in _LINE_EDITORS else []
    try:
        return subprocess.call([program, *words, *plus, str(path)])
    except OSError as error:
        raise BadInput(
            f"The editor {program!r} cannot be started: {error.strerror}.", "Set EDITOR."
        ) from error
