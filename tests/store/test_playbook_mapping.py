"""Deltas and bullets as JSON and rows."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from swecli.models.playbook import Bullet, Evidence, Op
from swecli.store import playbook_mapping as mapping
from swecli.store.tables.sessions import BulletRow

WORDS = st.text(st.characters(exclude_categories=("Cs",)), max_size=12)
MOMENT = st.datetimes(datetime(2000, 1, 1), datetime(2100, 1, 1)).map(lambda moment: moment.replace(tzinfo=UTC))
EVIDENCE = st.builds(
    Evidence,
    source=WORDS,
    quote=WORDS,
    session_id=WORDS,
    interaction=st.none() | st.integers(1, 99),
    call_id=WORDS,
    trust=st.sampled_from(["user", "reasoning", "web"]),
    created_at=st.none() | MOMENT,
)
OP = st.builds(
    Op,
    op=st.sampled_from(["ADD", "TAG", "UPDATE", "MERGE"]),
    bullet_id=WORDS,
    tag=st.none() | st.sampled_from(["helpful", "harmful"]),
    into=WORDS,
    fields=st.fixed_dictionaries({}, optional={"content": WORDS, "anchors": st.lists(WORDS).map(tuple)}),
    evidence=st.lists(EVIDENCE, max_size=2).map(tuple),
)
BULLET = st.builds(
    Bullet,
    id=st.integers(1, 999).map(lambda number: f"P-{number}"),
    content=WORDS,
    section=WORDS,
    kind=st.sampled_from(["strategy", "fact"]),
    scope=st.sampled_from(["session", "user"]),
    state=st.sampled_from(["active", "deleted"]),
    helpful=st.integers(0, 99),
    anchors=st.lists(WORDS, max_size=2).map(tuple),
    created_at=MOMENT,
    updated_at=st.none() | MOMENT,
    last_used=st.none() | MOMENT,
)


@given(OP)
def test_operations_come_back_from_json(op: Op) -> None:
    assert mapping.op_from_json(json.loads(json.dumps(mapping.op_json(op)))) == op


@given(BULLET)
def test_bullets_come_back_from_rows_and_from_json(bullet: Bullet) -> None:
    row = mapping.fill_bullet(BulletRow(number=bullet.number, content=""), bullet)
    assert mapping.bullet_of(row) == bullet
    assert mapping.bullet_from_json(json.loads(json.dumps(mapping.bullet_json(row)))) == bullet


@pytest.mark.parametrize(
    ("name", "number"), [("P-7", 7), ("P-0", 0), ("p-7", 0), ("7", 0), ("P-", 0), ("P-x", 0), ("P-" + "9" * 30, 0)]
)
def test_a_name_that_is_no_id_has_the_number_of_no_bullet(name: str, number: int) -> None:
    assert mapping.number_of(name) == number
