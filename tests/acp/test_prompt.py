"""Test what becomes of the blocks of a prompt."""

from __future__ import annotations

import base64
from pathlib import Path

import pytest
from acp import audio_block, image_block, resource_block, resource_link_block, text_block
from acp.schema import BlobResourceContents, TextResourceContents

from swecli.acp.prompt import Block, EditorPrompt, read_prompt
from swecli.models.errors import BadInput

ROOT = Path("/home/ann/shop")
PICTURE = base64.b64encode(b"\x89PNG").decode()


def read(*blocks: Block) -> EditorPrompt:
    return read_prompt(blocks, ROOT, lambda data, suffix: Path(f"/tmp/{len(data)}{suffix}"))


@pytest.mark.parametrize(
    ("uri", "mention"),
    [
        ("file:///home/ann/shop/src/a.py", "@src/a.py"),
        ("file:///home/ann/shop/src/a.py#L3:9", "@src/a.py:3-9"),
        ("file:///home/ann/shop/src/a.py#L3", "@src/a.py:3-3"),
        ("file:///home/ann/shop/my%20file.py#L3-L9", '@"my file.py":3-9'),
        ("file:///etc/passwd", "file:///etc/passwd"),
        ("https://example.org/a.py", "https://example.org/a.py"),
        ("http://[", "http://["),
    ],
)
def test_a_link_to_a_file_of_the_workspace_becomes_a_mention(uri: str, mention: str) -> None:
    assert read(resource_link_block("a.py", uri)).text == mention
    around = read(text_block("see"), resource_link_block("a.py", uri), text_block("please"))
    assert around.text == f"see {mention} please"


def test_what_is_embedded_is_named_in_the_text_and_attached_whole() -> None:
    buffer = TextResourceContents(uri="file:///home/ann/shop/a.py", text="x = 1\n```\n")
    prompt = read(text_block("explain "), resource_block(buffer))
    assert prompt.text == "explain a.py"
    assert prompt.attached == "a.py, as it is in the editor:\n````\nx = 1\n```\n\n````"


def test_a_picture_becomes_a_file_that_is_mentioned() -> None:
    assert read(text_block("look:"), image_block(PICTURE, "image/png")).text == "look: @/tmp/4.png"
    blob = BlobResourceContents(uri="a", blob=PICTURE, mime_type="image/webp")
    assert read(resource_block(blob)).text == "@/tmp/4.webp"


@pytest.mark.parametrize(
    ("block", "problem"),
    [
        (image_block(PICTURE, "image/svg+xml"), "image/svg.xml cannot be sent"),
        (image_block("no base64!", "image/png"), "is not base64"),
        (resource_block(BlobResourceContents(uri="a", blob=PICTURE)), "This cannot be sent"),
        (audio_block("AAAA", "audio/wav"), "Sound cannot be sent"),
        (text_block(" \n"), "There is no prompt"),
    ],
)
def test_what_cannot_be_sent_is_refused(block: Block, problem: str) -> None:
    with pytest.raises(BadInput, match=problem):
        read(block)
