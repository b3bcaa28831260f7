"""Test that a name is read back as it was written, whatever a file system allows in it."""

from __future__ import annotations

import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from swecli.file_names import find_mention, read_name, read_start, write_mention, write_name
from swecli.text import unclear_character

_ANY_BYTE = st.binary(min_size=1, max_size=40)
_TROUBLE = st.lists(
    st.sampled_from(
        [*" \t\n\r\"'\\`@:,;.!?()[]{}<>|*$~#é字", "\u202f", "\u200d", "12", "a", "\x9b"]
    ),
    min_size=1,
    max_size=12,
).map(lambda parts: os.fsencode("".join(parts)))
names = (
    st.one_of(_ANY_BYTE, _TROUBLE)
    .map(lambda name: name.replace(b"\0", b"").replace(b"/", b""))
    .filter(lambda name: name not in (b"", b".", b".."))
    .map(os.fsdecode)
)
paths = st.tuples(st.lists(names, max_size=2), names, st.sampled_from(["", "/"])).map(
    lambda parts: "/".join([*parts[0], parts[1]]) + parts[2]
)


@given(paths, st.sampled_from(["", " now", ". Then", ", and", ") too", " 'it'", '"']))
def test_a_mention_is_read_as_the_name_that_was_written(path: str, behind: str) -> None:
    text = f"see @{write_mention(path)}{behind}"
    mention = find_mention(text)
    assert mention is not None
    found = [one for one in mention.readings() if one.name == path and not one.start]
    assert found
    assert text[found[0].stop :] == behind


@given(names)
def test_a_line_of_a_list_is_read_back_as_its_name(name: str) -> None:
    written = write_name(name)
    assert not unclear_character().search(written)
    assert "\n" not in written
    assert (name if written == name else read_name(written)) == name


@given(paths)
def test_what_was_completed_can_be_completed_again(path: str) -> None:
    assert read_start(write_mention(path)) == path


@pytest.mark.parametrize(
    ("name", "mention"),
    [
        ("src/app.py", "src/app.py"),
        ("app/[id]/(auth)/page.tsx", "app/[id]/(auth)/page.tsx"),
        ("it's,a.txt", "it's,a.txt"),
        ("two words.txt", '"two words.txt"'),
        ('say "hi"', r'"say \"hi\""'),
        ("caf\udce9.txt", r'"caf\xe9.txt"'),
        ("9:41\u202fAM.png", r'"9:41\u202fAM.png"'),
        ("a\nb", r'"a\nb"'),
    ],
)
def test_a_mention_has_quotes_only_where_it_needs_them(name: str, mention: str) -> None:
    assert write_mention(name) == mention


def test_bytes_that_are_letters_together_are_read_as_letters() -> None:
    assert read_name(r'"caf\xc3\xa9"') == "café"


def test_an_escape_that_is_none_stays_as_it_is() -> None:
    assert read_name(r'"a\d\x4"') == r"a\d\x4"
