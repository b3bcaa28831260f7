"""Test that a long text is shown in parts, without gaps."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from swecli.tools.pages import LineSpan, make_page, wrap_lines


@given(
    st.lists(st.text(alphabet="ab ", max_size=60), min_size=1, max_size=50),
    st.integers(1, 50),
    st.integers(20, 400),
)
def test_pages_of_a_result_have_no_gaps(lines: list[str], start: int, limit: int) -> None:
    if start > len(lines):
        return
    number, seen = start, []
    while number <= len(lines):
        page = make_page(lines, LineSpan(number, None), "it", limit)
        rows = page.rows
        assert rows
        assert len(rows) == 1 or len("\n".join(rows)) <= limit
        seen += rows
        assert page.span == f"lines {number}-{number + len(rows) - 1} of {len(lines)}"
        number += len(rows)
    assert [row.split("\t", 1)[1] for row in seen] == lines[start - 1 :]


@given(st.text(alphabet="ab\n", max_size=300))
def test_wrapping_keeps_every_character(text: str) -> None:
    long = text * 40
    lines = wrap_lines(long)
    assert "".join(lines) == long.replace("\n", "")
    assert all(len(line) <= 2_000 for line in lines)


def test_a_long_line_is_cut_and_names_its_length() -> None:
    rows = make_page(["x" * 9000], LineSpan(1, None), "it", 24_000).rows
    assert rows[0].endswith("[… line cut: 9,000 characters in all]")
