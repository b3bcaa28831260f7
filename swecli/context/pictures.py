"""Pictures that go with a query: read, checked, and made as small as services look at them anyway."""

from __future__ import annotations

import base64
import warnings
from io import BytesIO
from pathlib import Path
from typing import Any

from swecli.models.errors import BadInput
from swecli.models.message import Image

_SUFFIXES = frozenset({".png", ".jpg", ".jpeg", ".gif", ".webp"})
_FORMATS = ("PNG", "JPEG", "GIF", "WEBP")
_MOST_READ = 20_000_000  # bytes of a file
_MOST_PIXELS = 50_000_000
_MOST_SENT = 3_700_000  # bytes: services take 5 MB in base64
_LONGEST = 1_568  # pixels of the longer side: what is larger is scaled down by the services themselves


def is_picture(path: Path) -> bool:
    """Whether a file's name is that of a picture which can be sent."""
    return path.suffix.lower() in _SUFFIXES and path.is_file()


def read_picture(path: Path, name: str) -> Image:
    """The picture as it is sent: scaled to 1568 pixels and 3.7 MB where it has more; of an animation the first frame.

    Raises BadInput, which begins with `name`, for a file that is none, is damaged or too large."""
    try:
        with path.open("rb") as file:
            data = file.read(_MOST_READ + 1)
        size = path.stat().st_size
    except OSError as error:
        raise _unusable(name, f"cannot be read ({error.strerror or error})") from error
    if not data:
        raise _unusable(name, "is empty (0 bytes)")
    if len(data) > _MOST_READ:
        raise _unusable(name, f"has {size / 1e6:,.0f} MB, pictures of up to {_MOST_READ / 1e6:.0f} MB can be sent")
    # late: the decoders are loaded when there is a picture
    from PIL import Image as pillow  # noqa: PLC0415
    from PIL import UnidentifiedImageError  # noqa: PLC0415

    pillow.MAX_IMAGE_PIXELS = _MOST_PIXELS
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", pillow.DecompressionBombWarning)
            with pillow.open(BytesIO(data), formats=_FORMATS) as opened:
                opened.load()
                return _small_enough(opened, data, name)
    except (pillow.DecompressionBombWarning, pillow.DecompressionBombError) as error:
        raise _unusable(name, f"has more than {_MOST_PIXELS / 1e6:.0f} million pixels") from error
    except UnidentifiedImageError as error:
        raise _unusable(name, "is not a PNG, JPEG, GIF or WebP picture") from error
    except Exception as error:  # whatever a decoder raises at foreign bytes is a line for the user
        raise _unusable(name, "is damaged or cut off") from error


def _small_enough(picture: Any, data: bytes, name: str) -> Image:
    kind, moves = picture.format, getattr(picture, "n_frames", 1) > 1
    if moves or max(picture.size) > _LONGEST or len(data) > _MOST_SENT:
        # late: as above
        from PIL import ImageOps  # noqa: PLC0415

        kind = "JPEG" if kind == "JPEG" else "PNG"
        picture = ImageOps.exif_transpose(picture).convert("RGB" if kind == "JPEG" else "RGBA")
        picture.thumbnail((_LONGEST, _LONGEST))
        data = _saved(picture, kind)
        if len(data) > _MOST_SENT:
            kind, data = "JPEG", _saved(picture.convert("RGB"), "JPEG")
    label, text = "[image {}x{}]".format(*picture.size), base64.b64encode(data).decode()
    return {"name": name, "label": label, "media_type": f"image/{kind.lower()}", "data": text}


def _saved(picture: Any, kind: str) -> bytes:
    out = BytesIO()
    picture.save(out, kind)
    return out.getvalue()


def _unusable(name: str, why: str) -> BadInput:
    return BadInput(f"@{name} {why}: nothing was sent.", "Name another picture, or leave out the @.")
