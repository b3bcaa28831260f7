"""A turn that is looked at twice counts once: also with a real store in between."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from swecli.models.message import ChatMessage, Role, ToolCall
from swecli.models.playbook import Delta
from swecli.models.session import Session
from swecli.playbook.counted import tags_of, taken_of
from swecli.playbook.digest import TurnDigest, digest_turn
from swecli.playbook.learning.reflect_turn import Learned, learn
from swecli.store.session_manager import SessionManager
from swecli.store.sqlite.database import open_database


@pytest.fixture
def sessions(tmp_path: Path) -> Iterator[SessionManager]:
    database = open_database(tmp_path / "swecli.db")
    yield SessionManager(database)
    database.close()


class Teacher:
    """Learns from made-up turns of one real session, as the product does."""

    def __init__(self, sessions: SessionManager) -> None:
        self.sessions = sessions
        self.session: Session = sessions.start("/w", "test/tape")
        self.turns: dict[int, tuple[str, str, str]] = {}

    def say(self, query: str, answer: str = "Done.", command: str = "") -> int:
        number = self.sessions.begin_interaction(query).interaction
        calls = [ToolCall(f"c{number}", "run_command", {"command": command}, result="", exit_code=0)] if command else []
        self.sessions.append(ChatMessage(Role.ASSISTANT, answer, tool_calls=calls))
        for call in calls:
            self.sessions.record_call(call)
        self.sessions.finish_interaction("done", shown=[b.id for b in self.session.playbook.live()])
        return number

    def deltas(self) -> list[Delta]:
        return [row.delta for row in self.sessions.playbook.log(self.session, 100) if not row.undone]

    def digest(self, number: int) -> TurnDigest:
        before = self._one(number - 1).as_previous() if number > 1 else None
        return self._one(number, before)

    def _one(self, number: int, before: object = None) -> TurnDigest:
        messages = [m for m in self.session.messages if m.interaction == number]
        info = self.sessions.interaction_info(number)
        assert info is not None
        deltas = self.deltas()
        return digest_turn(
            messages,
            info.shown,
            before,  # type: ignore[arg-type]
            session_id=self.session.id,
            tagged=tags_of(deltas, self.session.id, number),
            taken=taken_of(deltas, self.session.id, number),
        )

    async def learn(self, number: int) -> Learned:
        learned = await learn(self.digest(number), self.session.playbook, model=None, template="")
        if learned.delta:
            self.sessions.playbook.apply(learned.delta, self.session)
        return learned


async def test_a_lesson_a_use_and_a_correction_through_a_real_store(sessions: SessionManager) -> None:
    teacher = Teacher(sessions)
    await teacher.learn(teacher.say("remember that the tests run with pytest -q"))
    (bullet,) = teacher.session.playbook.live()
    assert (bullet.id, bullet.content, bullet.scope) == ("P-1", "The tests run with pytest -q", "project")
    await teacher.learn(teacher.say("run the tests", "They pass [P-1].", "pytest -q"))
    assert teacher.session.playbook.bullets["P-1"].helpful == 1
    learned = await teacher.learn(teacher.say("no, that was wrong: use make check"))
    assert learned.lines[0] == "P-1 harmful +1: you said it was wrong"
    assert teacher.session.playbook.bullets["P-1"].harmful == 1
    assert [b.content for b in teacher.session.playbook.live()][-1] == "Use make check"
    assert [e.quote for e in sessions.playbook.evidence("P-2")] == ["use make check"]


async def test_a_turn_learned_twice_changes_nothing_the_second_time(sessions: SessionManager) -> None:
    teacher = Teacher(sessions)
    numbers = [
        teacher.say("remember that the tests run with pytest -q"),
        teacher.say("run the tests", "They pass [P-1].", "pytest -q"),
        teacher.say("no, that was wrong: use make check", "Sorry [P-1].", "pytest -x"),
    ]
    for number in numbers:
        await teacher.learn(number)
    state = sessions.playbook.load(teacher.session)
    for number in [*numbers, *reversed(numbers)]:
        learned = await teacher.learn(number)
        assert learned.delta is None
    assert sessions.playbook.load(teacher.session).bullets == state.bullets


async def test_the_same_lesson_in_another_turn_is_evidence_for_the_same_bullet(sessions: SessionManager) -> None:
    teacher = Teacher(sessions)
    await teacher.learn(teacher.say("remember that the tests run with pytest -q"))
    learned = await teacher.learn(teacher.say("Remember: tests run with pytest -q"))
    assert learned.lines == ("P-1 heard again (you said so)",)
    assert len(sessions.playbook.evidence("P-1")) == 2
    assert len(teacher.session.playbook.bullets) == 1


async def test_all_kinds_of_changes_are_accepted_and_can_be_taken_back(sessions: SessionManager) -> None:
    teacher = Teacher(sessions)
    for query in ("always use tabs for indentation", "remember that X is Y", "use pnpm for installs from now on"):
        await teacher.learn(teacher.say(query))
    before = sessions.playbook.load(teacher.session).bullets
    queries = [
        "never use tabs for indentation",
        "use pnpm for installs in docs from now on",
        "always use tabs for indentation",
    ]
    kinds = []
    for query in queries:
        learned = await teacher.learn(teacher.say(query))
        assert learned.delta is not None
        kinds += [op.op for op in learned.delta.ops]
    assert {"QUARANTINE", "ADD", "UPDATE"} <= set(kinds)
    sessions.playbook.undo(teacher.session, len(queries))
    assert sessions.playbook.load(teacher.session).bullets == before
