"""Test the turns of a goal: when they end, what the model reads, and what is stored of them."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from swecli.actions.goal import Goal, GoalRun, exit_code
from swecli.config.settings import Settings
from swecli.models.errors import BadInput, ConfigError, StoreError, UsageError
from swecli.models.events import TurnFailed
from swecli.models.goal_events import GoalOutcome
from swecli.models.message import GOAL, ModelRequest
from tests.support.goals import FAILS, RecordingFace, make_goal, pursue, requests, run_of, stored
from tests.support.runtime import make_runtime
from tests.support.scripted import Reply, ScriptedModel


class TestReading:
    def test_a_command_is_taken_as_it_is_typed(self) -> None:
        goal = Goal.read("  pytest -q  'tests/a b' ", Settings())
        assert (goal.command, goal.turns, goal.budget, goal.minutes) == (
            "pytest -q  'tests/a b'",
            20,
            5.0,
            60,
        )
        assert goal.line == "/goal pytest -q  'tests/a b'"

    def test_flags_before_it_replace_the_settings(self) -> None:
        goal = Goal.read("--turns 3 --budget-usd 0.5 --minutes 7 make --jobs 2", Settings())
        assert (goal.command, goal.turns, goal.budget, goal.minutes) == ("make --jobs 2", 3, 0.5, 7)

    @pytest.mark.parametrize(
        ("args", "problem"),
        [
            ("--loops 3 make", "/goal has no flag --loops."),
            ("--turns", "--turns has no value."),
            ("--turns 0 make", "'0' is not a whole number from 1"),
            ("--budget-usd free make", "'free' is not an amount of dollars"),
        ],
    )
    def test_a_wrong_flag_is_named(self, args: str, problem: str) -> None:
        with pytest.raises((UsageError, ConfigError), match=problem):
            Goal.read(args, Settings())


async def test_turns_are_taken_until_the_command_passes() -> None:
    ended, face, runtime = await pursue(["I cannot.", run_of("touch done"), "Now."])
    assert (ended.outcome, ended.turns) == (GoalOutcome.MET, 2)
    assert [(check.turn, check.passed) for check in face.checks] == [
        (0, False),
        (1, False),
        (2, True),
    ]
    assert face.lines == [
        "before the first turn · not met: app.py is wrong",
        "turn 1 of 20 · not met: app.py is wrong · no file changed · $0.00 so far",
        "turn 2 of 20 · passed twice in a row · changed done (new) · $0.00 so far",
        "goal met · 2 turns · $0.00",
    ]
    assert face.ended_turns == [1, 2]
    assert exit_code(ended, None) == 0


async def test_the_model_reads_what_has_to_pass_and_the_output() -> None:
    _, _, runtime = await pursue(["I cannot.", run_of("touch done"), "Now."])
    first, second, _ = [str(request.messages[-1]["content"]) for request in requests(runtime)]
    assert f"the command `{FAILS}` has to exit with 0" in first
    assert "do not remove or weaken what it runs" in first
    assert "exit code 1\napp.py is wrong" in first
    assert second.startswith("The goal is not met yet")
    assert "exit code 1\napp.py is wrong" in second


async def test_the_first_message_may_be_in_the_users_words() -> None:
    _, _, runtime = await pursue(
        [run_of("touch done"), "Now."], prompt="make it so", attachment="<piped>\nx\n</piped>"
    )
    text = str(requests(runtime)[0].messages[-1]["content"])
    assert text.startswith("make it so\n\n<piped>\nx\n</piped>\n\nThe user has set a goal")
    [query] = [message for message in runtime.session.messages if message.is_query]
    assert (query.content, query.is_own_words) == ("make it so", True)


async def test_messages_of_swecli_are_marked_and_all_turns_name_their_goal() -> None:
    _, _, runtime = await pursue(["I cannot.", run_of("touch done"), "Now."])
    queries = [message for message in runtime.session.messages if message.is_query]
    assert [query.status for query in queries] == [GOAL, GOAL]
    assert {query.content for query in queries} == {f"/goal {FAILS}"}
    assert len({query.goal for query in queries}) == 1
    assert queries[0].goal
    assert not any(query.is_own_words for query in queries)
    rows = stored(runtime, "SELECT status, goal FROM message WHERE role = 'user'")
    assert rows == [(GOAL, queries[0].goal)] * 2


async def test_a_goal_that_is_met_already_does_not_ask_the_model() -> None:
    ended, face, runtime = await pursue([], "touch made; true")
    assert ended.outcome is GoalOutcome.MET_BEFORE
    assert exit_code(ended, None) == 0
    assert requests(runtime) == []
    assert face.lines[-1] == "goal met already: the model was not asked · 0 turns · $0.00"
    assert runtime.session.interactions == 0
    for table in ("message", "interaction", "file_change"):
        assert stored(runtime, f"SELECT count(*) FROM {table}") == [(0,)]


async def test_a_goal_ends_at_its_limit_of_turns() -> None:
    ended, face, _ = await pursue(["no"] * 3, turns=3)
    assert (ended.outcome, ended.turns) == (GoalOutcome.TURNS, 3)
    assert face.lines[-1] == "goal not met: its limit of turns is reached · 3 turns · $0.00"
    assert exit_code(ended, None) == 53


async def test_a_goal_ends_at_its_limit_of_dollars_within_a_turn() -> None:
    def answer(request: ModelRequest) -> Reply:
        return replace(run_of("true"), cost=0.02)

    ended, face, runtime = await pursue(answer, budget=0.05)
    assert (ended.outcome, ended.turns) == (GoalOutcome.BUDGET, 1)
    assert ended.cost == pytest.approx(0.06)
    assert face.lines[-1] == "goal not met: its limit of dollars is reached · 1 turn · $0.06"
    assert runtime.agent.settings.max_budget_usd is None


async def test_a_goal_ends_at_its_limit_of_minutes_within_a_turn() -> None:
    slow = Reply("a slow answer", piece=1, delay=0.1)
    ended, face, runtime = await pursue([slow], minutes=0.02)
    assert (ended.outcome, ended.turns) == (GoalOutcome.TIME, 1)
    assert face.ended_turns == [1]
    assert stored(runtime, "SELECT status FROM interaction") == [("cancelled",)]


async def test_a_goal_ends_at_its_limit_of_minutes_while_the_command_runs() -> None:
    ended, _, runtime = await pursue([], "sleep 30", minutes=0.01)
    assert (ended.outcome, ended.turns) == (GoalOutcome.TIME, 0)
    assert stored(runtime, "SELECT count(*) FROM message") == [(0,)]


async def test_a_command_has_to_pass_twice_in_a_row() -> None:
    flaps = "test -f done || exit 1; test $(cat done) -gt 2 || { echo x >> flapped; test $(wc -l < flapped) -ne 2; }"
    ended, face, runtime = await pursue(
        [run_of("echo 1 > done"), "Now.", run_of("echo 3 > done"), "Really."], flaps
    )
    assert (ended.outcome, ended.turns) == (GoalOutcome.MET, 2)
    assert [check.has_flapped for check in face.checks] == [False, True, False]
    assert "turn 1 of 20 · passed once, then failed: exit code 1" in face.lines[1]
    assert "It passed once and failed when it was run again" in str(
        requests(runtime)[2].messages[-1]["content"]
    )


async def test_files_that_were_deleted_or_lost_lines_are_named() -> None:
    Path("test_app.py").write_text("a\nb\nc\n")
    Path("test_more.py").write_text("a\n")
    Path("app.py").write_text("old\n")
    Path("other.py").write_text("old\n")
    weaken = "rm test_more.py; printf 'a\\n' > test_app.py; echo new > app.py; echo new > other.py; touch done"
    ended, face, _ = await pursue([run_of(weaken), "Passes."])
    assert [(count.name, count.before, count.after) for count in ended.lost] == [
        ("test_app.py", 3, 1),
        ("test_more.py", 1, None),
    ]
    assert ended.named == ("app.py",)
    assert face.lines[-1] == (
        "goal met · 1 turn · $0.00, and these files were deleted or lost lines: "
        "test_app.py (2 lines fewer), test_more.py (deleted) · changed, and named by the failing command: app.py"
    )


async def test_a_file_that_is_as_it_was_before_the_goal_is_not_named() -> None:
    Path("test_app.py").write_text("a\nb\n")
    replies = [
        run_of("rm test_app.py"),
        "Gone.",
        run_of("printf 'a\\nb\\n' > test_app.py; touch done"),
        "Back.",
    ]
    ended, _, _ = await pursue(replies)
    assert (ended.outcome, ended.lost) == (GoalOutcome.MET, ())


async def test_a_failed_turn_ends_the_goal_with_its_code() -> None:
    runtime = make_runtime([], mode="edits")
    run = make_goal(runtime)
    ended = await run.run()
    assert ended.outcome is GoalOutcome.FAILED
    assert isinstance(run.failure, TurnFailed)
    assert exit_code(ended, run.failure) == run.failure.exit_code


async def test_a_turn_that_the_model_refuses_ends_the_goal() -> None:
    ended, _, _ = await pursue([Reply("no", stop="refusal")])
    assert (ended.outcome, ended.turns) == (GoalOutcome.FAILED, 1)
    assert exit_code(ended, None) == 1


async def test_a_turn_that_reaches_its_limit_of_requests_is_followed_by_another() -> None:
    runtime = make_runtime([run_of("true"), run_of("touch done"), "x"], mode="edits", max_turns=1)
    ended = await make_goal(runtime).run()
    assert (ended.outcome, ended.turns) == (GoalOutcome.MET, 2)


async def test_a_command_that_may_not_run_ends_the_goal_before_it_costs_anything() -> None:
    runtime = make_runtime([], mode="edits", deny=("run(make*)",))
    run = make_goal(runtime, "make test")
    ended = await run.run()
    assert (ended.outcome, ended.reason) == (
        GoalOutcome.REFUSED,
        "The rule run(make*) forbids it.",
    )
    assert exit_code(ended, None) == 42
    assert requests(runtime) == []
    assert stored(runtime, "SELECT count(*) FROM message") == [(0,)]


async def test_in_mode_plan_no_goal_begins() -> None:
    runtime = make_runtime([], mode="plan")
    with pytest.raises(BadInput, match="In mode plan nothing is changed"):
        await make_goal(runtime).run()


async def test_a_text_is_refused_before_anything_is_stored() -> None:
    runtime = make_runtime([], mode="edits")
    with pytest.raises(UsageError, match="there is no program 'all'"):
        await make_goal(runtime, "all tests pass").run()
    assert stored(runtime, "SELECT count(*) FROM message") == [(0,)]


async def test_a_model_without_a_price_is_named_and_a_limit_that_was_set_is_refused() -> None:
    unpriced = ScriptedModel(["no"], offline=False)
    runtime = make_runtime(unpriced, mode="edits")
    if runtime.agent.model.profile.is_priced():
        pytest.skip("it has a price")
    run = make_goal(runtime, turns=1)
    await run.run()
    assert isinstance(run.face, RecordingFace)
    assert "only the limits of turns and minutes hold" in run.face.lines[0]
    stricter = Goal.read("--budget-usd 1 false", runtime.settings)
    with pytest.raises(BadInput, match="the limit of dollars cannot be kept"):
        await GoalRun(runtime, stricter, run.face).run()


async def test_a_cancelled_goal_shows_its_end_and_kills_the_command() -> None:
    runtime = make_runtime([], mode="edits")
    run = make_goal(runtime, "echo $$ > pid; sleep 60")
    task = asyncio.create_task(run.run())
    while not Path("pid").exists():
        await asyncio.sleep(0.02)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert isinstance(run.face, RecordingFace)
    assert run.face.lines[-1] == "goal stopped · 0 turns · $0.00"
    assert stored(runtime, "SELECT count(*) FROM message") == [(0,)]


async def test_a_full_disk_ends_the_goal_with_its_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    runtime = make_runtime(["no"] * 3, mode="edits")
    run = make_goal(runtime)
    take = runtime.sessions.store_query

    def store_once(query: str, **fields: Any) -> Any:
        if runtime.session.interactions:
            raise StoreError("The database cannot be written: disk full.")
        return take(query, **fields)

    monkeypatch.setattr(runtime.sessions, "store_query", store_once)
    ended = await run.run()
    assert (ended.outcome, ended.turns) == (GoalOutcome.FAILED, 1)
    assert "disk full" in ended.describe()


async def test_what_the_command_changes_before_the_first_turn_belongs_to_it() -> None:
    Path("log").write_text("begun\n")
    ended, _, runtime = await pursue(
        [run_of("touch done"), "Now."], "echo run >> log; test -f done"
    )
    assert ended.outcome is GoalOutcome.MET
    history = runtime.history
    assert history is not None
    first, last = history.goal_turns() or (0, 0)
    assert (first, last) == (1, 1)
    history.undo(first, ("files", "conversation", "window", "playbook"), history.plan(first))
    assert Path("log").read_text() == "begun\n"
    assert not Path("done").exists()
