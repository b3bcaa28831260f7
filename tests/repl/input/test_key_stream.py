"""Test what bytes of a terminal are typed, pasted or left out."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prompt_toolkit.key_binding import KeyPress
from prompt_toolkit.keys import Keys

from swecli.repl.input import key_stream
from swecli.repl.input.key_stream import KeyStream

PASTE = Keys.BracketedPaste


def typed(*reads: str) -> list[str | tuple[str, str]]:
    """Return what these reads, and the silence after them, make: text, and pastes as pairs."""
    stream = KeyStream(lambda line: line in ("/status", "/cost"))
    found: list[str | tuple[str, str]] = []
    keys = [key for read in reads for key in stream.feed(stream.join(read))]
    for key in [*keys, *stream.flush()]:
        if isinstance(key, KeyPress):
            found.append(("paste", key.data))
        elif found and isinstance(found[-1], str):
            found[-1] += key
        elif key:
            found.append(key)
    return found


@pytest.mark.parametrize(
    "unknown",
    [
        "\x1b[I",
        "\x1b[O",
        "\x1b[?62;c",
        "\x1b[?1;2$y",
        "\x1b]10;rgb:ffff/ffff/ffff\x07",
        "\x1b]10;rgb:ffff/ffff/ffff\x1b\\",
        "\x1bP>|XTerm(370)\x1b\\",
        "\x1b_Gi=31;OK\x1b\\",
        "\x1b[57358u",
        "\x1b[97;1:3u",
        "\x1b[99;9u",
        "\x1b[1;1:3A",
    ],
)
def test_a_sequence_that_is_no_key_is_left_out(unknown: str) -> None:
    assert typed(f"ab{unknown}cd") == ["abcd"]
    for place in range(1, len(unknown)):
        assert typed(f"ab{unknown[:place]}", f"{unknown[place:]}cd") == ["abcd"]


@pytest.mark.parametrize("begun", ["\x1b[20", "\x1b]10;rgb:ff", "\x1bP>|XT"])
def test_a_sequence_whose_rest_comes_late_is_whole(begun: str) -> None:
    stream = KeyStream()
    assert "".join(map(str, stream.feed(stream.join(begun)))) == ""
    assert list(stream.flush()) == []
    assert stream.join("rest") == f"{begun}rest"


def test_the_beginning_of_a_sequence_does_not_take_keys_for_ever(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = 100.0
    monkeypatch.setattr("swecli.repl.input.key_stream.time.monotonic", lambda: now)
    stream = KeyStream()
    keys: list[str | KeyPress] = []
    for key in ("\x1b]10;rgb:ff", "a", "b", "c", "d"):
        keys += stream.feed(stream.join(key))
        keys += stream.flush()
        now += 1.0
    assert "".join(map(str, keys)) == "cd"


@pytest.mark.parametrize(
    "known",
    [
        "\x1b[A",
        "\x1b[1;5C",
        "\x1bOP",
        "\x1b[[A",
        "\x1b[15~",
        "\x1b[<0;10;10M",
        "\x1b[M !!",
        "\x1b[3;5R",
        "\x1b",
        "\x1bx",
        "\x1b\r",
        "\x1b]",
        "\x1bP",
        "\x1b[Z",
        "\x03",
        "日本",
    ],
)
def test_a_known_key_is_passed_on(known: str) -> None:
    assert typed(known) == [known]


@pytest.mark.parametrize("sequence", ["\x1b[13;2u", "\x1b[27;2;13~", "\x1b[13;2:1u"])
def test_shift_enter_is_a_new_line(sequence: str) -> None:
    assert typed(f"ab{sequence}cd") == ["ab", ("paste", "\n"), "cd"]


@pytest.mark.parametrize(
    ("sequence", "key"),
    [
        ("\x1b[99;5u", "\x03"),
        ("\x1b[100;5u", "\x04"),
        ("\x1b[27u", "\x1b"),
        ("\x1b[13u", "\r"),
        ("\x1b[9;2u", "\x1b[Z"),
        ("\x1b[127u", "\x7f"),
        ("\x1b[97u", "a"),
        ("\x1b[97:65;2u", "A"),
        ("\x1b[97;2u", "A"),
        ("\x1b[97;;228u", "ä"),
        ("\x1b[120;3u", "\x1bx"),
        ("\x1b[27;5;99~", "\x03"),
        ("\x1b[27;3;13~", "\x1b\r"),
        ("\x1b[1;1:1A", "\x1b[A"),
        ("\x1b[1;129A", "\x1b[A"),
        ("\x1b[1;5:2C", "\x1b[1;5C"),
        ("\x1b[3;1:1~", "\x1b[3~"),
        ("\x1b[99;69u", "\x03"),
    ],
)
def test_keys_of_an_encoding_that_was_left_switched_on_work(sequence: str, key: str) -> None:
    assert typed(sequence) == [key]


@pytest.mark.parametrize("broken", ["\x1b[1;", "\x1b]10;rgb", "\x1bP1$r"])
def test_a_sequence_that_is_broken_off_by_the_next_key_is_left_out(broken: str) -> None:
    assert typed(f"ab{broken}\x1b[Ccd") == ["ab\x1b[Ccd"]


@pytest.mark.parametrize("sequence", ["\x1b[3u", "\x1b[4u", "\x1b[7;1u"])
def test_a_key_has_no_control_character_for_its_code(sequence: str) -> None:
    assert typed(f"ab{sequence}cd") == ["abcd"]


@pytest.mark.parametrize("reply", ["\x1b]10;rgb:ffff/0/0\x07", "\x1bP1$r0m\x1b\\", "\x1b[?62;22c"])
def test_the_rest_of_a_reply_is_not_typed_after_a_pause_and_later_keys_are(
    reply: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    stream = KeyStream()
    for place in range(3, len(reply)):
        keys = [*stream.feed(stream.join(reply[:place])), *stream.flush()]
        keys += [*stream.feed(stream.join(reply[place:] + "q"))]
        assert "".join(map(str, keys)) == "q"
    assert [*stream.feed(reply[:4]), *stream.flush()] == []
    monkeypatch.setattr(key_stream, "_PATIENCE", 0.0)
    assert [*stream.feed(stream.join("q"))] == ["q"]


def test_several_lines_of_one_read_are_one_paste() -> None:
    assert typed("a\rb\rc") == [("paste", "a\rb\rc")]
    assert typed("a\r\n\tb\r\n") == [("paste", "a\r\n\tb\r\n")]


def test_enter_at_the_end_of_a_burst_is_enter() -> None:
    assert typed("a\rb\r") == [("paste", "a\rb"), "\r"]
    assert typed("a\r") == ["a\r"]


def test_a_burst_goes_on_in_the_next_read() -> None:
    assert typed("a\rb\r", "c\r", "d") == [("paste", "a\rb\rc\rd")]
    assert typed("a\rb", "\x1b[A") == [("paste", "a\rb"), "\x1b[A"]


def test_commands_around_a_burst_are_typed() -> None:
    assert typed("/status\r/cost\r") == ["/status\r/cost\r"]
    assert typed("/status\ra\rb\r/cost\r") == ["/status\r", ("paste", "a\rb"), "\r/cost\r"]
    assert typed("a\r/cost\rb\r") == [("paste", "a\r/cost\rb"), "\r"]


@pytest.mark.parametrize("place", range(1, len("/status\r/cost\r")))
def test_commands_are_typed_wherever_a_read_ends(place: int) -> None:
    keys = "/status\r/cost\r"
    assert typed(keys[:place], keys[place:]) == [keys]


def test_a_text_that_nobody_types_in_one_read_is_a_paste() -> None:
    assert typed("x" * 1001) == [("paste", "x" * 1001)]
    assert typed("x" * 1000) == ["x" * 1000]


def test_keys_typed_one_by_one_are_no_burst() -> None:
    assert typed("a", "\r", "b", "\r") == ["a\rb\r"]
    assert typed("one\ntwo\\\rthree") == ["one\ntwo\\\rthree"]
    assert typed("a\r\x1b[A") == ["a\r\x1b[A"]
    assert typed("\r3") == ["\r3"]
    assert typed("\ra\rb") == ["\r", ("paste", "a\rb")]


@given(
    st.lists(
        st.sampled_from(["a", "\r", "\n", "\x1b", "[", ";1", "u", "~", "\x07", "\\", "13", "é"])
    )
)
def test_plain_text_is_never_lost(parts: list[str]) -> None:
    text = "".join(one if isinstance(one, str) else one[1] for one in typed(*parts))
    assert text.count("é") == parts.count("é")
