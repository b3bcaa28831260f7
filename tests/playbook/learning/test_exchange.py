"""Test that learning takes part: it reads an exchange with the user's reaction, and keeps one entry for one lesson."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from swecli.app import Runtime
from swecli.models.approval import Decision
from swecli.models.learning_events import PlaybookUpdated
from swecli.models.message import ModelRequest
from swecli.models.playbook import Bullet, Delta, Op
from swecli.store.undo_records import UNDO_PARTS
from tests.support.playbook import perform
from tests.support.runtime import User, calls, make_runtime, run_turn
from tests.support.scripted import Reply, ScriptedModel

RULE = "the changelog entry comes with the change"
HOOK = "commit subject needs a ticket id"


class Reflector:
    """Answers the queries with `replies`, and reflections with `answers`; `asked` holds their exchanges."""

    def __init__(self, replies: list[Any], *answers: dict[str, Any]) -> None:
        self.replies, self.answers = replies, list(answers)
        self.asked: list[dict[str, Any]] = []

    def __call__(self, request: ModelRequest) -> Any:
        if request.purpose != "reflect":
            return self.replies.pop(0)
        text = str(request.messages[-1]["content"]).removeprefix("```json").removesuffix("```")
        self.asked.append(json.loads(text))
        return json.dumps(self.answers.pop(0) if self.answers else {"strategies": []})

    def make_runtime(self, user: User | None = None, **settings: Any) -> Runtime:
        return make_runtime(self, user, reflect="always", reflect_percent=100, **settings)


async def exchange(runtime: Runtime, query: str) -> list[str]:
    """Run a turn, then reflect on those that it is the reaction to, as the prompt does. Returns the lines."""
    await run_turn(runtime, query, learn=False)
    events = [*runtime.learning.after_turn().events]
    events += await runtime.learning.reflect(*runtime.learning.due_turns())
    return [line for event in events for line in getattr(event, "lines", ())]


def bullets_of(runtime: Runtime) -> dict[str, Bullet]:
    return runtime.sessions.session.playbook.bullets


def state_of(runtime: Runtime, name: str) -> tuple[str, str]:
    return bullets_of(runtime)[name].state, bullets_of(runtime)[name].content


def teach(runtime: Runtime, *contents: str) -> None:
    ops = tuple(Op("ADD", fields={"content": text, "scope": "project"}) for text in contents)
    runtime.sessions.playbook.apply(Delta("taught", ops, "user"), runtime.sessions.session)


def lesson(text: str = "", quote: str = "", **links: str) -> dict[str, Any]:
    return {"text": text, "quote": quote, "kind": "fact", **links}


async def test_a_turn_is_reflected_on_beside_the_next_one_with_its_answer_and_the_reaction() -> (
    None
):
    reflector = Reflector(["I renamed it.", "Added."])
    runtime = reflector.make_runtime()
    await exchange(runtime, "rename the flag")
    assert reflector.asked == [], "nobody has reacted yet"
    await exchange(runtime, f"you forgot: {RULE}")
    [[one]] = [question["exchanges"] for question in reflector.asked]
    assert (one["id"], one["query"], one["answer"]) == ("T1", "rename the flag", "I renamed it.")
    assert one["reactions"] == [{"kind": "message", "text": f"you forgot: {RULE}", "when": "after"}]
    assert [turn.interaction for turn in runtime.learning.pending()] == [2]


async def test_refusals_and_marks_are_reactions_and_the_exchange_before_is_summed_up() -> None:
    reflector = Reflector(
        ["Hello.", calls(("run_command", {"command": "make deploy", "access": "write"})), "Well."]
    )
    user = User([Decision(False, reason="we deploy from CI only")])
    runtime = reflector.make_runtime(user, mode="ask")
    await exchange(runtime, "hi")
    await exchange(runtime, "ship it")
    await runtime.learning.mark(False, "you did not ask")
    assert runtime.learning.due_after_mark(False, "you did not ask") == [2]
    await runtime.learning.reflect(2, is_requested=True)
    one = reflector.asked[-1]["exchanges"][0]
    assert [(r["kind"], r["text"]) for r in one["reactions"]] == [
        ("refusal", "we deploy from CI only"),
        ("mark", "you did not ask"),
    ]
    assert one["before"] == "user: hi\nassistant: Hello."


async def test_several_waiting_exchanges_are_one_request_and_one_line() -> None:
    answer = {
        "exchanges": [
            {"id": "T1", "turn": "good", "strategies": [{"id": "P-1", "effect": "helped"}]},
            {"id": "T2", "turn": "mixed", "strategies": [{"id": "P-1", "effect": "ignored"}]},
        ]
    }
    reflector = Reflector(["One.", "Two."], answer)
    runtime = reflector.make_runtime()
    teach(runtime, "Answers are short")
    await run_turn(runtime, "one", learn=False)
    await run_turn(runtime, "two", learn=False)
    [event] = await runtime.learning.reflect(1, 2, is_requested=True, has_ended=True)
    assert isinstance(event, PlaybookUpdated)
    assert event.describe() == "T2: T1: P-1 helped · P-1 ignored"
    [question] = reflector.asked
    assert [one["reactions"][0]["kind"] for one in question["exchanges"]] == ["message", "end"]
    assert (bullets_of(runtime)["P-1"].helpful, bullets_of(runtime)["P-1"].neutral) == (1, 1)


async def test_effects_are_kept_with_their_reasons_and_only_three_of_them_are_evidence() -> None:
    effects = [
        {"id": "P-1", "effect": "refuted", "why": "the user moved the file"},
        {"id": "P-2", "effect": "ignored", "why": "no entry was written"},
        {"id": "P-3", "effect": "helped", "why": "ran the dev profile"},
    ]
    runtime = Reflector(
        ["See [P-1].", "Yes."], {"turn": "mixed", "why": "one was wrong", "strategies": effects}
    ).make_runtime()
    teach(runtime, "The spec is in a.md", "Write an entry", "Use the dev profile")
    await exchange(runtime, "look")
    lines = await exchange(runtime, "it moved")
    retired = "P-1 retired (playbook undo restores it)"
    assert lines == ["P-3 helped", "P-1 refuted", "P-2 ignored", retired]
    counts = [(b.helpful, b.harmful, b.neutral) for b in bullets_of(runtime).values()]
    assert counts == [(0, 1, 0), (0, 0, 1), (1, 0, 0)]
    shown = perform(runtime, "show", ["P-2"]).lines
    assert any("ignored in T1: no entry was written" in line for line in shown)
    turn = runtime.sessions.turns.turn(runtime.sessions.session.id, 1)
    assert turn is not None
    assert (turn.judged, turn.judged_why) == ("mixed", "one was wrong")


async def test_a_model_reads_by_itself_whether_no_was_said_of_the_turn_before() -> None:
    reflector = Reflector(["Done.", "Ha."], {"turn": "good", "why": "a joke"})
    online = ScriptedModel(reflector, offline=False)
    runtime = make_runtime(online, reflect="always", reflect_percent=100)
    await exchange(runtime, "look")
    lines = await exchange(runtime, "no, I am only joking")
    assert lines == []
    turn = runtime.sessions.turns.turn(runtime.sessions.session.id, 1)
    assert turn is not None
    assert (turn.mark, turn.judged) == ("", "good")


async def test_the_question_holds_what_the_turn_itself_stored() -> None:
    stored = calls(("remember", {"text": "We use tabs here", "quote": "we use tabs here"}))
    reflector = Reflector([stored, "Noted.", "Yes."])
    runtime = reflector.make_runtime()
    await exchange(runtime, "we use tabs here")
    await exchange(runtime, "and now?")
    assert [one["id"] for one in reflector.asked[0]["exchanges"]] == ["T1"]
    assert [one["id"] for one in reflector.asked[0]["exchanges"][0]["stored"]] == ["P-1"]


OPPOSED = {"turn": "unclear", "contradictions": ["P-1", "P-2"]}


async def test_strategies_that_contradict_each_other_are_named_with_both_ids_once() -> None:
    runtime = Reflector(["Hm."] * 5, *[OPPOSED] * 4).make_runtime()
    teach(runtime, "Commit each change", "Leave committing to the user")
    await exchange(runtime, "what now?")
    told = 'P-1 "Commit each change" and P-2 "Leave committing to the user" contradict each other'
    assert await exchange(runtime, "and now?") == [told]
    assert await exchange(runtime, "still?") == [], "it was said"
    perform(runtime, "edit", ["P-2", "Never commit"])
    assert await exchange(runtime, "yes?") == [], "the turn before had the old text"
    again = 'P-1 "Commit each change" and P-2 "Never commit" contradict each other'
    assert await exchange(runtime, "so?") == [again]


async def test_a_contradiction_that_the_answer_settles_or_that_names_strangers_is_none() -> None:
    settled = OPPOSED | {"lessons": [lesson(replaces="P-2", quote="never leave it to me")]}
    stranger = {"turn": "good", "contradictions": ["P-1", "P-99"]}
    runtime = Reflector(["Hm."] * 3, settled, stranger).make_runtime()
    teach(runtime, "Commit each change", "Leave committing to the user")
    lines = [
        *await exchange(runtime, "what now?"),
        *await exchange(runtime, "never leave it to me"),
        *await exchange(runtime, "fine"),
    ]
    assert not any("contradict" in line for line in lines)


async def seen_twice(*more: dict[str, Any]) -> tuple[Reflector, Runtime]:
    """Return a runtime in which two exchanges showed a lesson, the second in other words."""
    failing = calls(("run_command", {"command": f"echo '{HOOK}'; false"}))
    first = {"lessons": [lesson(f"A {HOOK}", HOOK, **{"from": "result"})]}
    again = {"lessons": [lesson("Subjects start with the id", HOOK, same_as="P-1")]}
    reflector = Reflector([failing, "No.", failing, "No.", *["Yes."] * 4], first, again, *more)
    runtime = reflector.make_runtime(mode="auto")
    for query in ("commit", "commit this too", "and now?"):
        await exchange(runtime, query)
    return reflector, runtime


async def test_a_result_seen_in_two_exchanges_is_one_unconfirmed_strategy_until_it_helps() -> None:
    helped = {"strategies": [{"id": "P-1", "effect": "helped", "why": "had the id"}]}
    reflector, runtime = await seen_twice({"lessons": []}, helped)
    assert [one["id"] for one in reflector.asked[1]["waiting"]] == ["P-1"]
    assert [*bullets_of(runtime)] == ["P-1"]
    assert state_of(runtime, "P-1") == ("unconfirmed", f"A {HOOK}")
    await exchange(runtime, "commit again")
    request = [
        r
        for r in runtime.agent.model.requests  # type: ignore[attr-defined]
        if r.purpose == "turn"
    ][-1]
    assert f"(unconfirmed) A {HOOK}" in str(request.messages)
    await exchange(runtime, "thanks")
    assert state_of(runtime, "P-1") == ("active", f"A {HOOK}")


async def test_reading_the_same_file_twice_confirms_nothing() -> None:
    Path("NOTES").write_text("the owl guards the gate")
    read = calls(("read_file", {"path": "NOTES"}))
    text = "The owl guards the gate"
    first = {"lessons": [lesson(text, text, **{"from": "result"})]}
    again = {"lessons": [lesson(text, text, same_as="P-1", **{"from": "result"})]}
    runtime = Reflector([read, "Ok.", read, "Ok.", "Ok."], first, again).make_runtime(mode="auto")
    for query in ("read", "read again", "bye"):
        await exchange(runtime, query)
    assert state_of(runtime, "P-1")[0] == "quarantined"


@pytest.mark.parametrize("text", [f"No: {RULE}", f"With each change, {RULE}"])
async def test_the_question_holds_what_the_next_turn_stored_of_the_reaction(text: str) -> None:
    same = {"lessons": [lesson("", RULE, same_as="P-1", **{"from": "user"})]}
    stores = calls(("remember", {"text": text, "quote": RULE}))
    reflector = Reflector(["Done.", stores, "Noted.", "Bye."], same)
    runtime = reflector.make_runtime()
    await exchange(runtime, "rename the flag")
    await exchange(runtime, f"no: {RULE}")
    [[first]] = [question["exchanges"] for question in reflector.asked]
    assert first["id"] == "T1"
    assert first["stored_next"] == [{"id": "P-1", "text": text}]
    assert [*bullets_of(runtime)] == ["P-1"]


async def test_the_strategies_of_a_turn_are_stored_before_its_answer_that_may_never_come() -> None:
    stored: list[Any] = []

    def answer(request: ModelRequest) -> str:
        turn = runtime.sessions.turns.turn(runtime.session.id, 1)
        stored.append(turn and (turn.status, turn.shown))
        return "Done."

    runtime = make_runtime(answer, reflect_with_model=False)
    teach(runtime, RULE)
    await run_turn(runtime, "rename the flag")
    assert stored == [("running", ("P-1",))]


@pytest.mark.parametrize("links", [{}, {"same_as": "P-1"}])
async def test_a_sentence_of_the_user_that_model_and_reflector_repeat_is_one_strategy(
    links: dict[str, str],
) -> None:
    said = f"{RULE.capitalize()}."
    heard = {"lessons": [lesson(said, RULE, **{"from": "user"}, **links)]}
    stores = calls(("remember", {"text": said, "quote": RULE}))
    # it is the reaction to the first turn and the query of the second one, and both are reflected on
    reflector = Reflector(["Done.", stores, "Noted.", "Bye."], heard, heard)
    runtime = reflector.make_runtime()
    for query in ("rename the flag", said, "thanks"):
        lines = await exchange(runtime, query)
    assert len(reflector.asked) == 2
    assert [(one.content, one.state) for one in bullets_of(runtime).values()] == [(said, "active")]
    assert not any("P-2" in line or "now:" in line for line in lines)


async def test_words_that_wait_already_are_not_told_as_new_a_second_time() -> None:
    waits = calls(("remember", {"text": "the changelog entry comes first", "quote": RULE}))
    same = {"lessons": [lesson("", RULE, same_as="P-1", **{"from": "user"})]}
    runtime = Reflector(["Done.", waits, "Noted."], same).make_runtime()
    await exchange(runtime, "rename the flag")
    lines = await exchange(runtime, f"no: {RULE}")
    assert lines == []
    assert state_of(runtime, "P-1")[0] == "quarantined"
    assert len(runtime.sessions.playbook.evidence("P-1")) == 1, "so that it is asked about once"


async def test_a_new_text_does_not_inherit_the_refutation_of_the_old_one() -> None:
    new = "Deprecated things stay three releases here."
    answer = {
        "strategies": [{"id": "P-1", "effect": "refuted", "why": "it is three"}],
        "lessons": [lesson(new, new, replaces="P-1")],
    }
    runtime = Reflector(["Ok.", "Ok."], answer).make_runtime()
    fields = {"content": "Deprecated things stay two releases", "scope": "project"}
    said = Op("ADD", fields=fields | {"trust": "tool", "state": "active"})
    runtime.sessions.playbook.apply(Delta("seen", (said,), "import"), runtime.sessions.session)
    await exchange(runtime, "deprecate it")
    await exchange(runtime, new)
    bullet = bullets_of(runtime)["P-1"]
    assert (bullet.content, bullet.helpful, bullet.harmful) == (new, 0, 0)
    [verdict] = runtime.sessions.playbook.verdicts("P-1")
    assert verdict.effect == "refuted", "the exchange is still told"


async def test_what_is_confirmed_and_replaces_another_one_retires_that() -> None:
    quote = "use tox, not pytest, for the tests"
    links = {"same_as": "P-2", "replaces": "P-1", "from": "user"}
    reflector = Reflector(["Ok.", "Ok."], {"lessons": [lesson("", quote, **links)]})
    runtime = reflector.make_runtime()
    fields = {"content": "Run pytest for the tests", "scope": "project", "trust": "tool"}
    fields |= {"state": "active"}
    runtime.sessions.playbook.apply(
        Delta("imported", (Op("ADD", fields=fields),), "import"), runtime.sessions.session
    )
    teach(runtime, "Run the tests with tox")
    await exchange(runtime, "test it")
    await exchange(runtime, quote)
    assert [*bullets_of(runtime)] == ["P-2"]


async def test_the_same_effect_for_all_of_many_strategies_is_no_evidence() -> None:
    effects = [{"id": f"P-{n}", "effect": "helped"} for n in range(1, 6)]
    runtime = Reflector(["Ok.", "Ok."], {"strategies": effects}).make_runtime()
    teach(runtime, "one", "two", "three", "four", "five")
    await exchange(runtime, "look")
    await exchange(runtime, "thanks")
    assert {bullet.helpful for bullet in bullets_of(runtime).values()} == {0}


@pytest.mark.parametrize(
    "quote", ["the changelog entry comes after the change", "", "nowhere said"]
)
async def test_a_quote_that_is_half_right_teaches_nothing(quote: str) -> None:
    wrong = {"lessons": [lesson(f"T{RULE[1:]}", quote, **{"from": "user"})]}
    runtime = Reflector(["Ok.", "Ok."], wrong).make_runtime()
    await exchange(runtime, "rename the flag")
    await exchange(runtime, f"no: {RULE}")
    assert bullets_of(runtime) == {}


@pytest.mark.parametrize(
    "action", [["edit", "P-1", "--pin"], ["edit", "P-1", "Run nox, the runner"]]
)
async def test_what_the_user_pinned_or_wrote_is_replaced_only_after_a_yes(
    action: list[str],
) -> None:
    quote = "run tox instead of nox"
    change = {"lessons": [lesson("Run tox instead", quote, replaces="P-1")]}
    runtime = Reflector(["Ok.", "Ok."], change).make_runtime()
    teach(runtime, "Run nox")
    perform(runtime, action[0], action[1:])
    before = bullets_of(runtime)["P-1"].content
    await exchange(runtime, "test it")
    await exchange(runtime, quote)
    assert bullets_of(runtime)["P-1"].content == before
    assert state_of(runtime, "P-2") == ("quarantined", "Run tox instead")


async def test_an_answer_about_a_turn_that_was_undone_meanwhile_teaches_nothing() -> None:
    learned = {"lessons": [lesson(f"T{RULE[1:]}", RULE, **{"from": "user"})]}
    runtime = Reflector(["Ok.", "Again."], learned).make_runtime()
    await run_turn(runtime, f"note: {RULE}", learn=False)
    runtime.learning.after_turn()
    reflecting = asyncio.ensure_future(runtime.learning.reflect(1, is_requested=True))
    await asyncio.sleep(0)
    history = runtime.history
    assert history is not None
    history.undo(1, UNDO_PARTS, history.plan(1))
    runtime.resume(runtime.sessions.session.id)
    await run_turn(runtime, "something else", learn=False)
    [event] = await reflecting
    assert "was undone meanwhile" in event.describe()
    assert bullets_of(runtime) == {}


async def test_edits_that_are_undone_are_a_reaction_to_the_turn_that_stays() -> None:
    edit = calls(("write_file", {"path": "a.txt", "content": "x"}))
    reflector = Reflector([edit, "Written.", "Ok."])
    runtime = reflector.make_runtime(mode="auto")
    await exchange(runtime, "write it")
    history = runtime.history
    assert history is not None
    history.undo(1, ("files",), history.plan(1))
    runtime.resume(runtime.sessions.session.id)
    await exchange(runtime, "not like this")
    kinds = [one["kind"] for one in reflector.asked[0]["exchanges"][0]["reactions"]]
    assert kinds == ["undo", "message"]


async def test_the_last_turn_of_a_session_that_was_left_is_reflected_on_as_ended() -> None:
    reflector = Reflector(["Ok."])
    runtime = reflector.make_runtime()
    await exchange(runtime, "look")
    assert await runtime.learning.resume(runtime.sessions.session.id, [1]) == []
    runtime.new_session()
    for session_id, numbers in runtime.learning.pending_by_session():
        await runtime.learning.resume(session_id, numbers)
    assert reflector.asked[0]["exchanges"][0]["reactions"] == [{"kind": "end", "when": "after"}]
    assert runtime.learning.pending() == []


NEXT_TASK = "add percent(0.125) -> '12.5%' to number.py, use our shared float helper from _compat. With a test"


@pytest.mark.parametrize(
    ("reaction", "is_asked"),
    [("no, the other flag", True), ("changelog??", True), ("nicht so", True), (NEXT_TASK, False)],
)
async def test_a_short_message_in_any_language_asks_about_the_turn_before_it(
    reaction: str, is_asked: bool
) -> None:
    reflector = Reflector(["Ok.", "Sorry."])
    model = ScriptedModel(reflector, offline=False)
    runtime = make_runtime(model, reflect="friction", reflect_percent=100)
    await exchange(runtime, "rename the flag")
    await exchange(runtime, reaction)
    asked = [one["id"] for question in reflector.asked for one in question["exchanges"]]
    assert asked == (["T1"] if is_asked else [])
    assert [turn.interaction for turn in runtime.learning.pending()] == [2]


async def test_secrets_in_answers_and_reactions_are_not_sent() -> None:
    key = "sk-abcdefghij0123456789abcdefghij0123456789"
    reflector = Reflector([Reply(f"The key is {key}."), "Ok."])
    runtime = reflector.make_runtime()
    await exchange(runtime, "look")
    await exchange(runtime, f"never print {key}")
    assert key not in str(reflector.asked)
