"""Replace long pasted texts and pictures by placeholders; read the clipboard's picture."""

from __future__ import annotations

import hashlib
import os
import re
import shlex
import shutil
import subprocess
import time
from pathlib import Path
from urllib.parse import unquote, urlsplit

from swecli.models.errors import BadInput

_MAX_CHARS = 1000
_MAX_LINES = 15
_PLACEHOLDER = re.compile(r"\[(?:Pasted text #|image )[^\]\n]*\]")
# C0 without tab and newline, DEL, C1: they would move the cursor or color the screen.
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")

_CLIPBOARD_TIMEOUT = 5  # seconds
_CLIPBOARD_MAX_AGE = 86_400  # seconds that a saved picture is kept
_PNG = b"\x89PNG"
# Commands that print the clipboard's picture as PNG; osascript prints it in hexadecimal, as «data PNGf…».
_CLIPBOARD_COMMANDS = (
    ["wl-paste", "--type", "image/png"],
    ["xclip", "-selection", "clipboard", "-target", "image/png", "-out"],
    ["osascript", "-e", "get the clipboard as «class PNGf»"],
)


class Pastes:
    """The long texts and pictures pasted in this run, by their placeholders."""

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}

    def add_text(self, pasted: str) -> str:
        """Return the text to insert into the line: the pasted text without controls, or a placeholder if it is long."""
        text = _CONTROL.sub("", pasted.replace("\r\n", "\n").replace("\r", "\n"))
        if len(text) <= _MAX_CHARS and text.count("\n") < _MAX_LINES:
            return text
        placeholder = f"[Pasted text #{len(self._texts) + 1}]"
        self._texts[placeholder] = text
        return placeholder

    def add_picture(self, path: Path) -> str:
        """Return the placeholder of a picture, with its size in pixels. Raises BadInput if it cannot be sent."""
        # late: the first prompt has no pictures
        from swecli.context.pictures import read_picture  # noqa: PLC0415

        placeholder, mention = str(read_picture(path, str(path))["label"]), f'@"{path}"'
        if self._texts.get(placeholder, mention) != mention:
            placeholder = f"{placeholder[:-1]} #{len(self._texts) + 1}]"
        self._texts[placeholder] = mention
        return placeholder

    def expand(self, line: str) -> str:
        """Replace every known placeholder by its text, not recursively."""
        return _PLACEHOLDER.sub(lambda match: self._texts.get(match[0], match[0]), line)


def parse_picture_path(text: str) -> Path | None:
    """Return the path of a picture dropped on the terminal, pasted quoted, escaped or as a file URL; else None."""
    # late: the first prompt has no pictures
    from swecli.context.pictures import is_picture  # noqa: PLC0415

    try:
        words = [text.strip()] if text.strip().startswith("file://") else shlex.split(text)
        path = Path(unquote(urlsplit(words[0]).path) if words[0].startswith("file://") else words[0]).expanduser()
        return path.absolute() if len(words) == 1 and is_picture(path) else None
    except (ValueError, IndexError, OSError, RuntimeError):
        return None


def save_clipboard_picture(folder: Path) -> Path:
    """Save the clipboard's picture in `folder`, named by its hash. Raises BadInput if it cannot be read or written."""
    commands = [command for command in _CLIPBOARD_COMMANDS if shutil.which(command[0])]
    if not commands:
        raise BadInput(
            "No program was found that prints the clipboard's picture (wl-paste, xclip, osascript).",
            "Paste the path of a file.",
        )
    data = next((png for command in commands if (png := _read_png(command)).startswith(_PNG)), b"")
    if not data:
        raise BadInput("There is no picture in the clipboard.", "Copy one, or paste the path of a file.")
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        for old in folder.glob("*.png"):
            if old.stat().st_mtime < time.time() - _CLIPBOARD_MAX_AGE:
                old.unlink(missing_ok=True)
        path = folder / f"clipboard-{hashlib.sha256(data).hexdigest()[:12]}.png"
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
            file.write(data)
    except OSError as error:
        raise BadInput(f"The clipboard's picture cannot be saved: {error.strerror} ({folder}).") from error
    return path


def _read_png(command: list[str]) -> bytes:
    try:
        output = subprocess.run(command, capture_output=True, timeout=_CLIPBOARD_TIMEOUT, check=True).stdout
    except (OSError, subprocess.SubprocessError):
        return b""
    digits = output.strip().removeprefix("«data PNGf".encode()).removesuffix("»".encode())
    try:
        return bytes.fromhex(digits.decode()) if digits != output.strip() else output
    except ValueError:
        return b""
