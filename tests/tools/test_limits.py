"""Test that no output exceeds its limit."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

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
