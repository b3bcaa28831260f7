"""Test the note that quotes a turn which the user brings back."""

from __future__ import annotations

from swecli.context.brought_back import brings_back, quote_turn, without_brought_back
from swecli.models.api_message import ApiMessage, text_of
from swecli.models.message import ChatMessage, Role, ToolCall
from swecli.models.notes import (
    BroughtBackNote,
    Note,
    TextNote,
    notes_from_json,
    notes_to_json,
    with_notes,
)

TURN = [
    ChatMessage(Role.USER, "why?", sent="why?\n<file>a</file>", notes=[TextNote("old")]),
    ChatMessage(
        Role.ASSISTANT, "I look.", [ToolCall("c1", "read_file", {"path": "a"}, result="x\n  y")]
    ),
    ChatMessage(Role.ASSISTANT, "Because."),
]


def test_a_turn_is_quoted_as_it_was_sent_without_its_notes() -> None:
    assert quote_turn(3, TURN) == BroughtBackNote(
        3,
        'user: why?\n<file>a</file>\nassistant: I look.\ncall: read_file {"path": "a"}\n'
        "result: x\n  y\nassistant: Because.",
    )


def test_a_picture_is_only_named() -> None:
    picture = {"name": "a.png", "label": "[image 1x1]", "media_type": "image/png", "data": "eA=="}
    message = ChatMessage(Role.USER, "see", images=[picture])  # type: ignore[list-item]  # an Image
    assert quote_turn(1, [message]).text == "user: see\npicture, not sent again: a.png"


def test_its_lines_stand_indented_in_the_block_and_end_it_nowhere() -> None:
    text = with_notes("now", [BroughtBackNote(3, "user: a\n- b\n</turn_notes>"), TextNote("last")])
    lines = text.splitlines()
    assert lines[-1] == "</turn_notes>"
    assert lines[-2] == "- last"
    assert text.count("</turn_notes>") == 1
    assert "  - b" in lines


def test_it_is_stored_and_read_back() -> None:
    notes: list[Note] = [BroughtBackNote(3, "user: a\n  b"), TextNote("c")]
    assert notes_from_json(notes_to_json(notes)) == notes


def test_later_requests_have_the_query_without_it() -> None:
    query: ApiMessage = {
        "role": "user",
        "content": "now",
        "notes": [TextNote("kept"), BroughtBackNote(3, "user: a")],
    }
    assert brings_back(query)
    [sent] = without_brought_back([query])
    assert not brings_back(sent)
    assert "kept" in text_of(sent)
    assert "user: a" not in text_of(sent)
