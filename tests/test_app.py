"""What is built at the start: everything once, and a line for what the user should know."""

from __future__ import annotations

from pathlib import Path

import pytest

from swecli.models.errors import BadInput, ConfigError
from swecli.models.window import WindowSpec
from tests.support.runtime import make_runtime, run_turn


def test_a_permission_rule_that_can_never_apply_is_said() -> None:
    runtime = make_runtime(deny=("rnu(rm*)", "run(rm*)"))
    assert [line for line in runtime.notices if "rnu" in line] == ["the permission rule rnu(rm*) can never apply"]


def test_a_rule_that_is_none_ends_the_start_with_a_line() -> None:
    with pytest.raises(ConfigError, match="is not a permission rule"):
        make_runtime(allow=("(",))


def test_a_session_that_is_not_there_ends_the_start_with_a_line() -> None:
    with pytest.raises(BadInput):
        make_runtime(resume="nothing-like-it")


async def test_a_new_session_leaves_the_old_one_as_it_is() -> None:
    runtime = make_runtime(["One."])
    await run_turn(runtime, "first")
    runtime.new_session("second")
    assert runtime.sessions.current_session is not None
    assert runtime.sessions.current_session.messages == []
    assert [row.interactions for row in runtime.sessions.list_sessions()] == [1]


async def test_a_larger_window_brings_back_what_was_not_loaded() -> None:
    first = make_runtime(lambda request: "Yes.")
    for number in range(20):
        await run_turn(first, f"question {number}", learn=False)
    first.close()
    again = make_runtime(["And?"], resume="")
    again.set_window(WindowSpec(mode="full"))
    assert again.agent.prepare("now").prepared.window == (1, 20)


def test_instructions_are_used_once_the_folder_is_trusted() -> None:
    Path("AGENTS.md").write_text("Answer in verse.\n")
    runtime = make_runtime()
    assert runtime.agent.composer.instructions == ""
    assert any("not trusted" in line for line in runtime.notices)
    runtime.trust_folder()
    assert "Answer in verse." in runtime.agent.composer.instructions
    assert "Answer in verse." in make_runtime().agent.composer.instructions
