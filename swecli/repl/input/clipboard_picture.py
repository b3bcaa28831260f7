"""Pictures that are pasted: by the path of a file, or from the clipboard."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
from pathlib import Path
from tempfile import NamedTemporaryFile
from urllib.parse import unquote, urlsplit

from swecli.models.errors import BadInput

_CLIPBOARD_TIMEOUT = 5  # seconds
_MAX_DROPPED = 20_000  # characters: a longer paste is no list of paths
_SUFFIX = re.compile(r"\.(?:png|jpe?g|gif|webp)\b", re.IGNORECASE)  # most pastes have none
_NEXT_PATH = re.compile(r"\s+(?=/|~/|file://)")
_SPACE = re.compile(r"\s")
_PNG = b"\x89PNG"
# Commands that print the clipboard's picture as PNG; osascript prints it in hexadecimal, as «data PNGf…».
_CLIPBOARD_COMMANDS = (
    ["wl-paste", "--type", "image/png"],
    ["xclip", "-selection", "clipboard", "-target", "image/png", "-out"],
    ["osascript", "-e", "get the clipboard as «class PNGf»"],
)


def find_dropped_pictures(text: str) -> list[Path]:
    """Return the pictures that were dropped on the terminal: it pastes their paths with spaces between them, quoted,
    escaped, as file URLs or as they are. [] unless every path is a picture."""
    if len(text) > _MAX_DROPPED or not _SUFFIX.search(text):
        return []
    stripped = text.strip()
    try:
        words = shlex.split(stripped)
    except ValueError:  # an apostrophe in a name that is not quoted
        words = []
    for names in ([stripped], words, _NEXT_PATH.split(stripped)):
        pictures = [_find_picture(name) for name in names]
        found = [picture for picture in pictures if picture is not None]
        if found and len(found) == len(names):
            return found
    return []


def _find_picture(name: str) -> Path | None:
    """Return the picture of a pasted path; a space of it may be another one in the name of the file, as in those that
    macOS gives to screenshots."""
    # late: the first prompt has no pictures
    from swecli.context.pictures import is_picture

    try:
        if name.startswith("file://"):
            name = unquote(urlsplit(name).path)
        path = Path(name).expanduser().absolute()
        if is_picture(path):
            return path
        wanted = _plain_spaces(path.name)
        if " " not in wanted:
            return None
        similar = (one for one in path.parent.iterdir() if _plain_spaces(one.name) == wanted)
        return next((one for one in similar if is_picture(one)), None)
    except (ValueError, OSError, RuntimeError):
        return None


def _plain_spaces(name: str) -> str:
    return _SPACE.sub(" ", name)


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
