"""Test the sandbox in whole turns: the settings, tasks, lines of the user's own, undo."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from swecli.app import Runtime
from tests.journeys.test_tasks import script_model, task
from tests.support.command_context import ScriptedContext
from tests.support.runtime import NO, User, calls, make_runtime, run_turn
from tests.support.shell import script, swecli


def skip_without_sandbox(runtime: Runtime) -> None:
    sandbox = runtime.agent.ctx.commands.sandbox
    assert sandbox is not None
    if sandbox.problem:
        runtime.close()
        pytest.skip(f"no sandbox on this machine: {sandbox.problem}")


async def test_undo_restores_what_a_command_in_the_sandbox_changed() -> None:
    Path("a.txt").write_text("one\n")
    command = calls(("run_command", {"command": "echo two > a.txt; echo x > b.txt"}))
    user = User([NO])
    runtime = make_runtime([command, "done"], user, mode="edits", reflect_with_model=False)
    skip_without_sandbox(runtime)
    await run_turn(runtime, "change it")
    assert user.asked == []
    assert Path("a.txt").read_text() == "two\n"
    await ScriptedContext(runtime).type("/undo")
    assert Path("a.txt").read_text() == "one\n"
    assert not Path("b.txt").exists()
    runtime.close()


async def test_commands_of_a_task_run_in_the_sandbox_too(tmp_path: Path) -> None:
    beside = tmp_path / "beside"
    command = calls(("run_command", {"command": f"echo in > made; echo x > {beside}"}))
    model = script_model([command, "Done."], [calls(task(tools=["run_command"])), "It is done."])
    runtime = make_runtime(model, User([NO]), mode="auto", reflect_with_model=False)
    skip_without_sandbox(runtime)
    await run_turn(runtime, "hand it out")
    assert Path("made").exists()
    assert not beside.exists()
    runtime.close()


async def test_a_line_that_the_user_types_runs_outside(tmp_path: Path) -> None:
    beside = tmp_path / "beside"
    runtime = make_runtime()
    await runtime.agent.toolkit.shell(f"echo x > {beside}")
    assert beside.exists()
    runtime.close()


async def test_with_the_setting_off_commands_run_as_the_user(tmp_path: Path) -> None:
    beside = tmp_path / "beside"
    command = calls(("run_command", {"command": f"echo x > {beside}"}))
    runtime = make_runtime([command, "done"], mode="auto", sandbox="off", reflect_with_model=False)
    await run_turn(runtime, "write it")
    assert beside.exists()
    assert "sandbox none, so commands run as you" in " ".join(
        (await ScriptedContext(runtime, width=300).type("/status")).split()
    )
    runtime.close()


@pytest.mark.slow
def test_a_run_leaves_nothing_of_its_commands_in_the_temporary_folder(tmp_path: Path) -> None:
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    runtime = make_runtime()
    skip_without_sandbox(runtime)
    runtime.close()
    command = {"name": "run_command", "arguments": {"command": "echo x > /tmp/kept; cat /tmp/kept"}}
    model = script("s.json", {"calls": [command]}, "Done.")
    environ = {"TMPDIR": str(temporary)}
    done = swecli("-p", "run", "-m", model, "--mode", "auto", environ=environ)
    assert (done.code, done.out) == (0, "Done.\n")
    assert list(temporary.iterdir()) == []


WITHOUT_NETWORKS = 'echo 0 > /proc/sys/user/max_net_namespaces; exec "$@"'


@pytest.mark.slow
@pytest.mark.parametrize("setting", ["auto", "off"])
def test_a_run_for_a_script_says_once_that_the_kernel_makes_no_sandbox(setting: str) -> None:
    unshare = ("unshare", "--user", "--map-root-user", "sh", "-c", WITHOUT_NETWORKS, "sh")
    if subprocess.run([*unshare, "true"], capture_output=True, check=False).returncode:
        pytest.skip("no user namespaces on this machine")
    commands = [{"name": "run_command", "arguments": {"command": text}} for text in ("ls", "pwd")]
    model = script("s.json", *({"calls": [command]} for command in commands), "Done.")
    environ = {"SWECLI_SANDBOX": setting}
    done = swecli("-p", "run", "-m", model, "--mode", "auto", environ=environ, before=unshare)
    assert (done.code, done.out) == (0, "Done.\n")
    said = [line for line in done.err.splitlines() if line.startswith("there is no sandbox")]
    assert len(said) == (setting == "auto")
    assert all("cannot make one: Creating new namespace failed" in line for line in said)
