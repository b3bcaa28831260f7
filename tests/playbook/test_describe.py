"""A delta in the user's lines."""

from __future__ import annotations

import pytest

from swecli.models.playbook import Delta, Evidence, Op
from swecli.playbook.describe import line_of, lines_of


def op(name: str, source: str = "", quote: str = "said", **more: object) -> Op:
    evidence = (Evidence(source, quote),) if source else ()
    return Op(name, evidence=evidence, **more)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("change", "line"),
    [
        (op("ADD", "teaching", fields={"content": "Use tabs"}), "+ Use tabs (you said so)"),
        (op("ADD", "correction", fields={"content": "Use tabs"}), "+ Use tabs (you corrected it)"),
        (op("ADD", "model", "seen", fields={"content": "Use tabs"}), "+ Use tabs (the model's view: seen)"),
        (
            op("ADD", "model", fields={"content": "Use x", "state": "quarantined", "trust": "repository"}),
            "? Use x (waits for your yes: it comes from a file)",
        ),
        (op("TAG", "correction", bullet_id="P-3", tag="harmful"), "P-3 harmful +1: you said it was wrong"),
        (op("TAG", "praise", bullet_id="P-3", tag="helpful"), "P-3 helpful +1: you said it worked"),
        (op("TAG", "command", "pytest passed", bullet_id="P-3", tag="helpful"), "P-3 helpful +1: pytest passed"),
        (op("TAG", "mark", "it lied", bullet_id="P-3", tag="harmful"), "P-3 harmful +1: you marked it: it lied"),
        (op("TAG", bullet_id="P-3", tag="neutral"), ""),
        (op("UPDATE", "teaching", bullet_id="P-3", fields={"trust": "user"}), "P-3 heard again (you said so)"),
        (op("UPDATE", "teaching", bullet_id="P-3", fields={"content": "Use x"}), "P-3 now: Use x (you said so)"),
        (
            op("UPDATE", "teaching", bullet_id="P-3", fields={"state": "active", "trust": "user"}),
            "P-3 active again: you said so",
        ),
        (op("QUARANTINE", "correction", bullet_id="P-3"), "P-3 set aside: you corrected it"),
        (op("REMOVE", "user", bullet_id="P-3"), "P-3 removed: you said so"),
        (op("PIN", "user", bullet_id="P-3"), "P-3 pinned: you said so"),
        (op("MERGE", "user", bullet_id="P-3", into="P-1"), "P-3 merged into P-1: you said so"),
        (op("REMOVE", bullet_id="P-3"), "P-3 removed: no reason given"),
    ],
)
def test_each_change_has_its_line(change: Op, line: str) -> None:
    assert line_of(change) == line


def test_neutral_counts_have_none_and_the_order_is_the_deltas() -> None:
    ops = (
        op("TAG", bullet_id="P-1", tag="neutral"),
        op("PIN", "user", bullet_id="P-2"),
        op("REMOVE", "user", bullet_id="P-1"),
    )
    assert [line.split()[0] for line in lines_of(Delta("d", ops, "user"))] == ["P-2", "P-1"]


def test_long_contents_are_cut() -> None:
    assert len(line_of(op("ADD", "teaching", fields={"content": "word " * 60}))) < 130
