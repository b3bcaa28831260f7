"""Test that the model is told which files a command changed, and how old a list of open steps is."""

from __future__ import annotations

from pathlib import Path

from swecli.models.window_spec import WindowSpec
from tests.support.runtime import calls, make_runtime, run_turn
from tests.support.scripted import ScriptedModel


async def run_commands(*commands: str) -> list[str]:
    """Run each command as a call of the model; return the results that it got."""
    model = ScriptedModel(
        [*(calls(("run_command", {"command": one})) for one in commands), "Done."]
    )
    runtime = make_runtime(model, mode="auto")
    await run_turn(runtime, "go on", learn=False)
    made = [call for message in runtime.sessions.session.messages for call in message.tool_calls]
    runtime.close()
    return [call.result or "" for call in made]


async def test_the_files_that_a_command_changed_are_named_in_its_result() -> None:
    Path("old.txt").write_text("x\n")
    Path("gone.txt").write_text("x\n")
    [result] = await run_commands("mkdir sub; echo y > sub/new.txt; echo z >> old.txt; rm gone.txt")
    assert result.endswith("[files that differ now: gone.txt, old.txt, sub/new.txt]")


async def test_a_command_that_changes_nothing_has_no_such_line() -> None:
    Path("old.txt").write_text("x\n")
    results = await run_commands("cat old.txt", "python3 -c 'print(1)'", "touch old.txt")
    assert not [result for result in results if "differ" in result]


async def test_of_many_changed_files_ten_are_named() -> None:
    [result] = await run_commands("for i in $(seq 10 30); do echo x > f$i; done")
    assert result.endswith("f18, f19 and 11 more]")
    assert "[files that differ now: f10, f11," in result


async def test_a_list_of_open_steps_says_of_which_turn_it_is() -> None:
    items = [{"text": "write the tests", "status": "pending"}]
    model = ScriptedModel(
        ["One.", calls(("todo", {"items": items})), ValueError("stopped here"), "Three.", "Four."]
    )
    runtime = make_runtime(model, window=WindowSpec(1))
    await run_turn(runtime, "first", learn=False)
    await run_turn(runtime, "second", learn=False)
    runtime.agent.begin_epoch("for this test")
    sent = runtime.agent.prepare("third").messages[0]["content"]
    assert "Steps still open:\n  - write the tests (list of T2)" in str(sent)
    runtime.close()
