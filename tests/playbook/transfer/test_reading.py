"""Reading is tested with writing, in `test_markdown.py`; here is what only a person would write."""

from __future__ import annotations

from swecli.playbook.transfer.markdown import read_markdown


def test_a_strategy_without_facts_is_taken_as_it_stands() -> None:
    [carried] = read_markdown("<!-- swecli playbook 1 -->\n- [P-2] use uv")
    assert (carried.bullet.section, carried.bullet.kind, carried.dated) == ("general", "strategy", False)


def test_a_strategy_may_stand_in_any_list_that_markdown_has() -> None:
    text = """<!-- swecli playbook 1 -->
Some words before.

## tests
<!-- a remark -->
1. [P-45] run the tests with `pytest -q`
   - kind: fact
+ [P-44] use uv here

* [P-4]  words"""
    assert [(c.bullet.id, c.bullet.content, c.line) for c in read_markdown(text)] == [
        ("P-45", "run the tests with `pytest -q`", 6),
        ("P-44", "use uv here", 8),
        ("P-4", "words", 10),
    ]
