"""Pictures that are pasted: by the path of a file, or from the clipboard."""

from __future__ import annotations

import shlex
import shutil
import subprocess
from pathlib import Path
from tempfile import NamedTemporaryFile
from urllib.parse import unquote, urlsplit

from swecli.models.errors import BadInput

_CLIPBOARD_TIMEOUT = 5  # seconds
_PNG = b"\x89PNG"
# Commands that print the clipboard's picture as PNG; osascript prints it in hexadecimal, as «data PNGf…».
_CLIPBOARD_COMMANDS = (
    ["wl-paste", "--type", "image/png"],
    ["xclip", "-selection", "clipboard", "-target", "image/png", "-out"],
    ["osascript", "-e", "get the clipboard as «class PNGf»"],
)


def parse_picture_path(text: str) -> Path | None:
    """Return the path of a picture dropped on the terminal, pasted quoted, escaped or as a file URL; else None."""
    # late: the first prompt has no pictures
    from swecli.context.pictures import is_picture

    try:
        stripped = text.strip()
        words = [stripped] if stripped.startswith("file://") else shlex.split(text)
        if len(words) != 1:
            return None
        name = words[0]
        if name.startswith("file://"):
            name = unquote(urlsplit(name).path)
        path = Path(name).expanduser()
        return path.absolute() if is_picture(path) else None
    except (ValueError, OSError, RuntimeError):
        return None


def save_clipboard_picture() -> Path:
    """Save the clipboard's picture in a temporary file. Raises BadInput if it cannot be read or written."""
    commands = [command for command in _CLIPBOARD_COMMANDS if shutil.which(command[0])]
    if not commands:
        raise BadInput(
            "No program was found that prints the clipboard's picture (wl-paste, xclip, osascript).",
            "Paste the path of a file.",
        )
    data = next((png for command in commands if (png := _read_png(command)).startswith(_PNG)), b"")
    if not data:
        raise BadInput(
            "There is no picture in the clipboard.", "Copy one, or paste the path of a file."
        )
    try:
        with NamedTemporaryFile("wb", prefix="swecli-", suffix=".png", delete=False) as file:
            file.write(data)
    except OSError as error:
        raise BadInput(f"The clipboard's picture cannot be saved: {error.strerror}.") from error
    return Path(file.name)


def _read_png(command: list[str]) -> bytes:
    try:
        output = subprocess.run(
            command, capture_output=True, timeout=_CLIPBOARD_TIMEOUT, check=True
        ).stdout
    except (OSError, subprocess.SubprocessError):
        return b""
    digits = output.strip().removeprefix("«data PNGf".encode()).removesuffix("»".encode())
    try:
        return bytes.fromhex(digits.decode()) if digits != output.strip() else output
    except ValueError:
        return b""
