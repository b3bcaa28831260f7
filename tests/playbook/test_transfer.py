"""Test exporting a playbook as Markdown and importing it: it comes back by ids, and a malformed file changes
nothing."""

from __future__ import annotations

from datetime import UTC

import pytest
from hypothesis import given
from hypothesis import strategies as st

from swecli.models.errors import BadInput
from swecli.models.playbook import Bullet, EffectCounts, Evidence
from swecli.playbook.transfer import _read_markdown, to_markdown

MOMENT = st.datetimes(timezones=st.just(UTC))
LINE = st.text(min_size=1, max_size=30).filter(str.strip)
BULLETS = st.lists(
    st.builds(
        Bullet,
        st.integers(1, 10**9 - 1).map(lambda n: f"P-{n}"),
        LINE,
        kind=st.sampled_from(["strategy", "pitfall", "fact", "preference"]),
        scope=st.sampled_from(["session", "project", "user"]),
        state=st.sampled_from(["active", "pinned", "quarantined", "disabled"]),
        trust=st.sampled_from(["user", "web", "reasoning"]),
        created_at=MOMENT,
        when=st.just("") | LINE,
    ),
    unique_by=lambda b: b.id,
    max_size=4,
)


@given(BULLETS)
@pytest.mark.slow
def test_exported_strategies_are_read_back_by_their_ids(bullets: list[Bullet]) -> None:
    quotes = [Evidence("user", "line one\n- [P-1] two", trust="user")]
    text = to_markdown(
        bullets,
        {bullet.id: quotes for bullet in bullets},
        {bullet.id: EffectCounts(helped=3) for bullet in bullets},
    )
    back = _read_markdown(text)
    assert {item.bullet.id: item.bullet for item in back} == {b.id: b for b in bullets}
    assert all(item.is_dated for item in back)


HEAD = "# Playbook\n\n<!-- swecli playbook 1 -->\n\n"


def test_an_export_is_a_markdown_list_that_says_only_what_differs() -> None:
    bullet = Bullet("P-7", "run `pytest -q`", scope="project", trust="user")
    quote = Evidence("user", "please run pytest -q", trust="user")
    text = to_markdown([bullet], {"P-7": [quote]}, {"P-7": EffectCounts(helped=3, ignored=1)})
    assert text.partition("by the ids.\n\n")[2].splitlines() == [
        "- [P-7] run `pytest -q`",
        "  - trust: user",
        f"  - created: {bullet.created_at.isoformat()}",
        "  - effects: helped 3, ignored 1",
        "  - quote: please run pytest -q (user)",
    ]


def test_a_file_can_be_edited_by_hand() -> None:
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
        (HEAD + "- [P-1] x\n  - created: yesterday", "Line 6"),
        (HEAD + "- [P-1] x\n  - created: 2026-01-01T00:00:00", "should have timezone info"),
        (HEAD + "- [P-1] x\n  - created: 0001-01-01T00:00:00+14:00", "date value out of range"),
        (HEAD + "## a\n- [P-1] x\n\nand a word", "Line 8 cannot be read"),
        (HEAD + "- [P-1] x\nand a word", "Line 6 cannot be read"),
        (HEAD + "## \n- [P-1] x", "the section has no name"),
        (HEAD + "1. P-1 x", "Line 5 cannot be read"),
        (HEAD + "- [P-1] x\n  - [P-2] y", "Line 6 cannot be read"),
        (HEAD + '- [P-1] "x', "Line 5"),
        (HEAD + "- [P-1] " + "word " * 10_000, "at most 60 words, this has 10000"),
    ],
)
def test_a_malformed_file_is_refused_with_one_line_that_names_the_error(
    text: str, message: str
) -> None:
    with pytest.raises(BadInput) as caught:
        _read_markdown(text)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_file_of_the_release_before_is_read_without_its_counts() -> None:
    text = """## general
- [P-1] use uv
  - trust: user
  - counts: 3 helpful, 0 harmful, 0 neutral
  - anchors: ["path:uv.lock"]
  - updated: 2026-01-01T00:00:00+00:00
  - evidence: {"source": "user", "quote": "use uv"}
"""
    [carried] = _read_markdown(HEAD + text)
    assert (carried.bullet.content, carried.bullet.trust) == ("use uv", "user")
    assert (carried.bullet.helpful, carried.bullet.anchors) == (0, ())


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
