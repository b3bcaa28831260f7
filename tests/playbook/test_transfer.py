"""Test exporting a playbook as Markdown and importing it: nothing is lost, and a malformed file changes nothing."""

from __future__ import annotations

from datetime import UTC

import pytest
from hypothesis import given
from hypothesis import strategies as st

from swecli.models.errors import BadInput
from swecli.models.playbook import Bullet, Evidence
from swecli.playbook.transfer import _read_markdown, to_markdown

MOMENT = st.datetimes(timezones=st.just(UTC))
LINE = st.text(min_size=1, max_size=30).filter(str.strip)
BULLETS = st.lists(
    st.builds(
        Bullet,
        st.integers(1, 10**9 - 1).map(lambda n: f"P-{n}"),
        LINE,
        section=LINE,
        kind=st.sampled_from(["strategy", "pitfall", "fact", "preference"]),
        scope=st.sampled_from(["session", "project", "user"]),
        state=st.sampled_from(["active", "pinned", "quarantined", "disabled"]),
        trust=st.sampled_from(["user", "web"]),
        helpful=st.integers(0, 2**63 - 1),
        harmful=st.integers(0, 9),
        anchors=st.lists(st.text(max_size=5), max_size=2).map(tuple),
        created_at=MOMENT,
        updated_at=st.none() | MOMENT,
        last_used=st.none() | MOMENT,
        when=st.just("") | LINE,
    ),
    unique_by=lambda b: b.id,
    max_size=4,
)
EVIDENCE = st.lists(
    st.builds(
        Evidence, st.text(max_size=5), st.text(max_size=9), interaction=st.none() | st.integers(1, 9),
        created_at=st.none() | MOMENT,
    ),
    max_size=2,
)  # fmt: skip


@given(BULLETS, EVIDENCE)
@pytest.mark.slow
def test_exported_strategies_are_read_back_with_all_fields_and_evidence(
    bullets: list[Bullet], evidence: list[Evidence]
) -> None:
    rows = {bullet.id: evidence for bullet in bullets}
    back = _read_markdown(to_markdown(bullets, rows))
    assert {c.bullet.id: c.bullet for c in back} == {b.id: b for b in bullets}
    assert all(list(carried.evidence) == evidence and carried.is_dated for carried in back)


HEAD = "# Playbook\n\n<!-- swecli playbook 1 -->\n\n"


def test_an_export_is_a_markdown_list_and_can_be_edited_by_hand() -> None:
    text = to_markdown([Bullet("P-7", "run `pytest -q`", "tests", helpful=3)], {})
    assert "## tests\n\n- [P-7] run `pytest -q`\n  - kind: strategy\n" in text
    assert "  - counts: 3 helpful, 0 harmful, 0 neutral\n" in text
    [carried] = _read_markdown(HEAD + "some words\r\n\r\n## tests\r\n* [p7] run nox\r\n")
    assert (carried.bullet.id, carried.bullet.content, carried.bullet.section) == (
        "P-7",
        "run nox",
        "tests",
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "not an exported playbook"),
        ("- [P-1] x", "not an exported playbook"),
        ("<!-- swecli playbook 2 -->\n- [P-1] x", "newer swecli (format 2; this one reads 1)"),
        (HEAD + "- P-1 x", "Line 5 cannot be read"),
        (HEAD + "- [walrus] x", "'walrus' is not an id"),
        (HEAD + "- [P-0] x", "'P-0' is not an id"),
        (HEAD + "- [P-1] x\n- [P-1] y", "Line 6 cannot be read: P-1 occurs twice"),
        (HEAD + "  - kind: fact", "precedes the first strategy"),
        (
            HEAD + "- [P-1] x\n  - kind: gossip",
            "Input should be 'strategy', 'pitfall', 'fact' or 'preference'",
        ),
        (HEAD + "- [P-1] x\n  - colour: red", "colour: Extra inputs are not permitted"),
        (HEAD + "- [P-1] x\n  - counts: many", "counts have the form"),
        (HEAD + "- [P-1] x\n  - created: yesterday", "Line 6"),
        (HEAD + "- [P-1] x\n  - created: 2026-01-01T00:00:00", "should have timezone info"),
        (HEAD + "- [P-1] x\n  - created: 0001-01-01T00:00:00+14:00", "date value out of range"),
        (
            HEAD + f"- [P-1] x\n  - counts: {2**63} helpful, 0 harmful, 0 neutral",
            f"less than or equal to {2**63 - 1}",
        ),
        (HEAD + "## a\n- [P-1] x\n\nand a word", "Line 8 cannot be read"),
        (HEAD + "- [P-1] x\nand a word", "Line 6 cannot be read"),
        (HEAD + "## \n- [P-1] x", "the section has no name"),
        (HEAD + "1. P-1 x", "Line 5 cannot be read"),
        (HEAD + "- [P-1] x\n  - [P-2] y", "Line 6 cannot be read"),
        (HEAD + '- [P-1] x\n  - anchors: ["a"', "Line 6"),
        (HEAD + '- [P-1] x\n  - evidence: {"quote": 1}', "source: Field required"),
        (
            HEAD + '- [P-1] x\n  - evidence: {"quote": "q", "source": "s", "colour": 1}',
            "colour: Extra inputs are not permitted",
        ),
        (HEAD + '- [P-1] "x', "Line 5"),
        (HEAD + "- [P-1] " + "word " * 10_000, "at most 60 words, this has 10000"),
        (HEAD + "- [P-1] x\n  - anchors: " + "[" * 100_000, "Line 6"),
    ],
)
def test_a_malformed_file_is_refused_with_one_line_that_names_the_error(
    text: str, message: str
) -> None:
    with pytest.raises(BadInput) as caught:
        _read_markdown(text)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_strategy_without_fields_gets_default_values() -> None:
    [carried] = _read_markdown("<!-- swecli playbook 1 -->\n- [P-2] use uv")
    assert (carried.bullet.section, carried.bullet.kind, carried.is_dated) == (
        "general",
        "strategy",
        False,
    )


def test_a_strategy_can_be_an_item_of_any_markdown_list() -> None:
    text = """<!-- swecli playbook 1 -->
Some words before.

## tests
<!-- a remark -->
1. [P-45] run the tests with `pytest -q`
   - kind: fact
+ [P-44] use uv here

* [P-4]  words"""
    assert [(c.bullet.id, c.bullet.content, c.line) for c in _read_markdown(text)] == [
        ("P-45", "run the tests with `pytest -q`", 6),
        ("P-44", "use uv here", 8),
        ("P-4", "words", 10),
    ]
