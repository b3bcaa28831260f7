"""Test that no output exceeds its limit."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from swecli.tools.builtin.read import _LINE_LIMIT, _page, _ReadResultParams, _wrap
from swecli.tools.limits import HeadTail, truncate_result

TEXTS = st.one_of(
    st.text(max_size=2000),
    st.builds(lambda line, n: line * n, st.text(max_size=80), st.integers(0, 200)),
)


@given(TEXTS, st.integers(0, 3000), st.text(alphabet="abc123-_", max_size=40))
def test_a_truncated_text_does_not_exceed_its_limit(text: str, limit: int, call_id: str) -> None:
    truncated, cut = truncate_result(text, limit, call_id)
    assert len(truncated) <= limit
    assert cut == (len(text) > limit)
    if not cut:
        assert truncated == text


def test_a_truncated_result_has_a_notice_then_head_and_tail() -> None:
    text = "\n".join(f"line {n}" for n in range(10_000))
    truncated, cut = truncate_result(text, 2_000, "call_7")
    assert cut
    assert truncated.startswith("[Long result: 98,889 characters, 10,000 lines.")
    assert 'read_result(call_id="call_7"' in truncated.split("\n")[0]
    assert "\nline 0\n" in truncated
    assert truncated.endswith("line 9999")
    assert "characters left out" in truncated


@given(st.lists(st.text(max_size=30)), st.integers(0, 40), st.integers(0, 40))
def test_collected_output_keeps_head_and_tail_within_bounds(
    pieces: list[str], head: int, tail: int
) -> None:
    kept = HeadTail(head, tail)
    for piece in pieces:
        kept.add(piece)
    whole = "".join(pieces)
    text = kept.text()
    if len(whole) <= head + tail:
        assert text == whole
    else:
        assert text.startswith(whole[:head])
        assert text.endswith(whole[len(whole) - tail :])
        assert len(text) < head + tail + 80


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
        rows, span, _ = _page(lines, _ReadResultParams(call_id="c", start_line=number), "it", limit)
        assert rows
        assert len(rows) == 1 or len("\n".join(rows)) <= limit
        seen += rows
        assert span == f"lines {number}-{number + len(rows) - 1} of {len(lines)}"
        number += len(rows)
    assert [row.split("\t", 1)[1] for row in seen] == lines[start - 1 :]


@given(st.text(alphabet="ab\n", max_size=300))
def test_wrapping_keeps_every_character(text: str) -> None:
    long = text * 40
    lines = _wrap(long)
    assert "".join(lines) == long.replace("\n", "")
    assert all(len(line) <= _LINE_LIMIT for line in lines)


def test_a_long_line_is_cut_and_names_its_length() -> None:
    rows, _, _ = _page(["x" * 9000], _ReadResultParams(call_id="c"), "it", 24_000)
    assert rows[0].endswith("[… line cut: 9,000 characters in all]")
