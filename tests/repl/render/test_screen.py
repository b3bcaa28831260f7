"""The way onto the terminal."""

from __future__ import annotations

import io
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len

from swecli.repl.render.diff import draw, parse
from swecli.repl.render.screen import Screen
from tests.screen.emulated import Bottom, Emulated
from tests.screen.hostile import HOSTILE


class Recorded(io.StringIO):
    """A terminal of any encoding that counts what is written."""

    def __init__(self, terminal: bool = True, encoding: str = "utf-8") -> None:
        super().__init__()
        self.terminal, self.writes, self._encoding = terminal, 0, encoding

    @property
    def encoding(self) -> str:  # type: ignore[override]
        return self._encoding

    def isatty(self) -> bool:
        return self.terminal

    def write(self, text: str) -> int:
        self.writes += 1
        return super().write(text)


def everything(screen: Screen, text: str) -> None:
    screen.line(text, "ok")
    screen.note(text)
    screen.warn(text)
    screen.error(text, text)
    screen.markdown(text)
    screen.table([text, "b"], [[text, text]])
    screen.print(draw(parse(f"--- a\n+++ b\n@@ -1 +1 @@\n+{text}\n")))
    screen.print(text)


@given(st.lists(st.sampled_from([*HOSTILE, "[/bold]", "[red]", "x" * 300, "\n"])).map("".join))
@settings(max_examples=60)
def test_hostile_text_never_reaches_the_output_raw(text: str) -> None:
    out = Recorded()
    everything(Screen(False, width=60, file=out), text)
    assert not set(out.getvalue()) & set("\x1b\x07\x08\x7f\x85\x90\x9b\x9f\u202e\u2066\u200b\ufeff\U000e0041\r\ud800")


@given(st.text(max_size=60))
@settings(max_examples=60)
def test_no_line_is_wider_than_the_screen(text: str) -> None:
    out = Recorded()
    screen = Screen(False, width=40, file=out)
    screen.line(text)
    screen.error(text, text)
    assert all(cell_len(line) <= 40 for line in out.getvalue().split("\n"))


def test_without_colour_there_are_no_escape_codes_and_no_trailing_spaces() -> None:
    out = Recorded()
    everything(Screen(False, width=60, file=out), "**bold** `code`\n\n| a | b |\n|--|--|\n| 1 | 2 |")
    assert "\x1b" not in out.getvalue()
    assert all(line == line.rstrip() for line in out.getvalue().split("\n"))


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_a_place_without_unicode_gets_what_it_can_show(encoding: str) -> None:
    out = Recorded(encoding=encoding)
    everything(Screen(False, width=60, file=out), "a — b … “c” 日本")
    out.getvalue().encode(encoding)
    assert 'a - b . "c"' in out.getvalue()


@pytest.mark.parametrize(
    ("environ", "terminal", "color"),
    [
        ({"TERM": "xterm-256color"}, True, True),
        ({"TERM": "xterm", "NO_COLOR": ""}, True, False),
        ({"TERM": "dumb"}, True, False),
        ({"TERM": "xterm"}, False, False),
        ({"TERM": "xterm", "FORCE_COLOR": "1"}, False, True),
    ],
)
def test_the_environment_decides_about_colour(
    environ: dict[str, str], terminal: bool, color: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdout", Recorded(terminal))
    assert Screen.above(Bottom(Emulated(60, 10)), environ).color is color


def test_what_is_printed_together_is_written_once() -> None:
    out = Recorded()
    screen = Screen(True, width=60, file=out)
    before = out.writes
    with screen.together():
        screen.line("one")
        with screen.together():
            screen.line("two")
    assert out.writes == before + 1


def test_the_width_is_asked_for_each_time(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Screen(False, file=Recorded())
    monkeypatch.setenv("COLUMNS", "77")
    assert screen.width == 77
    monkeypatch.setenv("COLUMNS", "50")
    assert screen.width == 50
