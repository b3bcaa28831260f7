"""Test reading the keys of a real pseudo-terminal."""

from __future__ import annotations

import os
import tty
from collections.abc import Iterator

import pytest
from prompt_toolkit.key_binding import KeyPress
from prompt_toolkit.keys import Keys

from swecli.repl.input import terminal
from swecli.repl.input.terminal import _PasteInput

PASTE = Keys.BracketedPaste


class Typing:
    """The keyboard of a terminal, and the program that reads it."""

    def __init__(self) -> None:
        self._ours, self._theirs = os.openpty()
        tty.setraw(self._theirs)
        self._file = os.fdopen(self._theirs)
        self.keyboard = _PasteInput(self._file, lambda line: line.startswith("/"))

    def read(self, text: str) -> list[tuple[str, str]]:
        """Type a text, and return the keys that are read of it at once."""
        os.write(self._ours, text.encode())
        return self.pairs(self.keyboard.read_keys())

    def write(self, text: str) -> None:
        os.write(self._ours, text.encode())

    def flush(self) -> list[tuple[str, str]]:
        """Return the keys that silence makes of what was kept."""
        return self.pairs(self.keyboard.flush_keys())

    def pairs(self, keys: list[KeyPress]) -> list[tuple[str, str]]:
        return [(key.key, key.data) for key in keys]

    def close(self) -> None:
        self._file.close()
        os.close(self._ours)


@pytest.fixture
def typing() -> Iterator[Typing]:
    opened = Typing()
    yield opened
    opened.close()


def text(keys: list[tuple[str, str]]) -> str:
    return "".join(data for _, data in keys)


def test_many_pastes_of_one_read_are_one_key_each(typing: Typing) -> None:
    keys = typing.read("\x1b[200~ab\x1b[201~" * 200)
    assert keys == [(PASTE, "ab")] * 200


def test_what_is_typed_between_two_pastes_is_typed(typing: Typing) -> None:
    keys = typing.read("a\x1b[200~b\rc\x1b[201~d\x1b[200~e\x1b[201~")
    assert text(keys) == "ab\rcde"
    assert [key for key, _ in keys] == ["a", PASTE, "d", PASTE]


@pytest.mark.parametrize("key", ["\x1b", "\x03"])
def test_a_paste_whose_end_is_lost_is_ended_by_a_key_after_a_pause(
    typing: Typing, key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert typing.read("\x1b[200~ab") == []
    assert typing.read(key) == [], "it may be a part of the paste"
    monkeypatch.setattr(terminal, "_PASTE_GAP", 0.0)
    assert typing.read("c") == []
    assert typing.keyboard.paste_length == 4
    assert typing.read(key) == [(PASTE, f"ab{key}c")]
    assert text(typing.read("d")) == "d"


def test_a_burst_is_not_ended_while_more_of_it_waits(typing: Typing) -> None:
    assert typing.read("one\rtwo\r") == []
    typing.write("three\r")
    assert typing.flush() == [], "the program was busy, the paste goes on"
    assert typing.read("four") == []
    assert typing.flush() == [(PASTE, "one\rtwo\rthree\rfour")]


def test_commands_that_come_at_once_are_typed_one_by_one(typing: Typing) -> None:
    assert typing.read("/status\r/cost\r") == []
    keys = typing.flush()
    assert text(keys) == "/status\r/cost\r"
    assert PASTE not in [key for key, _ in keys]


def test_a_long_text_without_marks_is_a_paste(typing: Typing) -> None:
    typing.read("x" * 4000)
    assert typing.flush() == [(PASTE, "x" * 4000)]
