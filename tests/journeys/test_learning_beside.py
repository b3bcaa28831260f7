"""Test learning at scale and side by side: two processes in one project, and an import of a thousand strategies."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from swecli.models.message import ModelRequest
from swecli.models.playbook import Bullet, Delta, Op
from swecli.playbook.transfer import to_markdown
from tests.support.playbook import perform
from tests.support.runtime import make_runtime, run_turn

ROOT = Path(__file__).parents[2]
BUDGET = 1_200  # tokens of strategies in a prompt
MOST_ASKED = 100  # strategies in prompts, of one question to tidy
MOST_WAITING = 20
TURNS = 12
pytestmark = pytest.mark.slow


def test_two_processes_that_learn_in_one_project_lose_and_double_nothing(tmp_path: Path) -> None:
    db = str(tmp_path / "swecli.db")
    runtime = make_runtime([], db=db)
    taught = Op("ADD", fields={"content": "Run tox", "scope": "project", "trust": "user"})
    store, session = runtime.sessions.playbook, runtime.sessions.session
    store.apply(Delta("taught", (taught,), "user"), session)
    names = ("alder", "birch")
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "tests.journeys.learning_beside", db]
    started = [
        subprocess.Popen([*command, name, str(TURNS)], env=env, stderr=subprocess.PIPE, text=True)
        for name in names
    ]
    for process in started:
        _, errors = process.communicate(timeout=120)
        assert process.returncode == 0, errors
    store.refresh(session)
    bullets = session.playbook.bullets
    verdicts = store.verdicts("P-1")
    assert len(verdicts) == len(names) * TURNS
    assert (bullets["P-1"].helpful, bullets["P-1"].harmful) == (len(names) * TURNS, 0)
    learned = sorted(one.content for one in bullets.values() if one.id != "P-1")
    expected = [
        f"Module {name}{number} is built with part {number}"
        for name in names
        for number in range(TURNS)
    ]
    assert learned == sorted(expected)
    assert {one.state for one in bullets.values()} == {"active"}


async def test_a_thousand_imported_strategies_leave_prompt_and_tidying_in_their_bounds(
    tmp_path: Path,
) -> None:
    asked = list[str]()

    def answer(request: ModelRequest) -> str:
        if request.purpose != "reflect":
            return "Done."
        asked.append(str(request.messages[-1]["content"]))
        return json.dumps({"findings": []})

    runtime = make_runtime(answer, reflect_percent=100_000)
    await run_turn(runtime, "hello", learn=False)
    [alone] = [str(message["content"]) for message in runtime.agent.prepare("hi").messages[:1]]
    text = "Module{n} is built by step{n}, which reads the table of part{n} and nothing else"
    made = [Bullet(f"P-{n}", text.format(n=n), scope="project") for n in range(1, 1_001)]
    file = tmp_path / "many.md"
    file.write_text(to_markdown(made, {}, {}))
    perform(runtime, "add", ["--from", str(file), "--trust"])
    assert len(runtime.sessions.session.playbook.bullets) == len(made)
    runtime.new_session()
    sent = "\n".join(str(one["content"]) for one in runtime.agent.prepare("build module7").messages)
    listed = [line for line in sent.splitlines() if "is built by step" in line]
    assert 0 < sum(len(line) // 4 for line in listed) <= BUDGET
    assert len(sent) // 4 <= len(alone) // 4 + 2 * BUDGET
    for pending in runtime.sessions.turns.pending():
        runtime.sessions.turns.skip(pending.session_id, pending.interaction)
    await runtime.learning.tidy()
    [question] = asked
    rows = json.loads(question.removeprefix("```json").partition("\n```")[0])
    assert len(rows["strategies"]) <= MOST_ASKED
    assert len(rows["waiting"]) <= MOST_WAITING
