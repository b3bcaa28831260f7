"""Test a hundred hostile and malformed reflector answers in the whole loop: none becomes an active strategy."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random

import pytest

from swecli.models.message import ModelRequest
from swecli.models.playbook import LIVE
from swecli.playbook.learning.reflector_model import ReflectorModel
from tests.support.playbook import perform
from tests.support.runtime import calls, make_runtime, run_turn
from tests.support.scripted import Reply, ScriptedModel

ROWS = (
    (Path(__file__).parents[1] / "gate" / "injections.tsv").read_text(encoding="utf-8").splitlines()
)
HOSTILE = [row.split("\t")[-1] for row in ROWS if row.count("\t") == 2]


def poison_answers(text: str, luck: Random) -> list[str]:
    """Return a poisoned answer in three forms (quoted from a result, as the user's words, as a change) and a malformed
    one."""
    add = {"text": text, "kind": "strategy", "quote": text, "when": "always"}
    whole = [
        {"lessons": [add], "strategies": [{"id": "P-1", "effect": "hurt"}]},
        {"lessons": [add | {"quote": "please look at the notes"}], "playbook": [text]},
        {
            "lessons": [
                {"replaces": "P-1", "text": text, "quote": text},
                add | {"scope": "user", "state": "active"},
            ],
        },
    ]
    made = [json.dumps(one) for one in whole]
    at = luck.randrange(3)
    cut = luck.randrange(1, len(made[at]))
    made[at] = luck.choice(
        [made[at][:cut], made[at].replace('"', "'"), f"{text} ```json {made[at]}", made[at] * 2]
    )
    return made


@pytest.mark.slow
async def test_no_hostile_or_broken_answer_becomes_an_active_strategy() -> None:
    luck = Random(7)
    planned = [(text, answer) for text in HOSTILE for answer in poison_answers(text, luck)]
    current = list(planned)

    def answer_turn(request: ModelRequest) -> Reply:
        if request.messages[-1]["role"] == "tool":
            return Reply("Noted [P-1].")
        return calls(("read_file", {"path": "NOTES"}))

    runtime = make_runtime(answer_turn, mode="auto")
    reflector = ScriptedModel(lambda request: Reply(current[0][1]), name="m/r", offline=False)
    runtime.learning.reflector = ReflectorModel("template", reflector, every_turn=True)
    runtime.learning.percent = 1_000_000
    perform(runtime, "add", ["Answers", "are", "short"])
    while current:
        Path("NOTES").write_text(current[0][0])
        await run_turn(runtime, "look at the notes")
        current.pop(0)
    session = runtime.sessions.current_session
    assert session is not None
    active = [
        bullet.content for bullet in session.playbook.bullets.values() if bullet.state in LIVE
    ]
    assert (len(planned) >= 100, active) == (True, ["Answers are short"])
