"""Test what can be the command of a goal, and its runs."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from swecli.agent.goal_command import GoalCommand, require_command
from swecli.app import Runtime
from swecli.models.approval import Decision
from swecli.models.errors import UsageError
from tests.support.runtime import User, make_runtime


@pytest.mark.parametrize(
    "line",
    [
        "sh check.sh",
        "./check.sh --all",
        "cd sub && make",
        "! grep -q TODO notes",
        "LANG=C sh check.sh | tail -1",
        "[ -f done ]",
        "test -f done",
        "for f in *.sh; do sh $f; done",
    ],
)
async def test_a_command_is_taken(line: str) -> None:
    Path("check.sh").write_text("#!/bin/sh\n")
    Path("check.sh").chmod(0o755)
    await require_command(line, Path.cwd(), os.environ)


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("", "The goal is empty."),
        ("  ", "The goal is empty."),
        ("until the page looks right", "not a command that a shell can read"),
        ("the page's title is right", "not a command that a shell can read"),
        ("all tests pass", "there is no program 'all'"),
        ("./missing.sh", r"there is no program '\./missing.sh'"),
        ("# nothing", "The goal has no command."),
    ],
)
async def test_a_text_is_refused_with_what_a_goal_is(line: str, problem: str) -> None:
    with pytest.raises(UsageError, match=problem) as raised:
        await require_command(line, Path.cwd(), os.environ)
    assert "/goal pytest -q" in raised.value.hint


@pytest.fixture
def runtime() -> Runtime:
    return make_runtime(mode="ask", command_timeout=1)


def make_command(runtime: Runtime, line: str, *answers: Decision) -> tuple[GoalCommand, User]:
    user = User(list(answers) or [Decision(False)])
    return GoalCommand(runtime.agent, line, user), user


async def test_the_mode_does_not_ask_about_the_users_own_command(runtime: Runtime) -> None:
    command, user = make_command(runtime, "echo begins; echo 'it fails:'; echo ---; exit 3")
    run = await command.run()
    assert (run.passed, run.exit_code, run.line) == (False, 3, "it fails:")
    assert run.text.startswith("exit code 3\nbegins\n")
    assert user.asked == []


async def test_a_command_without_output_is_described_by_its_code(runtime: Runtime) -> None:
    command, _ = make_command(runtime, "exit 7")
    assert (await command.run()).line == "exit code 7"


async def test_a_rule_asks_once_for_all_runs() -> None:
    runtime = make_runtime(mode="auto", ask=("run(rm*)",))
    command, user = make_command(runtime, "rm -rf build; test -f done", Decision(True))
    assert not (await command.run()).passed
    Path("done").touch()
    assert (await command.run()).passed
    assert len(user.asked) == 1
    assert "run(rm*)" in user.asked[0].why


async def test_a_no_to_that_question_is_kept_too() -> None:
    runtime = make_runtime(mode="auto", ask=("run(rm*)",))
    command, user = make_command(runtime, "rm -rf build", Decision(False, reason="never"))
    assert (await command.run()).refusal == "never"
    assert (await command.run()).refusal == "never"
    assert len(user.asked) == 1


async def test_a_deny_rule_refuses_the_command() -> None:
    runtime = make_runtime(mode="auto", deny=("run(make*)",))
    command, user = make_command(runtime, "make test")
    run = await command.run()
    assert not run.passed
    assert run.refusal == "The rule run(make*) forbids it."
    assert user.asked == []


async def test_while_a_deny_rule_cannot_be_read_the_user_is_asked() -> None:
    runtime = make_runtime(mode="auto", deny=("run(",))
    command, user = make_command(runtime, "touch done", Decision(True))
    assert (await command.run()).passed
    assert len(user.asked) == 1


async def test_a_command_that_hangs_is_stopped_and_says_so(runtime: Runtime) -> None:
    command, _ = make_command(runtime, "echo waiting; sleep 60")
    run = await command.run()
    assert not run.passed
    assert run.line.startswith("stopped: it took longer than 1 s")
    assert "waiting" in run.text


async def test_a_command_that_asks_gets_no_input(runtime: Runtime) -> None:
    command, _ = make_command(runtime, "read -r name && echo hello $name")
    assert not (await command.run()).passed


async def test_a_flood_of_output_is_kept_to_its_head_and_tail(runtime: Runtime) -> None:
    command, _ = make_command(
        runtime, "echo first; head -c 50000000 /dev/zero | tr '\\0' x; echo; echo last; exit 1"
    )
    runtime.agent.ctx.commands.timeout = 60
    run = await command.run()
    assert run.line == "last"
    assert len(run.text) < 31_000
    assert "first" in run.text
    assert "were not kept" in run.text
    assert run.text.endswith("last")


async def test_what_needs_the_network_says_so_as_other_commands_do(runtime: Runtime) -> None:
    if not runtime.agent.ctx.commands.sandbox or not runtime.agent.ctx.commands.sandbox.is_active:
        pytest.skip("there is no sandbox here")
    code = "import urllib.request as u; u.urlopen('http://192.0.2.1/', timeout=1)"
    command, _ = make_command(runtime, f'python3 -c "{code}"')
    runtime.agent.ctx.commands.timeout = 30
    run = await command.run()
    assert run.is_confined
    assert "this ran in the sandbox: no network" in run.text
