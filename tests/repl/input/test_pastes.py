"""Test long pastes and their placeholders."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prompt_toolkit.document import Document

from swecli.repl.input.buffer import LineBuffer
from swecli.repl.input.history import LineHistory
from swecli.repl.input.pastes import Pastes
from tests.repl.input.test_buffer import edit
from tests.support.typist import Typist, run_prompt


def test_a_short_paste_is_inserted_into_the_line() -> None:
    assert Pastes().add_text("def f():\r\n    pass") == "def f():\n    pass"


def test_a_long_paste_is_shown_as_a_placeholder_and_sent_whole() -> None:
    pastes = Pastes()
    many, big = "\n".join(map(str, range(16))), "x" * 1001
    line = f"{pastes.add_text(many)} and {pastes.add_text(big)}"
    assert line == "[Pasted text #1 · 16 lines] and [Pasted text #2 · 1,001 characters]"
    assert pastes.expand(line) == f"{many} and {big}"


def test_pastes_over_1000_characters_or_15_lines_become_placeholders() -> None:
    assert Pastes().add_text("x" * 1000) == "x" * 1000
    fifteen = "\n".join("x" * 15)
    assert Pastes().add_text(fifteen) == fifteen
    assert Pastes().add_text(fifteen + "\nx") == "[Pasted text #1 · 16 lines]"


def test_a_typed_placeholder_without_a_paste_is_not_expanded() -> None:
    assert Pastes().expand("see [Pasted text #3]") == "see [Pasted text #3]"


def test_a_pasted_placeholder_is_not_expanded_again() -> None:
    pastes = Pastes()
    inner = pastes.add_text("a" * 2000)
    outer = pastes.add_text(inner + "b" * 2000)
    assert pastes.expand(outer) == inner + "b" * 2000


@given(st.text())
def test_control_characters_are_removed_from_pastes(text: str) -> None:
    assert all(
        c in "\n\t" or (c >= " " and not "\x7f" <= c <= "\x9f")
        for c in Pastes().add_text(text[:1000])
    )


TEXT = "\n".join(f"line {number}" for number in range(20_000))
CHIP = "[Pasted text #1 · 20,000 lines]"


def make_line(tmp_path: Path) -> LineBuffer:
    """Return a line with a paste in the middle."""
    history = LineHistory(tmp_path / "history")
    buffer = LineBuffer(history, multiline=True)
    buffer.document = Document(f"see {history.pastes.add_text(TEXT)} there")
    return buffer


@pytest.mark.parametrize(
    ("key", "place", "left"),
    [
        ("backspace", len(f"see {CHIP}"), "see  there"),
        ("backspace", len("see [Pas"), "see  there"),
        ("delete", len("see "), "see  there"),
        ("delete", len(f"see {CHIP}"), f"see {CHIP}there"),
        ("backspace", len("see "), f"see{CHIP} there"),
        ("word back", len(f"see {CHIP}"), "see  there"),
        ("to the start", len("see [Pas"), " there"),
    ],
)
def test_a_placeholder_is_deleted_whole_or_not_at_all(
    tmp_path: Path, key: str, place: int, left: str
) -> None:
    line = make_line(tmp_path)
    line.cursor_position = place
    if key == "delete":
        line.delete()
    else:
        line.delete_before_cursor({"backspace": 1, "word back": 6, "to the start": place}[key])
    assert line.text == left
    assert not line.has_cut_paste


def test_text_typed_inside_a_placeholder_comes_after_it(tmp_path: Path) -> None:
    line = make_line(tmp_path)
    line.cursor_position = len("see [Pas")
    edit(line, lambda: line.insert_text("!"))
    assert line.text == f"see {CHIP}! there"
    assert line.cursor_position == len(f"see {CHIP}!")


@given(st.lists(st.tuples(st.sampled_from("bdi"), st.integers(0, 50), st.integers(1, 9))))
def test_no_edit_leaves_a_part_of_a_placeholder(
    tmp_path_factory: pytest.TempPathFactory, edits: list[tuple[str, int, int]]
) -> None:
    line = make_line(tmp_path_factory.getbasetemp())

    def change() -> None:
        for kind, place, count in edits:
            line.cursor_position = min(place, len(line.text))
            if kind == "b":
                line.delete_before_cursor(count)
            elif kind == "d":
                line.delete(count)
            else:
                line.insert_text("#" * count)

    edit(line, change)
    assert not line.has_cut_paste
    assert CHIP in line.text or "Pasted" not in line.text


@pytest.mark.parametrize("cut", [CHIP[1:], CHIP[:-1], CHIP[:20], CHIP[12:], CHIP.replace("#", "")])
def test_a_line_with_a_cut_placeholder_is_not_sent_and_says_why(cut: str) -> None:
    async def play(typist: Typist) -> None:
        typist.prompt.history.pastes.add_text(TEXT)
        typist.prompt.buffer.document = Document(f"see {cut}")
        await typist.type("\r", "\x14")
        assert "part of a paste's mark is missing" in typist.ctx.footer.hint
        assert typist.prompt.buffer.text == f"see {cut}"

    played = run_prompt(play)
    assert played.sent == []
    assert played.ctx.done == []


def test_a_paste_sent_before_is_recalled_as_its_placeholder(tmp_path: Path) -> None:
    line = make_line(tmp_path)
    edit(line, lambda: line.reset(append_to_history=True))
    assert line.history.get_strings() == [f"see {CHIP} there"]


def test_a_restored_message_has_its_placeholders_again(tmp_path: Path) -> None:
    line = make_line(tmp_path)
    line.reset()
    line.restore(f"see {TEXT}")
    assert line.text == f"see {CHIP}"
