"""The editor of the user, who opens a file in it."""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import subprocess
from collections.abc import Mapping
from pathlib import Path

from swecli.models.errors import BadInput

_MAX_TEXT = 50_000_000  # bytes
_EDITORS = ("editor", "nano", "pico", "vi", "emacs")
_LINE_EDITORS = (*_EDITORS, "vim", "nvim", "micro", "kak")  # open a file at `+LINE`


def editor_command(environ: Mapping[str, str]) -> list[str]:
    """Return the command line of $VISUAL, $EDITOR or a common editor, which prompt-toolkit starts too. Raises BadInput
    if there is none or it cannot be parsed."""
    search_path = environ.get("PATH", os.defpath)
    installed = (name for name in _EDITORS if shutil.which(name, path=search_path))
    command = environ.get("VISUAL") or environ.get("EDITOR") or next(installed, "")
    if os.access(command, os.X_OK) and Path(command).is_file():  # a path with spaces
        return [command]
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise BadInput(
            f"$VISUAL or $EDITOR cannot be parsed: {error}.", "Set EDITOR to your editor."
        ) from error
    if not words:
        raise BadInput("No editor was found.", "Set EDITOR to your editor.")
    return words


def edit_text(environ: Mapping[str, str], text: str) -> str:
    """Return a text as the user leaves it in the editor. Raises BadInput, which says that the text stays as it was, if
    the editor cannot be started, fails, or leaves no text."""
    # late: few drafts are edited so
    from tempfile import TemporaryDirectory

    from swecli.regular_files import read_regular
    from swecli.text_files import decode

    stays = "The draft stays as it was."
    with TemporaryDirectory(prefix="swecli-") as folder:
        path = Path(folder) / "message.md"
        path.write_text(text, encoding="utf-8", errors="surrogateescape", newline="")
        code = run_editor(environ, path)
        if code < 0:
            raise BadInput(f"The editor was ended ({signal.Signals(-code).name}).", stays)
        if code:
            raise BadInput(f"The editor ended with exit code {code}.", stays)
        try:
            file = decode(read_regular(path, _MAX_TEXT))
        except FileNotFoundError as error:
            raise BadInput("The editor left no file.", stays) from error
        except OSError as error:
            raise BadInput(
                f"What the editor left cannot be read: {error.strerror}.", stays
            ) from error
    if file is None:
        raise BadInput("What the editor left is not text.", stays)
    return file.readable_text.replace("\r\n", "\n").removesuffix("\n")


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
