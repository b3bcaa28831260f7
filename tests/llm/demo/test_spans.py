"""Edits hit what is meant and nothing else, whatever the file holds."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from swecli.llm.demo.spans import Span, deleted_line, extended, occurrences, replaced_words

LINES = st.lists(st.sampled_from(["a", "b", "ab", "", "  a", "a b", "c"]), min_size=1, max_size=12)


def numbered(lines: list[str]) -> list[tuple[int, str]]:
    return list(enumerate(lines, 1))


def applied(text: str, span: Span) -> str:
    """The edit as the tool makes it, which refuses a text that stands more than once, overlaps included."""
    assert span.every or len(re.findall(f"(?={re.escape(span.old)})", text)) == 1
    return text.replace(span.old, span.new)


@given(LINES)
def test_appending_puts_the_text_behind_the_last_line_with_something_in_it(lines: list[str]) -> None:
    span = extended(numbered(lines), "NEW")
    full = [index for index, line in enumerate(lines) if line.strip()]
    if not full:
        assert span is None
        return
    assert span is not None
    wanted = [*lines[: full[-1] + 1], "NEW", *lines[full[-1] + 1 :]]
    assert applied("\n".join(lines), span) == "\n".join(wanted)


@given(LINES, st.integers(0, 13))
def test_deleting_takes_out_that_line_alone(lines: list[str], number: int) -> None:
    span = deleted_line(numbered(lines), number)
    if not 1 <= number <= len(lines) or len(lines) == 1:
        assert span is None
        return
    assert span is not None
    # an empty text cannot be looked for: the tool refuses it and nothing is changed
    if span.old:
        assert applied("\n".join(lines), span) == "\n".join(lines[: number - 1] + lines[number:])


@given(LINES)
def test_renaming_changes_whole_words_only_or_declines(lines: list[str]) -> None:
    text = "\n".join(lines)
    spans = replaced_words(numbered(lines), "a", "z") if occurrences(numbered(lines), "a", whole_word=True) else None
    for span in spans or ():
        text = applied(text, span)
    if spans is not None:
        assert text == "\n".join(re.sub(r"\ba\b", "z", line) for line in lines)
