"""Test the consolidation of a playbook after a session: what a model's findings change, and what they may not."""

from __future__ import annotations

import json
from typing import Any

import pytest

from swecli.app import Runtime
from swecli.models.learning_events import PlaybookUpdated, ReflectionFailed
from swecli.models.message import ModelRequest
from swecli.models.playbook import Bullet, Delta, Evidence, Op
from swecli.models.session import Session
from swecli.playbook.learning.consolidation import Finding, read_findings
from swecli.playbook.learning.curator import needs_approval
from tests.support.playbook import perform
from tests.support.runtime import make_runtime, run_turn

FORMAT = "A commit subject begins with a ticket id"
AGAIN = "The hook rejects commits without a ticket in the subject"
ASKED = {name: Bullet(name, f"text of {name}") for name in ("P-1", "P-2", "P-3")}


class Consolidator:
    """Answers queries with "Done.", and requests to consolidate with `answers`; `asked` holds their data."""

    def __init__(self, *answers: Any) -> None:
        self.answers = list(answers)
        self.asked: list[dict[str, Any]] = []

    def __call__(self, request: ModelRequest) -> Any:
        if request.purpose != "reflect":
            return "Done."
        text = str(request.messages[-1]["content"])
        self.asked.append(json.loads(text.removeprefix("```json").partition("\n```")[0]))
        answer = self.answers.pop(0)
        return answer if isinstance(answer, str) else json.dumps({"findings": answer})

    async def left_session(self, *bullets: tuple[str, dict[str, Any]], turns: int = 1) -> Runtime:
        """Return a runtime whose first session has ended, with strategies learned in it, and a new one begun."""
        runtime = make_runtime(self, reflect="always", reflect_percent=100)
        for _ in range(turns):
            await run_turn(runtime, "do it", learn=False)
        add(runtime, *bullets)
        for pending in runtime.sessions.turns.pending():
            runtime.sessions.turns.skip(pending.session_id, pending.interaction)
        start_another(runtime)
        return runtime


def start_another(runtime: Runtime) -> Session:
    old = runtime.sessions.session
    new = runtime.sessions.start(old.working_directory, old.model, project=old.project)
    runtime.sessions.playbook.refresh(new)
    return new


def add(runtime: Runtime, *bullets: tuple[str, dict[str, Any]]) -> None:
    """Add strategies of their `state`, `trust` and session of origin `seen`, by the user's hand if `by` is "user"."""
    session = runtime.sessions.session
    for number, (text, given) in enumerate(bullets):
        fields = {"content": text, "scope": "project", "trust": "tool"} | given
        seen, by = fields.pop("seen", session.id), fields.pop("by", "import")
        evidence = [Evidence("m", text[:20], seen, 1, "c1", "tool")]
        if fields.get("state") == "quarantined":
            fields["doubt"] = "seen"
        op = Op("ADD", fields=fields, evidence=tuple(evidence))
        runtime.sessions.playbook.apply(Delta(f"{text}{number}", (op,), by), session)


def state_of(runtime: Runtime, name: str) -> str:
    found = runtime.sessions.playbook.get(name)
    assert found is not None
    return found.state


def same(keep: str, *ids: str, what: str = "same", text: str = "") -> dict[str, Any]:
    return {"what": what, "ids": list(ids), "keep": keep, "text": text, "why": ""}


WAITS = {"state": "quarantined"}


@pytest.mark.slow
async def test_one_lesson_seen_in_two_sessions_becomes_one_unconfirmed_entry() -> None:
    consolidator = Consolidator([same("P-1", "P-2")])
    runtime = await consolidator.left_session(
        (FORMAT, WAITS | {"seen": "an-earlier-session"}), (AGAIN, WAITS)
    )
    [event] = await runtime.learning.consolidate()
    assert isinstance(event, PlaybookUpdated)
    assert (state_of(runtime, "P-1"), state_of(runtime, "P-2")) == ("unconfirmed", "deleted")
    sources = runtime.sessions.playbook.evidence("P-1")
    assert {one.quote for one in sources} >= {FORMAT[:20], AGAIN[:20]}
    assert "P-2 removed" in event.describe()


async def test_two_proposals_of_one_session_are_one_and_still_wait() -> None:
    consolidator = Consolidator([same("P-1", "P-2")])
    runtime = await consolidator.left_session((FORMAT, WAITS), (AGAIN, WAITS))
    await runtime.learning.consolidate()
    assert (state_of(runtime, "P-1"), state_of(runtime, "P-2")) == ("quarantined", "deleted")


async def test_a_proposal_that_needs_a_yes_still_does_after_another_one_was_merged_into_it() -> (
    None
):
    consolidator = Consolidator([same("P-1", "P-2")])
    runtime = await consolidator.left_session((FORMAT, {}), (AGAIN, WAITS))
    session = runtime.sessions.session
    wait = Op("UPDATE", "P-1", {"state": "quarantined", "doubt": "imported"})
    runtime.sessions.playbook.apply(Delta("wait", (wait,), "import"), session)
    await runtime.learning.consolidate()
    assert (state_of(runtime, "P-1"), state_of(runtime, "P-2")) == ("quarantined", "deleted")
    bullet = runtime.sessions.session.playbook.bullets["P-1"]
    assert needs_approval(bullet)


async def test_its_changes_are_one_delta_that_one_undo_takes_back() -> None:
    findings = [same("P-1", "P-2"), same("", "P-3", what="stale")]
    consolidator = Consolidator(findings)
    runtime = await consolidator.left_session((FORMAT, WAITS), (AGAIN, WAITS), ("Over", WAITS))
    await runtime.learning.consolidate()
    assert [state_of(runtime, name) for name in ("P-2", "P-3")] == ["deleted", "deleted"]
    perform(runtime, "undo", [])
    assert [state_of(runtime, name) for name in ("P-2", "P-3")] == ["quarantined"] * 2


async def test_an_unchanged_playbook_is_asked_about_once() -> None:
    consolidator = Consolidator([], [])
    runtime = await consolidator.left_session((FORMAT, WAITS), ("Other", WAITS))
    for _ in range(2):
        await runtime.learning.consolidate()
    assert len(consolidator.asked) == 1
    add(runtime, ("A third", WAITS))
    await runtime.learning.consolidate()
    assert len(consolidator.asked) == 2


async def test_what_it_changed_itself_is_no_reason_to_ask_again() -> None:
    consolidator = Consolidator([same("P-1", "P-2")])
    runtime = await consolidator.left_session((FORMAT, WAITS), (AGAIN, WAITS), ("Other", WAITS))
    await runtime.learning.consolidate()
    assert await runtime.learning.consolidate() == []
    assert len(consolidator.asked) == 1


async def test_nothing_waits_and_the_list_is_short_so_nobody_is_asked() -> None:
    consolidator = Consolidator()
    runtime = await consolidator.left_session((FORMAT, {}), ("Other", {}))
    assert await runtime.learning.consolidate() == []
    assert consolidator.asked == []


async def test_more_than_thirty_strategies_are_a_reason_without_a_proposal() -> None:
    consolidator = Consolidator([])
    many: list[tuple[str, dict[str, Any]]] = [
        (f"Rule number {n} about topic {n}", {}) for n in range(31)
    ]
    runtime = await consolidator.left_session(*many)
    await runtime.learning.consolidate()
    assert len(consolidator.asked[0]["strategies"]) == 31


@pytest.mark.parametrize(
    "protected",
    [
        {"state": "pinned", "by": "user"},
        {"trust": "user"},
        {"scope": "user"},
        {"by": "user"},
    ],
    ids=["pinned", "the user's word", "of all projects", "written by hand"],
)
@pytest.mark.parametrize("what", ["same", "replaced", "stale", "broad"])
async def test_what_is_the_users_stays_whatever_a_model_finds(
    protected: dict[str, Any], what: str
) -> None:
    finding = same("P-2" if what in ("same", "replaced") else "", "P-1", what=what, text="Less")
    consolidator = Consolidator([finding])
    runtime = await consolidator.left_session((FORMAT, protected), (AGAIN, WAITS))
    before = runtime.sessions.playbook.get("P-1")
    [event] = await runtime.learning.consolidate()
    after = runtime.sessions.playbook.get("P-1")
    assert before is not None
    assert after is not None
    assert (after.content, after.state) == (before.content, before.state)
    assert isinstance(event, PlaybookUpdated)
    assert any(line.startswith("P-1 stays") for line in event.refused)


async def test_a_proven_strategy_is_not_removed_on_one_sentence() -> None:
    consolidator = Consolidator([same("P-2", "P-1", what="replaced")])
    runtime = await consolidator.left_session(
        (FORMAT, {"helpful": 3, "harmful": 1}), (AGAIN, WAITS)
    )
    [event] = await runtime.learning.consolidate()
    assert state_of(runtime, "P-1") == "active"
    assert isinstance(event, PlaybookUpdated)
    assert "helped 3 times" in event.refused[0]


async def test_a_proposal_does_not_take_the_place_of_what_is_in_prompts() -> None:
    consolidator = Consolidator([same("P-2", "P-1")])
    runtime = await consolidator.left_session((FORMAT, {}), (AGAIN, WAITS))
    await runtime.learning.consolidate()
    assert (state_of(runtime, "P-1"), state_of(runtime, "P-2")) == ("active", "quarantined")


async def test_findings_in_a_circle_remove_one_and_keep_the_other() -> None:
    consolidator = Consolidator([same("P-1", "P-2"), same("P-2", "P-1")])
    runtime = await consolidator.left_session((FORMAT, WAITS), (AGAIN, WAITS))
    [event] = await runtime.learning.consolidate()
    assert (state_of(runtime, "P-1"), state_of(runtime, "P-2")) == ("quarantined", "deleted")
    assert isinstance(event, PlaybookUpdated)
    assert "two findings" in event.refused[0]


async def test_a_contradiction_changes_nothing_and_is_one_line_with_both_ids() -> None:
    finding = same("", "P-1", "P-2", what="contradiction") | {"why": "tabs or spaces"}
    consolidator = Consolidator([finding])
    runtime = await consolidator.left_session(
        ("Indent with tabs", {"trust": "user"}), ("Indent with spaces", {}), ("Other", WAITS)
    )
    [event] = await runtime.learning.consolidate()
    assert isinstance(event, PlaybookUpdated)
    assert event.lines == ("P-1 and P-2 contradict each other: tabs or spaces",)
    assert state_of(runtime, "P-2") == "active"


async def test_a_strategy_that_was_changed_meanwhile_stays() -> None:
    runtime: Runtime

    def answer(request: ModelRequest) -> Any:
        if request.purpose != "reflect":
            return "Done."
        perform(runtime, "edit", ["P-2", "Quite another text"])
        return json.dumps({"findings": [same("P-1", "P-2")]})

    consolidator = Consolidator()
    consolidator.__class__ = type("Changing", (Consolidator,), {"__call__": staticmethod(answer)})
    runtime = await consolidator.left_session((FORMAT, WAITS), (AGAIN, WAITS))
    await runtime.learning.consolidate()
    assert state_of(runtime, "P-2") != "deleted"


async def test_too_broad_a_proposal_gets_the_narrower_text() -> None:
    finding = same("", "P-1", what="broad", text="Commits in `api/` need a ticket id")
    consolidator = Consolidator([finding])
    runtime = await consolidator.left_session((FORMAT, WAITS), ("Other", WAITS))
    await runtime.learning.consolidate()
    found = runtime.sessions.playbook.get("P-1")
    assert found is not None
    assert (found.content, found.state) == (finding["text"], "quarantined")


async def test_an_answer_that_cannot_be_used_is_paid_for_once() -> None:
    consolidator = Consolidator("I think it is fine.", "Really.", "Never asked.")
    runtime = await consolidator.left_session((FORMAT, WAITS), (AGAIN, WAITS))
    [event] = await runtime.learning.consolidate()
    assert isinstance(event, ReflectionFailed)
    assert await runtime.learning.consolidate() == []
    assert len(consolidator.asked) == 2, "one question, asked once more"


async def test_what_it_took_is_in_the_costs_of_the_session_that_ended() -> None:
    consolidator = Consolidator([])
    runtime = await consolidator.left_session((FORMAT, WAITS), (AGAIN, WAITS))
    left = next(one.id for one in runtime.sessions.catalog.list_sessions() if one.interactions)
    await runtime.learning.consolidate()
    runtime.sessions.resume(left, "")
    assert "reflect" in runtime.sessions.totals().by_purpose


@pytest.mark.parametrize(
    ("item", "why"),
    [
        (same("P-9", "P-1"), "P-9 was not asked about"),
        (same("P-1", "P-1"), "cannot stay and go"),
        (same("", "P-1"), "which one stays"),
        (same("", what="stale"), "names no strategy"),
        (same("", "P-1", what="broad"), "no narrower text"),
        (same("", "P-1", what="contradiction"), "no contradiction"),
    ],
)
def test_a_finding_that_cannot_be_meant_is_named_and_dropped(item: Any, why: str) -> None:
    text = json.dumps({"findings": [item, same("P-2", "P-3")]})
    answer, problem = read_findings(text, ASKED)
    assert problem == ""
    assert answer.findings == [Finding("same", ("P-3",), "P-2")]
    assert why in answer.losses[0]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "nothing",
        "[]",
        '{"findings": "none"}',
        '{"findings": [{',
        '{"findings": [{"what": "boring", "ids": ["P-1"]}]}',
    ],
)
def test_an_answer_that_does_not_follow_the_schema_is_asked_for_again(text: str) -> None:
    assert read_findings(text, ASKED)[1]
