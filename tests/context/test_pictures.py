"""Test which picture files are accepted, how they are sent, and which are refused."""

from __future__ import annotations

import base64
import os
from io import BytesIO
from pathlib import Path

import pytest
from PIL import Image as pillow

from swecli.context.mentions import expand_mentions
from swecli.context.pictures import read_picture
from swecli.models.errors import BadInput


def picture(width: int = 64, height: int = 48, kind: str = "PNG") -> bytes:
    """Return the bytes of a picture in which every pixel differs from its neighbours."""
    file = BytesIO()
    pillow.frombytes("RGB", (width, height), os.urandom(width * height * 3)).save(file, kind)
    return file.getvalue()


def write_picture(folder: Path, name: str, data: bytes) -> Path:
    path = folder / name
    path.write_bytes(data)
    return path


@pytest.mark.parametrize(
    ("kind", "name"), [("PNG", "a.png"), ("JPEG", "a.JPG"), ("GIF", "a.gif"), ("WEBP", "a.webp")]
)
def test_a_small_picture_is_sent_byte_for_byte(tmp_path: Path, kind: str, name: str) -> None:
    data = picture(kind=kind)
    image = read_picture(write_picture(tmp_path, name, data), name)
    assert base64.b64decode(image["data"]) == data
    assert (image["media_type"], image["label"]) == (f"image/{kind.lower()}", "[image 64x48]")


def test_a_large_picture_is_scaled_down_to_1568_pixels(tmp_path: Path) -> None:
    image = read_picture(write_picture(tmp_path, "wide.png", picture(3200, 100)), "wide.png")
    assert image["label"] == "[image 1568x49]"
    with pillow.open(BytesIO(base64.b64decode(image["data"]))) as opened:
        assert opened.size == (1568, 49)


def test_a_picture_of_many_bytes_is_converted_to_a_jpeg_below_5_mb(tmp_path: Path) -> None:
    image = read_picture(write_picture(tmp_path, "noise.png", picture(1500, 1000)), "noise.png")
    assert image["media_type"] == "image/jpeg"
    assert len(image["data"]) < 5_000_000


def test_an_animation_is_sent_as_a_png_picture(tmp_path: Path) -> None:
    frames = [pillow.new("RGB", (20, 10), colour) for colour in ("red", "blue")]
    frames[0].save(tmp_path / "a.gif", save_all=True, append_images=frames[1:])
    image = read_picture(tmp_path / "a.gif", "a.gif")
    assert (image["media_type"], image["label"]) == ("image/png", "[image 20x10]")


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "is empty (0 bytes)"),
        (b"just a text\n", "is not a PNG, JPEG, GIF or WebP picture"),
        (picture()[:2000], "is damaged or truncated"),
        (picture(kind="JPEG")[:600], "is damaged or truncated"),
    ],
)
def test_an_invalid_picture_file_is_refused_with_the_reason(
    tmp_path: Path, data: bytes, reason: str
) -> None:
    write_picture(tmp_path, "shot.png", data)
    with pytest.raises(BadInput) as raised:
        expand_mentions("see @shot.png", tmp_path)
    assert raised.value.message == f"@shot.png {reason}: nothing was sent."


def test_a_picture_file_over_20_mb_is_refused(tmp_path: Path) -> None:
    with (tmp_path / "huge.png").open("wb") as file:
        file.truncate(100_000_000)
    with pytest.raises(BadInput, match="has 100 MB, pictures of up to 20 MB can be sent"):
        expand_mentions("@huge.png", tmp_path)


def test_a_picture_with_too_many_pixels_is_refused(tmp_path: Path) -> None:
    pillow.new("1", (10_000, 6_000)).save(tmp_path / "bomb.png")
    with pytest.raises(BadInput, match="more than 50 million pixels"):
        expand_mentions("@bomb.png", tmp_path)


def test_a_mentioned_picture_outside_the_project_is_labelled_and_attached(tmp_path: Path) -> None:
    (tmp_path / "project").mkdir()
    path = write_picture(tmp_path, "desk top.png", picture())
    expansion = expand_mentions(f'what is @"{path}"?', tmp_path / "project")
    assert expansion.text.endswith(f"[image 64x48] {path}")
    assert [image["name"] for image in expansion.images] == [str(path)]
    assert (expansion.notes, expansion.files) == ([], [])
