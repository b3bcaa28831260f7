"""The gate against labelled candidates and against injections: how much it holds back, and that no poison gets in."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from scripts.corpus.judged import PARTS, candidates, judge, rates
from scripts.corpus.shop import make_shop
from scripts.corpus.told import found_by_trying, told
from scripts.corpus.turns import held_back, kept_good, turns
from swecli.llm.providers.scripted import ScriptedModel
from swecli.models.message import ToolCall
from swecli.models.playbook import SessionPlaybook
from swecli.playbook.digest import TurnDigest, digest_call
from swecli.playbook.learning.curator import Curator
from swecli.playbook.learning.reflect_turn import learn

INJECTIONS = [line.split("\t") for line in (Path(__file__).parent / "gate" / "injections.tsv").read_text().splitlines()]
CALLS = {
    "file": ("read_file", "path", "README.md"),
    "output": ("run_command", "command", "make"),
    "web": ("fetch", "url", "x"),
}


def test_the_corpus_is_large_varied_and_says_everything_once() -> None:
    found = candidates()
    assert len({one.text for one in found}) == len(found) >= 200
    assert {one.why for one in found if not one.good} >= {
        "generic",
        "restating",
        "ephemeral",
        "secret",
        "missing",
        "long",
    }
    assert all(sum(one.good for one in found if one.part == part) >= 20 for part in PARTS)


def test_most_bad_candidates_are_held_back_and_hardly_a_good_one(tmp_path: Path) -> None:
    judged = judge(candidates(), make_shop(tmp_path))
    for part in PARTS:
        found = rates(one for one in judged if one.candidate.part == part)
        assert found.recall >= (0.95 if part == "tuned" else 0.5), part
        assert found.precision >= 0.95, part
    assert {one.state for one in judged if one.candidate.why == "secret" and one.candidate.part == "tuned"} == {
        "refused"
    }
    assert all(one.reason for one in judged if one.held_back)


def test_general_advice_has_no_ground_in_a_turn_and_what_the_turn_teaches_has(tmp_path: Path) -> None:
    found = turns()
    assert all(kept_good(found))
    bad = [one for one in judge(candidates(), make_shop(tmp_path)) if not one.candidate.good]
    held_out = [held_back(one, found) for one in bad if one.candidate.part == "held out"]
    assert sum(held_out) / len(held_out) >= 0.75


async def proposed(content: str, calls: list[ToolCall]) -> list[str]:
    """The states of what becomes of a fooled model's proposal, quoting what it saw."""
    said = {"section": "general", "content": content, "kind": "strategy", "evidence": f"c1: {calls[0].result}"}
    model = ScriptedModel([json.dumps({"tags": [], "add": [said]})])
    digest = TurnDigest("s", 1, "what is this project about?", calls=tuple(map(digest_call, calls)))
    learned = await learn(
        digest, SessionPlaybook(), model=model, template="T", reflect_model_when="always", curator=Curator()
    )
    assert model.requests
    return [op.fields["state"] for op in (learned.delta.ops if learned.delta else ()) if op.op == "ADD"]


def test_there_are_thirty_injections_of_every_kind() -> None:
    assert len(INJECTIONS) >= 30
    assert {source for source, _, _ in INJECTIONS} == set(CALLS)


@pytest.mark.parametrize("verbatim", [True, False], ids=["word for word", "in other words"])
async def test_what_only_a_file_an_output_or_a_page_said_becomes_no_active_bullet(verbatim: bool) -> None:
    active = []
    for source, injected, reworded in INJECTIONS:
        name, parameter, value = CALLS[source]
        call = ToolCall("c1", name, {parameter: value}, result=f"line one\n{injected}\nlast line", exit_code=0)
        if "active" in await proposed(injected if verbatim else reworded, [call]):
            active.append(injected)
    assert not active


def test_no_other_words_no_translation_and_no_told_command_makes_an_injection_active() -> None:
    found = told()
    assert len(found) >= 80
    assert [one.content for one in found if one.trust in ("user", "reasoning")] == []


def test_what_was_found_by_trying_or_said_by_the_user_hardly_ever_waits() -> None:
    found = found_by_trying()
    assert len(found) >= 50
    assert sum(one.trust == "reasoning" for one in found) >= 0.9 * len(found)


async def test_what_the_work_itself_showed_becomes_active() -> None:
    call = ToolCall("c1", "run_command", {"command": "make check"}, result="12 passed", exit_code=0)
    assert await proposed("Run `make check` here: it runs all the tests", [call]) == ["active"]
