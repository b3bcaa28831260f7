"""Test the counts of strategies: they are what counting the stored evidence gives, whatever was done and undone."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from swecli.models.playbook import TAG_OF, Bullet, Delta, Effect, EffectCounts, Op, Verdict
from swecli.models.session import Session
from swecli.store.records import TurnLessons
from swecli.store.session_manager import SessionManager
from tests.support.databases import open_database


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
            self.manager.finish_interaction("done", shown_names=["P-1"])
            self._turns += 1
        verdict = Verdict("P-1", kind, TAG_OF[effect], "m", "", effect=effect)  # type: ignore[arg-type]
        number = turn or self._turns
        add = Op("ADD", fields={"content": f"lesson {number} {kind}"})
        delta = Delta(f"{kind} {number}", (add,), "user", self.session.id, number, "turn")
        self.manager.playbook.record_lessons(self.session, TurnLessons(number, delta, (verdict,)))

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


def test_every_exchange_counts_however_many_there_are() -> None:
    project = Project()
    for _ in range(30):
        project.judge("helped")
    project.judge("hurt")
    assert project.counts == (30, 1)


def test_refuted_and_ignored_are_counted_apart() -> None:
    project = Project()
    effects: list[Effect] = ["helped", "hurt", "refuted", "ignored", "ignored", "irrelevant"]
    for effect in effects:
        project.judge(effect)
    counts = project.manager.playbook.effects(["P-1"])["P-1"]
    assert counts == EffectCounts(helped=1, hurt=1, refuted=1, ignored=2, neutral=3)
    assert project.counts == (1, 2), "refuted is harm"


def test_a_new_text_starts_at_nothing_and_undo_gives_the_old_one_its_counts_back() -> None:
    project = Project()
    project.judge("refuted")
    reworded = Op("UPDATE", "P-1", {"content": "two"})
    project.manager.playbook.apply(Delta("new", (reworded,), "user"), project.session)
    assert project.manager.playbook.effects(["P-1"]) == {"P-1": EffectCounts()}
    project.undo()
    assert project.manager.playbook.effects(["P-1"]) == {"P-1": EffectCounts(refuted=1)}


def test_rows_of_the_release_before_that_counted_turns_out_of_prompts_say_nothing() -> None:
    project = Project()
    project.judge("helped")
    with project.manager.database.write() as db:
        columns = "(bullet, source, quote, session_id, call_id, trust, kind, tag)"
        values = "(1, 'held back', '12 turns', '', '', 'reasoning', 'faded', '')"
        db.execute(f"INSERT INTO evidence {columns} VALUES {values}")
    project.judge("hurt")
    project.undo()
    assert project.counts == (1, 0)
