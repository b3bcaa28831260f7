"""Test tidying a playbook: what a model's findings change, and what they leave to the user."""

from __future__ import annotations

import json
from typing import Any

import pytest

from swecli.app import Runtime
from swecli.models.errors import BadInput
from swecli.models.learning_events import PlaybookUpdated, ReflectionFailed
from swecli.models.message import ModelRequest
from swecli.models.playbook import Bullet, Delta, Evidence, Op
from swecli.models.session import Session
from swecli.playbook.learning.curator import needs_approval
from swecli.playbook.learning.tidying import Finding, read_findings
from tests.support.playbook import perform
from tests.support.runtime import make_runtime, run_turn

FORMAT = "A commit subject begins with a ticket id"
AGAIN = "The hook rejects commits without a ticket in the subject"
ASKED = {name: Bullet(name, f"text of {name}") for name in ("P-1", "P-2", "P-3")}


class Tidier:
    """Answers queries with "Done.", and requests to tidy with `answers`; `asked` holds their data."""

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

    async def open_session(self, *bullets: tuple[str, dict[str, Any]], turns: int = 1) -> Runtime:
        """Return a runtime in its second session, with strategies that were learned in the first one."""
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
    tidier = Tidier([same("P-1", "P-2")])
    runtime = await tidier.open_session(
        (FORMAT, WAITS | {"seen": "an-earlier-session"}), (AGAIN, WAITS)
    )
    [event] = await runtime.learning.tidy()
    assert isinstance(event, PlaybookUpdated)
    assert (state_of(runtime, "P-1"), state_of(runtime, "P-2")) == ("unconfirmed", "deleted")
    sources = runtime.sessions.playbook.evidence("P-1")
    assert {one.quote for one in sources} >= {FORMAT[:20], AGAIN[:20]}
    assert "P-2 removed" in event.describe()


async def test_two_proposals_of_one_session_are_one_and_still_wait() -> None:
    tidier = Tidier([same("P-1", "P-2")])
    runtime = await tidier.open_session((FORMAT, WAITS), (AGAIN, WAITS))
    await runtime.learning.tidy()
    assert (state_of(runtime, "P-1"), state_of(runtime, "P-2")) == ("quarantined", "deleted")


async def test_a_proposal_that_needs_a_yes_still_does_after_another_one_was_merged_into_it() -> (
    None
):
    tidier = Tidier([same("P-1", "P-2")])
    runtime = await tidier.open_session((FORMAT, {}), (AGAIN, WAITS))
    session = runtime.sessions.session
    wait = Op("UPDATE", "P-1", {"state": "quarantined", "doubt": "imported"})
    runtime.sessions.playbook.apply(Delta("wait", (wait,), "import"), session)
    await runtime.learning.tidy()
    assert (state_of(runtime, "P-1"), state_of(runtime, "P-2")) == ("quarantined", "deleted")
    bullet = runtime.sessions.session.playbook.bullets["P-1"]
    assert needs_approval(bullet)


async def test_its_changes_are_one_delta_that_one_undo_takes_back() -> None:
    findings = [same("P-1", "P-2"), same("", "P-3", what="stale")]
    tidier = Tidier(findings)
    runtime = await tidier.open_session((FORMAT, WAITS), (AGAIN, WAITS), ("Over", WAITS))
    await runtime.learning.tidy()
    assert [state_of(runtime, name) for name in ("P-2", "P-3")] == ["deleted", "deleted"]
    perform(runtime, "undo", [])
    assert [state_of(runtime, name) for name in ("P-2", "P-3")] == ["quarantined"] * 2


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
    tidier = Tidier([finding])
    runtime = await tidier.open_session((FORMAT, protected), (AGAIN, WAITS))
    before = runtime.sessions.playbook.get("P-1")
    [event] = await runtime.learning.tidy()
    after = runtime.sessions.playbook.get("P-1")
    assert before is not None
    assert after is not None
    assert (after.content, after.state) == (before.content, before.state)
    assert isinstance(event, PlaybookUpdated)
    assert any(line.startswith("P-1 stays") for line in event.refused)


async def test_a_proposal_does_not_take_the_place_of_what_is_in_prompts() -> None:
    tidier = Tidier([same("P-2", "P-1")])
    runtime = await tidier.open_session((FORMAT, {}), (AGAIN, WAITS))
    await runtime.learning.tidy()
    assert (state_of(runtime, "P-1"), state_of(runtime, "P-2")) == ("active", "quarantined")


async def test_findings_in_a_circle_remove_one_and_keep_the_other() -> None:
    tidier = Tidier([same("P-1", "P-2"), same("P-2", "P-1")])
    runtime = await tidier.open_session((FORMAT, WAITS), (AGAIN, WAITS))
    [event] = await runtime.learning.tidy()
    assert (state_of(runtime, "P-1"), state_of(runtime, "P-2")) == ("quarantined", "deleted")
    assert isinstance(event, PlaybookUpdated)
    assert "two findings" in event.refused[0]


async def test_a_strategy_that_was_changed_meanwhile_stays() -> None:
    runtime: Runtime

    def answer(request: ModelRequest) -> Any:
        if request.purpose != "reflect":
            return "Done."
        perform(runtime, "edit", ["P-2", "Quite another text"])
        return json.dumps({"findings": [same("P-1", "P-2")]})

    tidier = Tidier()
    tidier.__class__ = type("Changing", (Tidier,), {"__call__": staticmethod(answer)})
    runtime = await tidier.open_session((FORMAT, WAITS), (AGAIN, WAITS))
    await runtime.learning.tidy()
    assert state_of(runtime, "P-2") != "deleted"


async def test_too_broad_a_proposal_gets_the_narrower_text() -> None:
    finding = same("", "P-1", what="broad", text="Commits in `api/` need a ticket id")
    tidier = Tidier([finding])
    runtime = await tidier.open_session((FORMAT, WAITS), ("Other", WAITS))
    await runtime.learning.tidy()
    found = runtime.sessions.playbook.get("P-1")
    assert found is not None
    assert (found.content, found.state) == (finding["text"], "quarantined")


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


async def test_a_playbook_of_one_strategy_is_not_asked_about() -> None:
    tidier = Tidier()
    runtime = await tidier.open_session((FORMAT, {}))
    with pytest.raises(BadInput, match="nothing to tidy"):
        await runtime.learning.tidy()
    assert tidier.asked == []


async def test_what_it_took_is_in_the_costs_of_the_session_that_asked() -> None:
    tidier = Tidier([])
    runtime = await tidier.open_session((FORMAT, WAITS), (AGAIN, WAITS))
    await runtime.learning.tidy()
    assert "reflect" in runtime.sessions.totals().by_purpose


async def test_an_answer_that_cannot_be_used_changes_nothing() -> None:
    runtime = await Tidier("I think it is fine.", "Really.").open_session(
        (FORMAT, WAITS), (AGAIN, WAITS)
    )
    [event] = await runtime.learning.tidy()
    assert isinstance(event, ReflectionFailed)
    assert state_of(runtime, "P-2") == "quarantined"


async def test_a_contradiction_is_told_with_both_texts_and_asked_about() -> None:
    finding = same("", "P-1", "P-2", what="contradiction") | {"why": "tabs or spaces"}
    runtime = await Tidier([finding]).open_session(
        ("Indent with tabs", {"trust": "user"}), ("Indent with spaces", {}), ("Other", WAITS)
    )
    [event] = await runtime.learning.tidy()
    assert isinstance(event, PlaybookUpdated)
    assert event.lines == (
        'P-1 "Indent with tabs" and P-2 "Indent with spaces" contradict each other',
    )
    assert state_of(runtime, "P-2") == "active"
    question = perform(runtime, "review", []).questions[0]
    assert question.content == "P-1 Indent with tabs\nP-2 Indent with spaces"
    perform(runtime, "review", ["P-2", "over", "P-1"])
    assert state_of(runtime, "P-1") == "deleted"


async def test_of_two_that_are_the_users_and_say_the_same_he_decides_which_one_stays() -> None:
    runtime = await Tidier([same("P-1", "P-2")]).open_session(
        ("We use fish", {"trust": "user"}), ("The shell is fish", {"trust": "user"})
    )
    [event] = await runtime.learning.tidy()
    assert isinstance(event, PlaybookUpdated)
    assert "P-2" in event.lines[0]
    assert state_of(runtime, "P-2") == "active"
    assert perform(runtime, "review", []).questions[0].title == "Which one holds?"
    perform(runtime, "review", ["P-1", "beside", "P-2"])
    assert perform(runtime, "review", []).questions == ()
    assert state_of(runtime, "P-2") == "active"
