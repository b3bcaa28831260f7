"""Which change made a strategy what it is, and what a stretch of changes came to."""

from __future__ import annotations

from dataclasses import replace

from swecli.models.playbook import AppliedDelta, Bullet, Delta, Evidence, Op
from swecli.playbook.lineage import blame, diff_lines
from swecli.store.records import Change

OLD = Bullet("P-1", "run tox", trust="user")


def change(name: str, before: Bullet | None, after: Bullet | None, quote: str = "") -> Change:
    ops = (Op("TAG", "P-1", "helpful", evidence=(Evidence("user", quote),)),)
    return Change("P-1", AppliedDelta(Delta(name, ops, "rules", interaction=3), {"P-1": before}), before, after)


def test_each_field_is_blamed_on_its_last_change() -> None:
    counted, twice = replace(OLD, helpful=1), replace(OLD, helpful=2, content="run nox")
    found = blame([change("a", None, OLD), change("b", OLD, counted), change("c", counted, twice, "tox is gone")])
    by = {origin.field: origin.by.delta.id for origin in found}
    assert (by["content"], by["state"], by["helpful"]) == ("c", "a", "c")
    assert "harmful" not in by
    row = next(origin for origin in found if origin.field == "helpful").to_json()
    assert (row["value"], row["times"], row["turn"], row["why"]) == (2, 2, 3, "tox is gone")


def test_a_difference_names_what_is_new_gone_and_changed() -> None:
    assert diff_lines("P-1", None, OLD) == ["+ P-1 run tox"]
    assert diff_lines("P-1", OLD, replace(OLD, state="deleted")) == ["- P-1 run tox"]
    changed = replace(OLD, content="x", harmful=1)
    assert diff_lines("P-1", OLD, changed) == [
        "- P-1 run tox",
        "+ P-1 x",
        "~ P-1 harmful 0 → 1",
    ]
    assert diff_lines("P-1", None, None) == []
