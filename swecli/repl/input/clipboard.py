"""Pictures that come into the line: the path of one that is pasted, and what the clipboard holds."""

from __future__ import annotations

import hashlib
import os
import shlex
import shutil
import subprocess
import time
from pathlib import Path
from urllib.parse import unquote, urlsplit

from swecli.models.errors import BadInput

_SECONDS, _KEPT = 5, 86_400
_PNG = b"\x89PNG"
# what prints the clipboard's picture as PNG; the last one in hexadecimal, between quotes of its own
_PROGRAMS = (
    ["wl-paste", "--type", "image/png"],
    ["xclip", "-selection", "clipboard", "-target", "image/png", "-out"],
    ["osascript", "-e", "get the clipboard as «class PNGf»"],
)


def pasted_picture(text: str) -> Path | None:
    """The picture whose path alone was pasted, as terminals write that of a file dropped on them: quoted, with
    backslashes, or as a file's address; None for any other text."""
    # late: a first drawing pastes nothing
    from swecli.context.pictures import is_picture  # noqa: PLC0415

    try:
        words = [text.strip()] if text.strip().startswith("file://") else shlex.split(text)
        path = Path(unquote(urlsplit(words[0]).path) if words[0].startswith("file://") else words[0]).expanduser()
        return path.absolute() if len(words) == 1 and is_picture(path) else None
    except (ValueError, IndexError, OSError, RuntimeError):
        return None


def clipboard_picture(folder: Path) -> Path:
    """The clipboard's picture as a file of the folder, named by its content; those of the day before are removed.
    Raises BadInput where there is none, or no program that could print it."""
    programs = [argv for argv in _PROGRAMS if shutil.which(argv[0])]
    if not programs:
        raise BadInput(
            "No program here prints the clipboard's picture (wl-paste, xclip, osascript).", "Paste the path of a file."
        )
    data = next((found for argv in programs if (found := _printed(argv)).startswith(_PNG)), b"")
    if not data:
        raise BadInput("There is no picture in the clipboard.", "Copy one, or paste the path of a file.")
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        for old in folder.glob("*.png"):
            if old.stat().st_mtime < time.time() - _KEPT:
                old.unlink(missing_ok=True)
        path = folder / f"clipboard-{hashlib.sha256(data).hexdigest()[:12]}.png"
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
            file.write(data)
    except OSError as error:
        raise BadInput(f"The clipboard's picture cannot be kept: {error.strerror} ({folder}).") from error
    return path


def _printed(argv: list[str]) -> bytes:
    try:
        out = subprocess.run(argv, capture_output=True, timeout=_SECONDS, check=True).stdout
    except (OSError, subprocess.SubprocessError):
        return b""
    written = out.strip().removeprefix("«data PNGf".encode()).removesuffix("»".encode())
    try:
        return bytes.fromhex(written.decode()) if written != out.strip() else out
    except ValueError:
        return b""
