"""Test the playbook in the database: changes are atomic, applied once and reversible."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from swecli.models.errors import BadInput
from swecli.models.playbook import Delta, Evidence, Op
from swecli.models.session import Session
from swecli.store.playbook.store import PlaybookStore
from swecli.store.session_manager import SessionManager
from tests.support.databases import open_database


def add_op(content: str = "use uv", *, quote: str = "", **fields: Any) -> Op:
    evidence = (Evidence("user", quote),) if quote else ()
    return Op("ADD", fields={"content": content} | fields, evidence=evidence)


def apply(manager: SessionManager, name: str, *ops: Op, session: Session | None = None) -> Any:
    session = session or manager.current_session
    assert session
    return manager.playbook.apply(Delta(name, ops, "user"), session)


@pytest.fixture
def session(manager: SessionManager) -> Session:
    return manager.start("/p", "scripted/test")


def test_applying_a_delta_changes_the_playbook_of_the_session(
    manager: SessionManager, session: Session
) -> None:
    applied = apply(manager, "d1", add_op("run tox", kind="fact", quote="tox passed"), add_op("no"))
    assert applied.added == ("P-1", "P-2")
    assert applied.touched == ("P-1", "P-2")
    assert [bullet.content for bullet in session.playbook.live_bullets()] == ["run tox", "no"]
    assert session.playbook == manager.playbook.load(session)
    assert [item.quote for item in manager.playbook.evidence("P-1")] == ["tox passed"]
    [added_by_user] = manager.playbook.evidence("P-2")
    assert (added_by_user.source, added_by_user.quote, added_by_user.trust) == (
        "user",
        "no",
        "user",
    )


def test_a_change_reads_only_the_strategies_it_changes(
    manager: SessionManager, session: Session
) -> None:
    apply(manager, "d1", *(add_op(f"rule {n}") for n in range(5)))
    before = dict(session.playbook.bullets)
    apply(manager, "d2", Op("PIN", "P-2"), Op("REMOVE", "P-4"), add_op("another"))
    after = session.playbook.bullets
    assert [name for name in before if after.get(name) is before[name]] == ["P-1", "P-3", "P-5"]
    assert list(after) == ["P-1", "P-2", "P-3", "P-5", "P-6"]
    assert session.playbook == manager.playbook.load(session)


def test_applying_a_delta_twice_changes_the_playbook_once(
    manager: SessionManager, session: Session
) -> None:
    delta = Delta(
        "d1",
        (add_op(quote="uv works"),),
        "rules",
        refused=("too general",),
        reason="why",
        interaction=3,
    )
    first = manager.playbook.apply(delta, session)
    assert manager.playbook.apply(delta, session) == first
    assert len(session.playbook.bullets) == 1
    manager.playbook.undo(session)
    assert manager.playbook.apply(delta, session).undone
    assert session.playbook.bullets == {}


def test_a_delta_with_an_invalid_operation_changes_nothing(
    manager: SessionManager, session: Session
) -> None:
    apply(manager, "d1", add_op(quote="a"))
    before = snapshot(manager.playbook, session)
    with pytest.raises(BadInput, match="no P-99"):
        apply(
            manager,
            "d2",
            add_op("x"),
            Op("PIN", "P-1", evidence=(Evidence("u", "b"),)),
            Op("PIN", "P-99"),
        )
    assert snapshot(manager.playbook, session) == before
    assert apply(manager, "d2", add_op("y")).added == ("P-2",)


def test_ids_of_bullets_are_not_reused(manager: SessionManager, session: Session) -> None:
    apply(manager, "d1", add_op(), add_op())
    manager.playbook.undo(session)
    assert "P-2" not in session.playbook.bullets
    assert apply(manager, "d2", add_op()).added == ("P-3",)
    apply(manager, "d3", Op("REMOVE", "P-3"))
    assert apply(manager, "d4", add_op()).added == ("P-4",)


def test_a_removed_bullet_is_kept_and_can_be_restored(
    manager: SessionManager, session: Session
) -> None:
    apply(manager, "d1", add_op())
    apply(manager, "d2", Op("REMOVE", "P-1"))
    assert session.playbook.bullets == {}
    bullet = manager.playbook.get("P-1")
    assert bullet
    assert bullet.state == "deleted"
    apply(manager, "d3", Op("RESTORE", "P-1"))
    assert "P-1" in session.playbook.bullets


def test_undo_reverts_the_newest_delta_first(manager: SessionManager, session: Session) -> None:
    for number in (1, 2, 3):
        apply(manager, f"d{number}", add_op(f"{number}"))
    assert [undone.delta.id for undone in manager.playbook.undo(session, 2)] == ["d3", "d2"]
    assert [(entry.delta.id, entry.undone) for entry in manager.playbook.log(session)] == [
        ("d3", True),
        ("d2", True),
        ("d1", False),
    ]
    assert [undone.delta.id for undone in manager.playbook.undo(session, 99)] == ["d1"]
    with pytest.raises(BadInput, match="Nothing to undo"):
        manager.playbook.undo(session)
    assert len(manager.playbook.log(session, limit=2)) == 2


def test_the_version_of_the_playbook_only_increases(
    manager: SessionManager, session: Session
) -> None:
    versions = [session.playbook.version]
    for number in range(3):
        apply(manager, f"d{number}", add_op())
        versions.append(session.playbook.version)
        manager.playbook.undo(session)
        versions.append(session.playbook.version)
    assert versions == sorted(set(versions))


def test_a_bullet_is_seen_only_within_its_scope(manager: SessionManager, session: Session) -> None:
    apply(manager, "d1", *(add_op(scope, scope=scope) for scope in ("session", "project", "user")))
    same_project = manager.start("/p", "scripted/test")
    other = manager.start("/q", "scripted/test")
    assert [b.content for b in same_project.playbook.live_bullets()] == ["project", "user"]
    assert [b.content for b in other.playbook.live_bullets()] == ["user"]
    with pytest.raises(BadInput, match="no P-1"):
        apply(manager, "d2", Op("PIN", "P-1"), session=same_project)
    with pytest.raises(BadInput, match="no P-2"):
        apply(manager, "d3", Op("PIN", "P-2"), session=other)


def test_a_bullet_with_session_scope_requires_a_session(manager: SessionManager) -> None:
    nowhere = Session(id="", working_directory="/p")
    with pytest.raises(BadInput, match="no session"):
        apply(manager, "d1", add_op(), session=nowhere)
    assert apply(manager, "d1", add_op(scope="project"), session=nowhere).added == ("P-1",)


def test_a_narrowed_bullet_belongs_to_the_project_that_narrowed_it(
    manager: SessionManager, session: Session
) -> None:
    apply(manager, "d1", add_op(scope="user"))
    other = manager.start("/q", "scripted/test")
    apply(manager, "d2", Op("UPDATE", "P-1", fields={"scope": "project"}), session=other)
    assert "P-1" in other.playbook.bullets
    assert manager.playbook.load(session).bullets == {}
    manager.playbook.undo(other)
    assert "P-1" in manager.playbook.load(session).bullets


def test_changes_of_shared_bullets_are_undone_newest_first_across_sessions(
    manager: SessionManager, session: Session
) -> None:
    apply(manager, "d1", add_op(scope="project"))
    other = manager.start("/p", "scripted/test")
    apply(manager, "d2", Op("PIN", "P-1"), session=other)
    apply(manager, "d3", add_op("own"), session=other)
    assert [undone.delta.id for undone in manager.playbook.undo(session)] == ["d2"]
    assert [entry.delta.id for entry in manager.playbook.log(session)] == ["d2", "d1"]


def test_undo_is_refused_if_another_session_changed_the_bullet_later(
    manager: SessionManager, session: Session
) -> None:
    apply(manager, "d1", add_op(scope="user"))
    other = manager.start("/q", "scripted/test")
    apply(manager, "d2", Op("UPDATE", "P-1", fields={"scope": "session"}), session=other)
    apply(manager, "d3", Op("PIN", "P-1"), session=other)
    before = snapshot(manager.playbook, other)
    with pytest.raises(BadInput, match="P-1 was changed later"):
        manager.playbook.undo(session)
    assert snapshot(manager.playbook, other) == before


def test_undo_keeps_the_last_use_of_a_bullet(manager: SessionManager, session: Session) -> None:
    apply(manager, "d1", add_op())
    apply(manager, "d2", Op("PIN", "P-1"))
    manager.begin_interaction("q")
    manager.finish_interaction("done", cited=["P-1", "P-77", "nonsense"])
    used = session.playbook.bullets["P-1"].last_used
    assert used
    manager.playbook.undo(session)
    assert session.playbook.bullets["P-1"].last_used == used
    assert session.playbook.bullets["P-1"].state == "active"


def test_nul_and_surrogates_in_a_delta_are_replaced(
    manager: SessionManager, session: Session
) -> None:
    applied = apply(manager, "d\0", add_op("a\0\ud800b", quote="q\0"))
    assert session.playbook.bullets["P-1"].content == "a\ufffd\ufffdb"
    assert applied == apply(manager, "d\0", add_op("a\0\ud800b", quote="q\0"))


@pytest.mark.slow
def test_a_session_without_messages_keeps_its_strategies(
    manager: SessionManager, session: Session
) -> None:
    apply(manager, "d1", add_op())
    manager.begin_interaction("q")
    assert len(manager.resume(None, "/p").playbook.bullets) == 1


def snapshot(store: PlaybookStore, session: Session) -> Any:
    """Return the bullets that the session sees, and their evidence."""
    observed = store.load(session).bullets
    return observed, {name: store.evidence(name) for name in observed}


KNOWN = st.integers(1, 9).map(lambda number: f"P-{number}")
EVIDENCE = st.lists(st.builds(Evidence, st.just("rules"), st.text(max_size=4)), max_size=2).map(
    tuple
)
FIELDS = st.fixed_dictionaries(
    {"content": st.text(min_size=1, max_size=5).filter(str.strip)},
    optional={
        "scope": st.sampled_from(["session", "project", "user"]),
        "state": st.sampled_from(["active", "disabled", "pinned"]),
        "anchors": st.lists(st.text(max_size=3), max_size=2),
    },
)
OPS = st.one_of(
    st.builds(Op, st.just("ADD"), fields=FIELDS, evidence=EVIDENCE),
    st.builds(Op, st.just("UPDATE"), KNOWN, fields=FIELDS, evidence=EVIDENCE),
    st.builds(
        Op, st.sampled_from(["REMOVE", "PIN", "QUARANTINE", "RESTORE"]), KNOWN, evidence=EVIDENCE
    ),
)


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.lists(OPS, min_size=1, max_size=5), min_size=1, max_size=6))
@pytest.mark.slow
def test_undoing_any_deltas_restores_the_store(deltas: list[list[Op]]) -> None:
    manager = SessionManager(open_database(":memory:"))
    session = manager.start("/p", "scripted/test")
    apply(
        manager, "start", *(add_op(f"number {number}", quote=f"q{number}") for number in range(6))
    )
    states = [snapshot(manager.playbook, session)]
    used_ids = {f"P-{number}" for number in range(1, 7)}
    for number, ops in enumerate(deltas):
        try:
            applied = apply(manager, f"d{number}", *ops)
        except BadInput:
            assert snapshot(manager.playbook, session) == states[-1]
            continue
        assert not used_ids & set(applied.added)
        used_ids |= set(applied.added)
        assert session.playbook == manager.playbook.load(session)
        states.append(snapshot(manager.playbook, session))
    while len(states) > 1:
        assert snapshot(manager.playbook, session) == states.pop()
        manager.playbook.undo(session)
    assert snapshot(manager.playbook, session) == states.pop()
    manager.database.close()


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.slow
def test_undoing_fifty_random_deltas_one_by_one_restores_each_state(
    manager: SessionManager, session: Session, seed: int
) -> None:
    dice = Random(seed)
    apply(
        manager, "start", *(add_op(f"number {number}", quote=f"q{number}") for number in range(6))
    )
    states = [snapshot(manager.playbook, session)]
    for number in range(1000):
        name, other = (f"P-{dice.randint(1, 20)}" for _ in range(2))
        op = dice.choice(
            [
                add_op(f"also {number}", quote="seen"),
                Op("UPDATE", name, fields={"content": f"now {number}"}),
                Op(dice.choice(("REMOVE", "PIN", "QUARANTINE", "RESTORE")), name),
            ]
        )
        try:
            apply(manager, f"d{number}", op, Op("UPDATE", other, fields={"section": f"s{number}"}))
        except BadInput:
            continue
        states.append(snapshot(manager.playbook, session))
        if len(states) == 51:
            break
    assert len(states) == 51
    while len(states) > 1:
        assert snapshot(manager.playbook, session) == states.pop()
        manager.playbook.undo(session)
    assert snapshot(manager.playbook, session) == states.pop()


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.slow
def test_as_many_redos_as_undos_restore_the_store(
    manager: SessionManager, session: Session, seed: int
) -> None:
    dice = Random(seed)
    apply(
        manager, "start", *(add_op(f"number {number}", quote=f"q{number}") for number in range(4))
    )
    for number in range(20):
        name = f"P-{dice.randint(1, 4)}"
        op = dice.choice(
            [
                add_op(f"more {number}"),
                Op("UPDATE", name, fields={"content": f"now {number}"}),
                Op("PIN", name),
            ]
        )
        try:
            apply(manager, f"d{number}", op)
        except BadInput:
            continue
        states = [snapshot(manager.playbook, session)]
        for _ in range(dice.randint(0, 3)):
            manager.playbook.undo(session)
            states.append(snapshot(manager.playbook, session))
        while len(states) > 1:
            assert snapshot(manager.playbook, session) == states.pop()
            manager.playbook.undo(session, redo=True)
            assert session.playbook == manager.playbook.load(session)
        assert snapshot(manager.playbook, session) == states.pop()


def test_a_redo_is_refused_if_the_strategy_was_changed_since(
    manager: SessionManager, session: Session
) -> None:
    apply(manager, "d1", add_op("one", scope="project"), add_op("two", scope="project"))
    apply(manager, "d2", Op("UPDATE", "P-1", fields={"content": "one and a half"}))
    manager.playbook.undo(session)
    other = manager.start("/p", "scripted/test")
    apply(manager, "d3", Op("PIN", "P-1"), session=other)
    before = snapshot(manager.playbook, session)
    with pytest.raises(BadInput, match=f"P-1 was changed later, in session {other.id}"):
        manager.playbook.undo(session, redo=True)
    assert snapshot(manager.playbook, session) == before


def test_the_changes_of_one_turn_are_limited_except_those_of_the_user(
    manager: SessionManager, session: Session
) -> None:
    observed = (Evidence("m", "seen"),)
    said_by_user = (Evidence("m", "said", trust="user"),)
    three = tuple(Op("ADD", fields={"content": f"n{n}"}, evidence=observed) for n in range(3))
    manager.playbook.apply(Delta("d1", three, "m", session.id, 1), session)
    for op in (
        Op("ADD", fields={"content": "four"}, evidence=observed),
        Op("REMOVE", "P-1", evidence=observed),
    ):
        with pytest.raises(BadInput, match="in one turn, at most"):
            manager.playbook.apply(Delta("d2", (op,), "m", session.id, 1), session)
    four = Op("ADD", fields={"content": "four"}, evidence=said_by_user)
    assert manager.playbook.apply(Delta("d3", (four,), "m", session.id, 1), session).added == (
        "P-4",
    )


@pytest.mark.parametrize(
    ("op", "why"),
    [
        (
            Op("ADD", fields={"content": "x", "trust": "user"}, evidence=(Evidence("m", "q"),)),
            "claims the user's trust",
        ),
        (
            Op("ADD", fields={"content": "x", "trust": "web"}, evidence=(Evidence("m", "q"),)),
            "the user's approval",
        ),
        (Op("ADD", fields={"content": "x"}), "no evidence"),
        (
            Op("ADD", fields={"content": "w " * 61}, evidence=(Evidence("m", "q"),)),
            "60 words, this has 61",
        ),
        (
            Op("ADD", fields={"content": "w" * 601}, evidence=(Evidence("m", "q"),)),
            "600 characters, this has 601",
        ),
        (Op("UPDATE", "P-1", fields={"content": "other"}), "only the user"),
        (Op("TAG", "P-1"), "Unknown playbook operation"),  # type: ignore[arg-type]
    ],
)
def test_operations_that_a_reflector_may_not_make_are_refused(
    manager: SessionManager, session: Session, op: Op, why: str
) -> None:
    apply(manager, "d1", add_op(trust="user"))
    with pytest.raises(BadInput, match=why):
        manager.playbook.apply(Delta("d2", (op,), "m", session.id, 1), session)
