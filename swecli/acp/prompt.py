"""A prompt of an editor as a query: links become mentions, what is embedded follows as text, pictures become files."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from urllib.parse import unquote, urlsplit

from acp.schema import (
    AudioContentBlock,
    EmbeddedResourceContentBlock,
    ImageContentBlock,
    ResourceContentBlock,
    TextContentBlock,
    TextResourceContents,
)

from swecli.models.errors import BadInput
from swecli.text import fence
from swecli.values import dataclass

Block = (
    TextContentBlock
    | ImageContentBlock
    | AudioContentBlock
    | ResourceContentBlock
    | EmbeddedResourceContentBlock
)
# Saves the bytes of a picture in a file with this suffix
SavePicture = Callable[[bytes, str], Path]
_SUFFIXES = {"image/png": ".png", "image/jpeg": ".jpg", "image/gif": ".gif", "image/webp": ".webp"}
_PLAIN_NAME = re.compile(r"[\w./~+-]+")
_LINES = re.compile(r"L(\d+)(?:[:-]L?(\d+))?")  # the fragment of a link to lines of a file


@dataclass(frozen=True, slots=True)
class EditorPrompt:
    """What the user asks, as it is stored, and the texts that the editor sent with it, "" for none."""

    text: str
    attached: str = ""


def read_prompt(blocks: Sequence[Block], root: Path, save_picture: SavePicture) -> EditorPrompt:
    """Return a prompt as a query in the workspace `root`. Raises BadInput for what cannot be sent."""
    text = ""
    attached: list[str] = []
    for block in blocks:
        match block:
            case TextContentBlock():
                text += block.text
            case ResourceContentBlock():
                text = _append(text, _name_link(block.uri, root))
            case EmbeddedResourceContentBlock():
                resource = block.resource
                if isinstance(resource, TextResourceContents):
                    name = _describe_link(resource.uri, root)
                    text = _append(text, name)
                    attached.append(f"{name}, as it is in the editor:\n{fence(resource.text)}")
                else:
                    file = _save(resource.blob, resource.mime_type or "", save_picture)
                    text = _append(text, _mention(str(file)))
            case ImageContentBlock():
                file = _save(block.data, block.mime_type, save_picture)
                text = _append(text, _mention(str(file)))
            case _:
                raise BadInput("Sound cannot be sent.", "Leave it out: nothing was sent.")
    if not text.strip():
        raise BadInput("There is no prompt.", "Write one.")
    return EditorPrompt(text.strip(), "\n\n".join(attached))


def _append(text: str, word: str) -> str:
    """Append a word, which begins behind a space: a mention in the middle of another word is none."""
    space = "" if not text or text[-1].isspace() else " "
    return f"{text}{space}{word} "


def _name_link(uri: str, root: Path) -> str:
    """Return a link as a mention if it is one to a file of the workspace, else as it is."""
    file = _file_of(uri)
    if file is None or not file.is_relative_to(root):
        return uri
    return _mention(str(file.relative_to(root)), _lines_of(uri))


def _describe_link(uri: str, root: Path) -> str:
    """Return the name of what an editor embeds: the path in the workspace, else the address."""
    file = _file_of(uri)
    if file is None or not file.is_relative_to(root):
        return uri
    return f"{file.relative_to(root)}{_lines_of(uri)}"


def _file_of(uri: str) -> Path | None:
    """Return the path of an address of a file, None of any other."""
    try:
        parts = urlsplit(uri)
    except ValueError:  # no address
        return None
    if parts.scheme != "file" or not parts.path.startswith("/"):
        return None
    return Path(unquote(parts.path))


def _lines_of(uri: str) -> str:
    """Return the lines that the address of a file names, as a mention names them; "" for all of it."""
    lines = _LINES.fullmatch(urlsplit(uri).fragment)
    if lines is None:
        return ""
    return f":{lines[1]}-{lines[2] or lines[1]}"


def _mention(name: str, lines: str = "") -> str:
    return f"@{name}{lines}" if _PLAIN_NAME.fullmatch(name) else f'@"{name}"{lines}'


def _save(data: str, media_type: str, save_picture: SavePicture) -> Path:
    suffix = _SUFFIXES.get(media_type)
    if suffix is None:
        raise BadInput(
            f"{media_type or 'This'} cannot be sent: nothing was sent.",
            f"Pictures are {', '.join(_SUFFIXES)}.",
        )
    try:
        decoded = base64.b64decode(data, validate=True)
    except binascii.Error as error:
        raise BadInput(f"The picture is not base64: {error}.", "Nothing was sent.") from error
    return save_picture(decoded, suffix)
