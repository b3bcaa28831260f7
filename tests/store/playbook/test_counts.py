"""Test the counts of strategies: they are what counting the stored evidence gives, whatever was done and undone."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from swecli.models.playbook import Bullet, Delta, Effect, Op, Tag, Verdict
from swecli.models.session import Session
from swecli.store.playbook.counts import NEWEST
from swecli.store.records import TurnLessons
from swecli.store.session_manager import SessionManager
from tests.support.databases import open_database

TAGS: dict[str, Tag] = {"helped": "helpful", "hurt": "harmful", "irrelevant": "neutral"}


class Project:
    """A playbook of one strategy in a database of its own."""

    def __init__(self) -> None:
        self.manager = SessionManager(open_database(":memory:"))
        self.session: Session = self.manager.start("/p", "scripted/test")
        self._turns = 0
        add = Op("ADD", fields={"content": "one", "scope": "project"})
        self.manager.playbook.apply(Delta("start", (add,), "user"), self.session)

    @property
    def bullet(self) -> Bullet:
        return self.session.playbook.bullets["P-1"]

    @property
    def counts(self) -> tuple[int, int]:
        return self.bullet.helpful, self.bullet.harmful

    def judge(self, effect: Effect, kind: str = "tag", turn: int = 0) -> None:
        """Store a verdict on a turn (0: a new one), with a change that can be undone."""
        if not turn:
            self.manager.begin_interaction("go")
            self.manager.finish_interaction("done", shown=["P-1"])
            self._turns += 1
        verdict = Verdict("P-1", kind, TAGS[effect], "m", "", effect=effect)  # type: ignore[arg-type]
        number = turn or self._turns
        add = Op("ADD", fields={"content": f"lesson {number} {kind}"})
        delta = Delta(f"{kind} {number}", (add,), "user", self.session.id, number, "turn")
        self.manager.playbook.record_lessons(self.session, TurnLessons(number, delta, (verdict,)))

    def hold_back(self, turns: int) -> None:
        for _ in range(turns):
            self.manager.playbook.record_lessons(self.session, TurnLessons(1, held_back=("P-1",)))

    def undo(self, *, redo: bool = False) -> None:
        self.manager.playbook.undo(self.session, redo=redo)


STEPS = st.lists(st.sampled_from(["helped", "hurt", "irrelevant", "undo", "redo"]), max_size=12)


@settings(max_examples=25, deadline=None)
@given(STEPS)
def test_any_order_of_verdicts_undo_and_redo_gives_the_counts_of_the_evidence_that_holds(
    steps: list[str],
) -> None:
    project = Project()
    applied = list[str]()
    undone = list[str]()
    for step in steps:
        if step == "undo":
            if not applied:
                continue
            undone.append(applied.pop())
            project.undo()
        elif step == "redo":
            if not undone:
                continue
            applied.append(undone.pop())
            project.undo(redo=True)
        elif undone:
            continue  # what was undone earlier comes back after it
        else:
            applied.append(step)
            project.judge(step)  # type: ignore[arg-type]
    bullet = project.bullet
    assert bullet.helpful == applied.count("helped")
    assert bullet.harmful == applied.count("hurt")
    assert bullet.neutral == applied.count("irrelevant")
    assert project.manager.playbook.load(project.session).bullets["P-1"] == bullet
    project.manager.database.close()


def test_an_exchange_counts_once_by_the_newest_word_on_it() -> None:
    project = Project()
    project.judge("helped", "outcome")
    project.judge("hurt", turn=1)
    assert project.counts == (0, 1)
    project.undo()
    assert project.counts == (1, 0)


def test_only_the_newest_exchanges_count_so_that_a_change_shows() -> None:
    project = Project()
    for _ in range(NEWEST):
        project.judge("helped")
    for _ in range(NEWEST // 2):
        project.judge("hurt")
    assert project.counts == (NEWEST // 2, NEWEST // 2)
    assert project.bullet.is_held_back


def test_a_strategy_held_back_loses_its_oldest_exchange_after_some_turns_and_returns() -> None:
    project = Project()
    project.judge("hurt")
    project.judge("hurt")
    assert project.bullet.is_held_back
    project.hold_back(NEWEST - 1)
    assert project.counts == (0, 2)
    project.hold_back(1)
    assert project.counts == (0, 1)
    assert not project.bullet.is_held_back
    project.judge("hurt")
    assert project.bullet.is_held_back, "harm that comes again holds it back again"


def test_imported_counts_are_scaled_to_what_counts_here() -> None:
    project = Project()
    fields = {"content": "two", "scope": "project", "helpful": 60, "harmful": 20, "neutral": 7}
    project.manager.playbook.apply(
        Delta("in", (Op("ADD", fields=fields),), "import"), project.session
    )
    bullet = project.session.playbook.bullets["P-2"]
    assert (bullet.helpful, bullet.harmful, bullet.neutral) == (NEWEST * 3 // 4, NEWEST // 4, 7)
