"""What is believed of strategies is the same whether it was counted once or from the first turn, whatever happened."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from swecli.models.errors import BadInput
from swecli.models.ids import uuid7
from swecli.models.playbook import Delta, Evidence, Op
from swecli.models.session import Session
from swecli.playbook.score import PRIOR, VERSION, Standings
from swecli.playbook.standing import believed, counted_on, held_to_harm
from swecli.store.records import Draft, MarkedTurn
from swecli.store.session_manager import SessionManager
from swecli.store.sqlite.database import Database, open_database

BULLETS = ("P-1", "P-2", "P-3")
MOST = 6  # turns outside of the checkpoint


def manager(path: Any = ":memory:") -> SessionManager:
    made = SessionManager(open_database(path))
    session = made.start("/p", "m", project="/p")
    scopes = {"one": "project", "two": "project", "three": "user"}
    adds = tuple(Op("ADD", fields={"content": text, "scope": scope}) for text, scope in scopes.items())
    made.playbook.apply(Delta("adds", adds, "user"), session)
    return made


def take_turn(sessions: SessionManager, cited: list[str], good: bool | None, tag: str = "") -> None:
    sessions.begin_interaction("q")
    session = sessions.current_session
    assert session is not None
    sessions.finish_interaction("done", shown=BULLETS, cited=cited)
    sessions.playbook.turns.note(session.id, session.interactions, topic="tests")
    sessions.playbook.turns.judge(session.id, session.interactions, good, 1.0, "tests")
    if tag and cited:
        verdict(sessions, session, session.interactions, cited[0], tag)


def verdict(sessions: SessionManager, session: Session, turn: int, name: str, tag: Any, source: str = "x") -> None:
    op = Op("TAG", name, tag, evidence=(Evidence(source, "why"),))
    with suppress(BadInput):  # the strategy was taken back
        sessions.playbook.apply(Delta(uuid7(), (op,), "rules", session.id, turn), session)


def anew(sessions: SessionManager, session: Session) -> Standings:
    """Counted from the first turn."""
    past = sessions.playbook.standing.uncounted(session, whole=True)
    assert [(r.session_id, r.interaction, r.good) for r in past.turns] == [
        (r.session_id, r.interaction, r.good) for r in sessions.playbook.turns.here(session)
    ]
    here = counted_on(past)
    everywhere = counted_on(sessions.playbook.standing.uncounted(session, whole=True, everywhere=True)).beliefs
    shared = {n: everywhere[n] for n, b in session.playbook.bullets.items() if b.scope == "user" and n in everywhere}
    return replace(here, beliefs={**here.beliefs, **shared})


class Histories(RuleBasedStateMachine):
    """Turns, forks, verdicts, second thoughts and deletions in several sessions of one project."""

    database: Database | None = None

    @initialize()
    def begin(self) -> None:
        self.sessions = manager()
        self.database = self.sessions.database

    @property
    def session(self) -> Session:
        assert self.sessions.current_session is not None
        return self.sessions.current_session

    @rule(
        cited=st.lists(st.sampled_from(BULLETS), max_size=2, unique=True),
        good=st.sampled_from([True, False, None]),
        tag=st.sampled_from(["", "helpful", "harmful", "neutral"]),
        times=st.integers(1, 4),
    )
    def turns(self, cited: list[str], good: bool | None, tag: str, times: int) -> None:
        for _ in range(times):
            take_turn(self.sessions, cited, good, tag)

    @rule(turn=st.integers(1, 30), good=st.booleans())
    def judge_an_old_turn_anew(self, turn: int, good: bool) -> None:
        if turn <= self.session.interactions:
            self.sessions.playbook.turns.note(self.session.id, turn, good=good, weight=1.0)

    @rule(turn=st.integers(1, 30), name=st.sampled_from(BULLETS), source=st.sampled_from(["command", "correction"]))
    def a_verdict_comes_late(self, turn: int, name: str, source: str) -> None:
        if turn <= self.session.interactions:
            verdict(self.sessions, self.session, turn, name, "harmful", source)

    @rule(count=st.integers(1, 12))
    def take_back(self, count: int) -> None:
        with suppress(BadInput):  # nothing is left, or another session has changed the same strategy since
            self.sessions.playbook.undo(self.session, count, every=True)

    @rule(turn=st.integers(1, 30), name=st.sampled_from(BULLETS), good=st.booleans())
    def mark(self, turn: int, name: str, good: bool) -> None:
        """The user's mark, also one that takes the place of the other one."""
        session = self.session
        if turn > session.interactions:
            return
        mark, tags = ("good", ("helpful", "harmful")) if good else ("bad", ("harmful", "helpful"))
        counted = getattr(session.playbook.bullets.get(name), tags[1], 0)
        ops = (Op("TAG", name, tags[0]), *([Op("UNTAG", name, tags[1])] if counted else []))  # type: ignore[arg-type]
        draft = Draft(session.id, turn, Delta(uuid7(), ops, "rules", session.id, turn, f"mark {mark}"))
        marked = MarkedTurn(mark, "", {"good": good, "weight": 1.0, "signal": "mark"})
        with suppress(BadInput):  # the strategy was taken back
            self.sessions.playbook.conclude(session, draft, final=False, marked=marked)

    @rule(name=st.sampled_from(BULLETS))
    def take_in_again(self, name: str) -> None:
        with suppress(BadInput):  # the strategy was taken back
            self.sessions.playbook.apply(Delta(uuid7(), (Op("RESTORE", name),), "user"), self.session)

    @rule(count=st.integers(1, 12))
    def bring_back(self, count: int) -> None:
        with suppress(BadInput):  # there is nothing, or it was changed since
            self.sessions.playbook.redo(self.session, count, every=True)

    @rule(upto=st.integers(1, 30))
    def fork(self, upto: int) -> None:
        if 1 <= upto <= self.session.interactions:
            self.sessions.fork(upto=upto)

    @rule(place=st.sampled_from(["/p", "/p", "/q"]))
    def a_new_session(self, place: str) -> None:
        self.sessions.start(place, "m", project=place)

    @rule()
    def delete_the_oldest(self) -> None:
        for oldest in self.sessions.list_sessions("/p", limit=100)[-1:]:
            if oldest.id != self.session.id:
                self.sessions.delete(oldest.id)

    @invariant()
    def nothing_is_believed_that_counting_anew_does_not_give(self) -> None:
        if self.database:
            expected = anew(self.sessions, self.session)
            assert believed(self.sessions.playbook, self.session, most=MOST) == expected

    def teardown(self) -> None:
        if self.database:
            self.database.close()


class TestHistories(Histories.TestCase):
    settings = settings(max_examples=8, stateful_step_count=12, deadline=None)


@pytest.mark.slow
class TestManyHistories(Histories.TestCase):
    settings = settings(max_examples=60, stateful_step_count=30, deadline=None)


def test_a_strategy_for_all_projects_is_judged_by_the_turns_of_all_of_them() -> None:
    sessions = manager()
    for _ in range(8):
        take_turn(sessions, ["P-3", "P-1"], False, "harmful")
    home = sessions.current_session
    assert home is not None
    there = sessions.start("/q", "m", project="/q")
    assert believed(sessions.playbook, there).of("P-3") == believed(sessions.playbook, home).of("P-3")
    assert held_to_harm(believed(sessions.playbook, there).of("P-3"))
    assert believed(sessions.playbook, there).of("P-1") == PRIOR
    assert believed(sessions.playbook, there).topics == {}, "how hard the work is here is not known from elsewhere"
    for _ in range(30):
        take_turn(sessions, ["P-3"], True, "helpful")
    assert not held_to_harm(believed(sessions.playbook, home).of("P-3"))


def counted(sessions: SessionManager) -> int:
    assert sessions.current_session is not None
    return len(sessions.playbook.standing.uncounted(sessions.current_session).turns)


def test_a_long_history_is_counted_once() -> None:
    sessions = manager()
    session = sessions.current_session
    assert session is not None
    left = []
    for number in range(1, 40):
        take_turn(sessions, ["P-1"], number % 3 > 0, "helpful")
        believed(sessions.playbook, session, most=MOST)
        left.append(counted(sessions))
    assert max(left) <= MOST


def test_a_second_thought_about_a_counted_turn_counts_and_one_about_a_new_turn_costs_nothing() -> None:
    sessions = manager()
    session = sessions.current_session
    assert session is not None
    for _ in range(20):
        take_turn(sessions, ["P-1"], True, "helpful")
    before = believed(sessions.playbook, session, most=MOST).of("P-1")
    sessions.playbook.turns.note(session.id, 20, good=False)
    assert counted(sessions) < MOST
    sessions.playbook.turns.note(session.id, 2, good=False)
    assert counted(sessions) == 20
    assert believed(sessions.playbook, session, most=MOST).of("P-1").expected < before.expected


def test_what_was_worked_out_before_the_past_changed_is_not_kept() -> None:
    sessions = manager()
    session = sessions.current_session
    assert session is not None
    for _ in range(20):
        take_turn(sessions, ["P-1"], True)
    past = sessions.playbook.standing.uncounted(session)
    sessions.playbook.turns.note(session.id, 2, good=False)
    assert not sessions.playbook.standing.keep(session, past.upto(14, "{}"))
    assert counted(sessions) == 20


def test_a_checkpoint_by_other_rules_or_in_pieces_is_made_anew() -> None:
    sessions = manager()
    session = sessions.current_session
    assert session is not None
    for _ in range(20):
        take_turn(sessions, ["P-1"], True, "helpful")
    for state in ('{"version": 0}', '{"version": 99}', "{", "[]", '{"version": 1, "beliefs": {"P-1": []}}'):
        past = sessions.playbook.standing.uncounted(session, whole=True)
        assert sessions.playbook.standing.keep(session, past.upto(15, state))
        assert believed(sessions.playbook, session, most=MOST) == anew(sessions, session)
        assert counted(sessions) <= MOST, "the next turn need not do it again"


def test_new_rules_have_a_new_version() -> None:
    """Checkpoints are believed by their version alone: whoever changes what a turn teaches changes that too."""
    sessions = manager()
    session = sessions.current_session
    assert session is not None
    for number in range(1, 13):
        take_turn(sessions, ["P-1", "P-2"][: 1 + number % 2], number % 4 > 0, "helpful" if number % 3 else "harmful")
    belief = anew(sessions, session).of("P-1")
    assert (VERSION, round(belief.harmful, 6), round(belief.helpful, 6)) == (1, 0.031155, 0.934118)
