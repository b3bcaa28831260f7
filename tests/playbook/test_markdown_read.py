"""Reading is tested with writing, in `test_markdown.py`; here is what only a person would write."""

from __future__ import annotations

from swecli.playbook.markdown_read import read_markdown


def test_a_strategy_without_facts_is_taken_as_it_stands() -> None:
    [carried] = read_markdown("<!-- swecli playbook 1 -->\n- [P-2] use uv")
    assert (carried.bullet.section, carried.bullet.kind, carried.dated) == ("general", "strategy", False)
