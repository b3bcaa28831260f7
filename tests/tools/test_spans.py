"""Test that the places of several passes of edits are known in the old and the new text."""

from __future__ import annotations

from hypothesis import example, given, settings
from hypothesis import strategies as st

from swecli.text_files import TextFile
from swecli.tools.base import ToolError
from swecli.tools.diffs import unified_diff
from swecli.tools.edits import Edit, apply_edits
from swecli.tools.spans import changed_lines

TEXTS = st.text(alphabet="ab\n", max_size=30)
EDITS = st.lists(
    st.builds(
        Edit,
        old_text=st.text(alphabet="ab\n", min_size=1, max_size=4),
        new_text=st.text(alphabet="abc\n", max_size=5),
        replace_all=st.booleans(),
    ),
    min_size=1,
    max_size=5,
)


@settings(deadline=None)
@given(TEXTS, EDITS)
def test_what_lies_outside_the_spans_is_the_same_in_both_texts(
    text: str, edits: list[Edit]
) -> None:
    try:
        done = apply_edits(TextFile(text), edits)
    except ToolError:
        return
    old_at = new_at = 0
    for span in done.spans:
        assert text[old_at : span.old_start] == done.text[new_at : span.new_start]
        old_at = span.old_end
        new_at = span.new_end
    assert text[old_at:] == done.text[new_at:]


@settings(deadline=None)
@example(
    "ba", [Edit(old_text="a", new_text="", replace_all=False)]
)  # the end of a line without a line break
@given(TEXTS, EDITS)
def test_a_diff_of_the_changed_lines_equals_one_in_its_result(text: str, edits: list[Edit]) -> None:
    try:
        done = apply_edits(TextFile(text), edits)
    except ToolError:
        return
    diff = unified_diff("f", text, done.text, changed_lines(text, done.text, done.spans))
    assert patched(text, diff.text) == done.text


def patched(old: str, diff: str) -> str:
    """Return the text after a diff without lost lines, worked out by its line numbers."""
    lines = old.splitlines(keepends=True)
    out: list[str] = []
    at = 0
    body = diff.replace("\n\\ No newline at end of file\n", "").split("\n")
    text = diff.splitlines(keepends=True)[2:]
    assert body
    for index, line in enumerate(text):
        follows = text[index + 1] if index + 1 < len(text) else ""
        content = line[1:].removesuffix("\n") if follows.startswith("\\") else line[1:]
        if line.startswith("@@"):
            first, _, count = line.split(" ")[1][1:].partition(",")
            start = int(first) - (count != "0")
            out += lines[at:start]
            at = start
        elif line.startswith("+"):
            out.append(content)
        elif line.startswith("-"):
            assert lines[at] == content
            at += 1
        elif line.startswith(" "):
            assert lines[at] == content
            out.append(content)
            at += 1
    return "".join([*out, *lines[at:]])


def test_two_edits_far_apart_in_a_long_file_are_two_short_hunks() -> None:
    text = "".join(f"line {number}\n" for number in range(10_000))
    edits = [
        Edit(old_text="line 20\n", new_text="x\n", replace_all=False),
        Edit(old_text="line 8642\n", new_text="y\n", replace_all=False),
    ]
    done = apply_edits(TextFile(text), edits)
    diff = unified_diff("f", text, done.text, changed_lines(text, done.text, done.spans))
    assert [hunk.head for hunk in diff.hunks] == ["@@ -18,7 +18,7 @@", "@@ -8640,7 +8640,7 @@"]
    assert diff.counts == "+2 −2"


def test_a_replacement_in_five_thousand_places_of_equal_lines_is_exact() -> None:
    text = "same\nold()\n" * 5_000
    done = apply_edits(TextFile(text), [Edit(old_text="old", new_text="new", replace_all=True)])
    assert len(done.spans) == 5_000
    diff = unified_diff("f", text, done.text, changed_lines(text, done.text, done.spans))
    assert diff.counts == "+5000 −5000"
