"""Test exact-match edits."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from swecli.text_files import TextFile
from swecli.tools import edits
from swecli.tools.base import ToolError
from swecli.tools.edits import Edit


def E(old: str, new: str, replace_all: bool = False) -> Edit:
    return Edit(old_text=old, new_text=new, replace_all=replace_all)


def apply_edits(text: str, *wanted: Edit) -> str:
    return edits.apply_edits(TextFile(text), wanted).text


def test_each_edit_is_applied_to_the_result_of_the_previous_one() -> None:
    assert apply_edits("a b c", E("a", "x y"), E("x y b", "z")) == "z c"


def test_a_failed_edit_is_left_out_and_named() -> None:
    done = edits.apply_edits(TextFile("a b c"), [E("a", "x"), E("nothing", "y"), E("c", "z")])
    assert (done.text, done.edit_count) == ("x b z", 2)
    assert [line.partition(".")[0] for line in done.failures] == [
        "Edit 2 of 3: old_text is not in the file"
    ]


def test_edits_of_which_none_matches_are_refused_with_each_reason() -> None:
    with pytest.raises(ToolError) as caught:
        apply_edits("a b a", E("a", "x"), E("nothing", "y"))
    assert "Edit 1 of 2: old_text occurs 2 times" in str(caught.value)
    assert "Edit 2 of 2: old_text is not in the file" in str(caught.value)
    assert "Nothing was changed" in str(caught.value)


def test_an_ambiguous_edit_names_the_lines_of_all_matches() -> None:
    with pytest.raises(ToolError, match="3 times, at lines 1, 3, 4"):
        apply_edits("x\ny\nx\nx\n", E("x", "z"))
    with pytest.raises(ToolError, match="2 times"):
        apply_edits("aaa", E("aa", "b"))


def test_replace_all_replaces_every_match() -> None:
    assert apply_edits("x\r\nx\n", E("x", "long", True)) == "long\r\nlong\n"


@pytest.mark.parametrize("edit", [E("", "x"), E("a", "a")])
def test_empty_and_identical_edits_are_refused(edit: Edit) -> None:
    with pytest.raises(ToolError):
        apply_edits("a", edit)


def test_windows_line_ends_are_kept_whichever_line_ends_the_model_sends() -> None:
    assert apply_edits("a\r\nb\r\nc\r\n", E("a\nb", "x\ny\nz")) == "x\r\ny\r\nz\r\nc\r\n"
    assert apply_edits("a\r\nb\r\nc\r\n", E("\nb\n", "\n")) == "a\r\nc\r\n"
    assert apply_edits("a\nb\n", E("a\r\nb", "x\r\ny")) == "x\ny\n"


def test_line_ends_outside_the_edit_are_not_changed() -> None:
    assert apply_edits("1\r\n2\n3\r\n4\n5\n", E("3", "x\ny")) == "1\r\n2\nx\r\ny\r\n4\n5\n"


def test_each_line_of_a_file_with_mixed_ends_keeps_its_own() -> None:
    text = "a\r\nb\nc\r\nd\n"
    assert apply_edits(text, E("a\nb\nc\n", "a\nB\nc\n")) == "a\r\nB\nc\r\nd\n"
    assert apply_edits(text, E("b\nc\n", "b\nnew\nc\n")) == "a\r\nb\nnew\nc\r\nd\n"
    assert apply_edits(text, E("c", "c\nnew")) == "a\r\nb\nc\r\nnew\r\nd\n"
    assert apply_edits(text, E("b\n", "")) == "a\r\nc\r\nd\n"


def test_without_hints_a_failed_edit_does_not_quote_the_file() -> None:
    with pytest.raises(ToolError) as caught:
        edits.apply_edits(TextFile("SECRET = 123\n"), [E("SECRET = 124", "x")], hints=False)
    assert "SECRET" not in str(caught.value)


ENDS = st.sampled_from(["\n", "\r\n"])
WORDS = st.text(alphabet="ab\r ", max_size=4)


@given(
    st.lists(st.tuples(WORDS, ENDS), max_size=8),
    st.lists(st.tuples(WORDS, ENDS), max_size=8),
    st.lists(st.tuples(WORDS, ENDS), min_size=1, max_size=3),
    st.text(alphabet="xy\n", max_size=5),
)
def test_the_text_around_an_edit_is_not_changed(
    before: list[tuple[str, str]],
    after: list[tuple[str, str]],
    middle: list[tuple[str, str]],
    new: str,
) -> None:
    head = "".join(word.replace("\r", "") + end for word, end in before)
    tail = "".join(word.replace("\r", "") + end for word, end in after)
    inner = "<" + "".join(word.replace("\r", "") + end for word, end in middle) + ">"
    file = TextFile(head + inner + tail)
    edited = edits.apply_edits(file, [E(inner.replace("\r\n", "\n"), new)]).text
    assert edited.startswith(head)
    assert edited.endswith(tail)
    changed = edited[len(head) : len(edited) - len(tail)]
    assert changed.replace("\r\n", "\n") == new


@given(
    st.text(alphabet="ab\n", min_size=1, max_size=30),
    st.integers(0, 29),
    st.integers(1, 5),
    st.text("xy", max_size=3),
)
def test_an_edit_equals_str_replace_if_the_text_occurs_once(
    text: str, start: int, length: int, new: str
) -> None:
    old = text[start : start + length]
    if not old:
        return
    places = sum(text.startswith(old, i) for i in range(len(text)))
    if places == 1:
        assert apply_edits(text, E(old, new)) == text.replace(old, new)
    else:
        with pytest.raises(ToolError, match=f"{places} times"):
            apply_edits(text, E(old, new))
    assert apply_edits(text, E(old, new, True)) == text.replace(old, new)
