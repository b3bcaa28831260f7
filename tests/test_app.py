"""Test building the runtime: each part once, and notices for the user."""

from __future__ import annotations

import gc
import weakref
from pathlib import Path

import pytest

from swecli.app import Runtime, settle
from swecli.config.project_files import read_project_files
from swecli.context.budget import _LEAN_WINDOW
from swecli.models.errors import BadInput
from swecli.models.window_spec import WindowSpec
from tests.support.runtime import calls, make_runtime, run_turn
from tests.support.scripted import ScriptedModel


def test_a_permission_rule_that_can_never_apply_is_reported() -> None:
    runtime = make_runtime(deny=("rnu(rm*)", "run(rm*)"))
    assert [line for line in runtime.notices if "rnu" in line] == [
        "the permission rule rnu(rm*) can never apply"
    ]


def test_a_rule_that_cannot_be_read_is_named_with_its_layer_and_the_start_goes_on() -> None:
    runtime = make_runtime(
        allow=("(",), deny=("rm *",), origins={"deny: rm *": "/home/me/config.toml"}
    )
    allow, deny = (line for line in runtime.notices if "IGNORED" in line)
    assert allow.startswith("settings: invalid allow rule '(' is IGNORED")
    assert deny.startswith("/home/me/config.toml: invalid deny rule 'rm *' is IGNORED")
    assert deny.endswith("Until it is corrected, every mode asks")


def test_what_was_allowed_for_the_folder_is_in_force_again_and_only_there(tmp_path: Path) -> None:
    runtime = make_runtime()
    runtime.agent.permissions.allow_for_project("run(make *)")
    assert [rule.text for rule in make_runtime().agent.permissions.project] == ["run(make *)"]
    assert [path.name for path in runtime.cwd.rglob("permissions.toml")] == []
    file = runtime.start.paths.permissions
    file.write_text("[")
    assert any(str(file) in line and "are ignored" in line for line in make_runtime().notices)


def test_a_session_that_is_not_there_ends_the_start_with_a_line() -> None:
    with pytest.raises(BadInput):
        make_runtime(resume="nothing-like-it")


async def test_a_new_session_leaves_the_old_one_as_it_is() -> None:
    runtime = make_runtime(["One."])
    await run_turn(runtime, "first")
    runtime.new_session("second")
    assert runtime.sessions.current_session is not None
    assert runtime.sessions.current_session.messages == []
    assert [row.interactions for row in runtime.sessions.catalog.list_sessions()] == [1]


@pytest.mark.slow
async def test_a_larger_window_brings_back_what_was_not_loaded() -> None:
    first = make_runtime(lambda request: "Yes.")
    for number in range(20):
        await run_turn(first, f"question {number}", learn=False)
    first.close()
    again = make_runtime(["And?"], resume="")
    again.sessions.set_window(WindowSpec(mode="full"))
    assert again.agent.prepare("now").request.window == (1, 20)


def system_message(runtime: Runtime) -> str:
    """Return the system message of the next request."""
    return str(runtime.agent.prepare("x").messages[0]["content"])


def test_instructions_are_used_once_the_folder_is_trusted() -> None:
    Path("AGENTS.md").write_text("Answer in verse.\n")
    runtime = make_runtime()
    assert "Answer in verse." not in system_message(runtime)
    assert any("not trusted" in line for line in runtime.notices)
    runtime.trust_files(read_project_files(runtime.cwd))
    assert "Answer in verse." in system_message(runtime)
    assert "Answer in verse." in system_message(make_runtime())


async def test_the_to_do_list_is_that_of_the_session_in_use() -> None:
    steps = [{"text": "look", "status": "done"}, {"text": "write"}]
    replies = [calls(("todo", {"items": steps})), calls(("todo", {"items": [{}]}))]
    runtime = make_runtime(replies)
    await run_turn(runtime, "plan it")  # it fails before an answer, which would end the list
    first = runtime.sessions.current_session
    assert first is not None
    open_steps = list(runtime.agent.ctx.todos)
    assert [one["status"] for one in open_steps] == ["done", "pending"]
    runtime.new_session()
    assert runtime.agent.ctx.todos == []
    runtime.resume(first.id)
    assert runtime.agent.ctx.todos == open_steps, "the refused call returned no list"
    runtime.close()


async def test_skills_are_listed_and_read_once_the_folder_is_trusted() -> None:
    file = Path(".agents/skills/poems/SKILL.md")
    file.parent.mkdir(parents=True)
    file.write_text("---\nname: poems\ndescription: For poems.\n---\nRhyme.\n")
    model = ScriptedModel(["Hello.", calls(("skill", {"name": "poems"})), "A poem."])
    runtime = make_runtime(model)
    assert any("not trusted" in line for line in runtime.notices)
    await run_turn(runtime, "hello")
    runtime.trust_files(read_project_files(runtime.cwd))
    await run_turn(runtime, "a poem please")
    before, after, last = model.requests
    assert "skill" not in [tool.name for tool in before.tools]
    assert "poems" not in str(before.messages)
    assert "skill" in [tool.name for tool in after.tools]
    assert "- poems: For poems." in str(after.messages[0]["content"])
    assert "Rhyme." in str(last.messages[-1]["content"])
    runtime.close()


def test_a_small_window_has_no_skills() -> None:
    file = Path.home() / ".agents/skills/poems/SKILL.md"
    file.parent.mkdir(parents=True)
    file.write_text("---\nname: poems\ndescription: For poems.\n---\nRhyme.\n")
    small = make_runtime(ScriptedModel(context_window=_LEAN_WINDOW))
    assert "poems" not in system_message(small)
    assert "poems" in system_message(make_runtime(ScriptedModel()))


def test_warming_up_stores_nothing() -> None:
    runtime = make_runtime(["done"])
    runtime.agent.warm()
    assert runtime.sessions.catalog.list_sessions() == []


def test_garbage_of_turns_is_collected_once_the_program_is_loaded() -> None:
    class Circle:
        own: Circle

    thresholds = gc.get_threshold()
    runtime = make_runtime(["x"])
    gc.set_threshold(250_000, 20, 50)
    try:
        settle()
        circle = Circle()
        circle.own = circle
        there = weakref.ref(circle)
        del circle
        kept = [[number] for number in range(2_000)]
        assert (len(kept), there()) == (2_000, None)
    finally:
        gc.set_threshold(*thresholds)
        runtime.close()
