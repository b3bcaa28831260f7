"""Reads pictures, scaled to the size that services use anyway."""

from __future__ import annotations

import base64
import warnings
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

from swecli.models.errors import BadInput
from swecli.models.message import Image

if TYPE_CHECKING:  # needed only for a picture
    import PIL.Image

_SUFFIXES = frozenset({".png", ".jpg", ".jpeg", ".gif", ".webp"})
_FORMATS = ("PNG", "JPEG", "GIF", "WEBP")
_MAX_PICTURE = 20_000_000  # bytes of a file
_MAX_PIXELS = 50_000_000
_MAX_SENT = 3_700_000  # bytes: services accept 5 MB in base64
_MAX_SIDE = 1_568  # pixels: services scale larger pictures down themselves


def is_picture(path: Path) -> bool:
    """Return whether a path is a file with the suffix of a picture that can be sent."""
    return path.suffix.lower() in _SUFFIXES and path.is_file()


def read_picture(path: Path, name: str) -> Image:
    """Read a picture, scaled to 1568 pixels and 3.7 MB if it is larger; of an animation the first frame. Raises
    BadInput, which begins with `name`, for a file that is not a picture, damaged or too large."""
    try:
        with path.open("rb") as file:
            data = file.read(_MAX_PICTURE + 1)
        size = path.stat().st_size
    except OSError as error:
        raise _bad_picture(name, f"cannot be read ({error.strerror or error})") from error
    if not data:
        raise _bad_picture(name, "is empty (0 bytes)")
    if len(data) > _MAX_PICTURE:
        raise _bad_picture(
            name,
            f"has {size / 1e6:,.0f} MB, pictures of up to {_MAX_PICTURE / 1e6:.0f} MB can be sent",
        )
    # late: the decoders are needed only for a picture
    from PIL import Image as pillow
    from PIL import UnidentifiedImageError

    pillow.MAX_IMAGE_PIXELS = _MAX_PIXELS
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", pillow.DecompressionBombWarning)
            with pillow.open(BytesIO(data), formats=_FORMATS) as opened:
                opened.load()
                return _encode(opened, data, name)
    except (pillow.DecompressionBombWarning, pillow.DecompressionBombError) as error:
        raise _bad_picture(name, f"has more than {_MAX_PIXELS / 1e6:.0f} million pixels") from error
    except UnidentifiedImageError as error:
        raise _bad_picture(name, "is not a PNG, JPEG, GIF or WebP picture") from error
    except Exception as error:  # a decoder may raise anything for invalid data
        raise _bad_picture(name, "is damaged or truncated") from error


def _encode(picture: PIL.Image.Image, data: bytes, name: str) -> Image:
    kind = picture.format or "PNG"
    has_frames = getattr(picture, "n_frames", 1) > 1
    if has_frames or max(picture.size) > _MAX_SIDE or len(data) > _MAX_SENT:
        # late: needed only for a picture
        from PIL import ImageOps

        kind = "JPEG" if kind == "JPEG" else "PNG"
        picture = ImageOps.exif_transpose(picture).convert("RGB" if kind == "JPEG" else "RGBA")
        picture.thumbnail((_MAX_SIDE, _MAX_SIDE))
        data = _save(picture, kind)
        if len(data) > _MAX_SENT:
            kind = "JPEG"
            data = _save(picture.convert("RGB"), kind)
    width, height = picture.size
    return {
        "name": name,
        "label": f"[image {width}x{height}]",
        "media_type": f"image/{kind.lower()}",
        "data": base64.b64encode(data).decode(),
    }


def _save(picture: PIL.Image.Image, kind: str) -> bytes:
    out = BytesIO()
    picture.save(out, kind)
    return out.getvalue()


def _bad_picture(name: str, problem: str) -> BadInput:
    return BadInput(
        f"@{name} {problem}: nothing was sent.", "Name another picture, or leave out the @."
    )
