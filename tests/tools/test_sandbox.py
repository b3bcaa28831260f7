"""Test how commands get into the sandbox and out of it: modes, rules, results, settings; with real sandboxes."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import tempfile
from collections.abc import Awaitable, Callable, Sequence
from contextlib import nullcontext, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from swecli.models.approval import Decision
from swecli.models.changed_files import ChangedFile
from swecli.models.message import ToolCall, ToolResult
from swecli.models.mode import Mode
from swecli.tools.base import ToolContext, ToolPlan
from swecli.tools.execute import execute
from swecli.tools.guard import Guard
from swecli.tools.permissions import Permissions
from swecli.tools.registry import ToolRegistry
from swecli.tools.run_inside import run_inside
from swecli.tools.sandbox import Sandbox, looks_denied, says_read_only
from tests.tools.conftest import Answers, make_run
from tests.tools.test_processes import has_ended

RunTool = Callable[..., Awaitable[ToolResult]]


@pytest.fixture
def sandbox(ctx: ToolContext, root: Path) -> Sandbox:
    """Let the commands of the context run in a sandbox; skip where there is none."""
    made = Sandbox("auto", root, ctx.commands.environ)
    if made.problem:
        pytest.skip(f"no sandbox on this machine: {made.problem}")
    ctx.commands.open_sandbox = lambda: made
    return made


def running(*argv: str) -> list[int]:
    """Return the processes with exactly these words."""
    wanted = "".join(f"{word}\0" for word in argv).encode()
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            with suppress(OSError):
                if (entry / "cmdline").read_bytes() == wanted:
                    found.append(int(entry.name))
    return found


class Recorder:
    """Counts the calls around which all files were looked at."""

    def __init__(self) -> None:
        self.scans = 0

    def around(self, paths: Sequence[str]) -> Any:
        self.scans += not paths
        return nullcontext([])

    def take_notices(self) -> list[str]:
        return []

    async def changed_files(
        self, session_id: str, number: int, *, is_cancelled: bool
    ) -> list[ChangedFile]:
        return []


@pytest.mark.parametrize("mode", ["edits", "auto"])
async def test_commands_run_without_a_question_in_the_sandbox_in_these_modes(
    run: RunTool,
    root: Path,
    permissions: Permissions,
    answers: Answers,
    sandbox: Sandbox,
    mode: Mode,
) -> None:
    permissions.mode = mode
    result = await run("run_command", command="echo x > made; echo x > /usr/swecli-made")
    assert answers.asked == []
    assert (root / "made").exists()
    assert not Path("/usr/swecli-made").exists()
    assert "Read-only file system" in result.for_model
    assert "send it again with access: outside" in result.for_model


async def test_in_mode_ask_the_question_says_that_a_command_runs_in_the_sandbox(
    run: RunTool, root: Path, answers: Answers, sandbox: Sandbox
) -> None:
    result = await run("run_command", command="touch made; touch /usr/swecli-made", access="write")
    assert "in the sandbox: no network, writes only here" in answers.asked[0].preview.title
    assert (root / "made").exists()
    assert not result.ok
    assert not Path("/usr/swecli-made").exists()


@pytest.mark.parametrize("mode", ["ask", "edits", "plan", "auto"])
async def test_what_only_reads_runs_where_nothing_can_be_written_in_every_mode(
    run: RunTool,
    ctx: ToolContext,
    permissions: Permissions,
    answers: Answers,
    sandbox: Sandbox,
    root: Path,
    mode: Mode,
) -> None:
    recorder = Recorder()
    ctx.files.changes = recorder
    permissions.mode = mode
    (root / "a.txt").write_text("found")
    result = await run("run_command", command="cat a.txt")
    assert "found" in result.for_model
    assert answers.asked == []
    assert recorder.scans == 0, "nothing can have changed"


async def test_a_command_that_wants_to_write_is_one_question(
    run: RunTool, root: Path, answers: Answers, sandbox: Sandbox
) -> None:
    result = await run("run_command", command="echo once >> log; echo made > made")
    [asked] = answers.asked
    assert asked.why == "writes to log"
    assert "writes only here" in asked.preview.title
    assert (result.ok, (root / "log").read_text()) == (True, "once\n"), (
        "the first try wrote nothing"
    )
    assert "Read-only" not in result.for_model


async def test_a_command_that_goes_on_after_a_refused_write_is_stopped_and_asked_about(
    run: RunTool, root: Path, answers: Answers, sandbox: Sandbox
) -> None:
    result = await run("run_command", command="touch made; cat made || sleep 60; echo done")
    [asked] = answers.asked
    assert "touch may change files" in asked.why
    assert (result.for_model, (root / "made").exists()) == ("exit code 0\ndone", True)


async def test_a_refused_command_that_wants_to_write_changes_nothing_and_says_so(
    run: RunTool, root: Path, answers: Answers, sandbox: Sandbox
) -> None:
    answers.decision = Decision(False, reason="not now")
    result = await run("run_command", command="ls -d .; touch made")
    assert (result.denied, (root / "made").exists()) == (True, False)
    assert "not now" in result.for_model


@pytest.mark.parametrize("mode", ["ask", "plan"])
@pytest.mark.parametrize(
    ("program", "command"),
    [
        ("pytest", "python3 -m pytest -q -p no:randomly test_it.py"),
        ("ruff", "ruff check test_it.py"),
        ("mypy", "mypy test_it.py"),
    ],
)
@pytest.mark.slow
async def test_checks_need_no_cache_in_the_workspace(
    run: RunTool,
    ctx: ToolContext,
    root: Path,
    permissions: Permissions,
    answers: Answers,
    sandbox: Sandbox,
    program: str,
    command: str,
    mode: Mode,
) -> None:
    scripts = Path(sys.executable).parent
    if not (scripts / program).exists():
        pytest.skip(f"{program} is not installed")
    ctx.commands.environ = {**os.environ, "PATH": f"{scripts}:{os.environ['PATH']}"}
    permissions.mode = mode
    (root / "test_it.py").write_text("def test_it() -> None:\n    assert 1\n")
    result = await run("run_command", command=command)
    assert result.ok, result.for_model
    assert "cache" not in result.for_model
    assert [path.name for path in root.iterdir()] == ["test_it.py"]
    assert answers.asked == []


async def test_plan_mode_tells_what_a_command_wanted_to_write(
    run: RunTool, root: Path, permissions: Permissions, answers: Answers, sandbox: Sandbox
) -> None:
    permissions.mode = "plan"
    result = await run("run_command", command="ls -d .; touch made")
    assert (answers.asked, (root / "made").exists()) == ([], False)
    assert "Plan mode is read-only" in result.for_model


@pytest.mark.parametrize("mode", ["edits", "auto"])
async def test_a_command_that_wants_to_write_is_run_again_where_it_may(
    run: RunTool,
    ctx: ToolContext,
    root: Path,
    permissions: Permissions,
    answers: Answers,
    sandbox: Sandbox,
    mode: Mode,
) -> None:
    recorder = Recorder()
    ctx.files.changes = recorder
    permissions.mode = mode
    assert (await run("run_command", command="touch made")).ok
    assert (answers.asked, (root / "made").exists(), recorder.scans) == ([], True, 1)


async def test_files_changed_in_the_sandbox_are_recorded_for_undo(
    run: RunTool, ctx: ToolContext, permissions: Permissions, sandbox: Sandbox
) -> None:
    recorder = Recorder()
    ctx.files.changes = recorder
    permissions.mode = "auto"
    await run("run_command", command="touch made")
    assert recorder.scans == 1


async def test_without_a_sandbox_also_what_only_reads_is_recorded_for_undo(
    run: RunTool, ctx: ToolContext
) -> None:
    recorder = Recorder()
    ctx.files.changes = recorder
    await run("run_command", command="ls")
    assert recorder.scans == 1


@pytest.mark.parametrize("mode", ["ask", "edits", "auto"])
async def test_a_command_outside_asks_in_every_mode_with_its_reason(
    run: RunTool,
    root: Path,
    permissions: Permissions,
    answers: Answers,
    sandbox: Sandbox,
    mode: Mode,
) -> None:
    permissions.mode = mode
    beside = root.parent / "beside"
    result = await run(
        "run_command", command=f"touch {beside}", access="outside", why="It installs a package."
    )
    assert result.ok
    assert beside.exists()
    [asked] = answers.asked
    assert "OUTSIDE the sandbox" in asked.preview.title
    assert "It installs a package." in asked.why
    assert asked.session_rules == (f"outside(touch {beside})",)
    assert asked.project_file == ""


async def test_a_rule_of_the_kind_outside_covers_what_its_words_name(
    ctx: ToolContext, sandbox: Sandbox
) -> None:
    permissions = Permissions(allow=["outside(npm install *)"])
    tool = ToolRegistry.discover()["run_command"]

    def decide(command: str) -> str:
        plan = ToolPlan("x", subject=command, outside="it needs the network")
        return permissions.decide(tool, plan, ctx).outcome

    assert decide("npm install left-pad") == "allow"
    assert decide("npm run build") == "ask"
    assert decide("npm install x && rm -r y") == "ask"
    assert decide("ls") == "ask"


async def test_a_command_outside_needs_a_reason_and_is_refused_in_plan_mode(
    run: RunTool, permissions: Permissions, answers: Answers, sandbox: Sandbox
) -> None:
    result = await run("run_command", command="ls", access="outside")
    assert "Give the reason in `why`" in result.for_model
    permissions.mode = "plan"
    assert (await run("run_command", command="ls", access="outside", why="x")).denied
    assert answers.asked == []


async def test_a_rule_of_the_kind_run_does_not_let_a_command_out(
    run: RunTool, root: Path, permissions: Permissions, answers: Answers, sandbox: Sandbox
) -> None:
    beside = root.parent / "beside"
    command = f"touch {beside}"
    permissions.allow_for_session(f"run({command})")
    answers.decision = Decision(False)
    assert not (await run("run_command", command=command)).denied
    assert not beside.exists()
    assert (await run("run_command", command=command, access="outside", why="x")).denied
    permissions.allow_for_session(f"outside({command})")
    assert (await run("run_command", command=command, access="outside", why="x")).ok
    assert beside.exists()


async def test_deny_and_ask_rules_hold_for_commands_outside_too(
    ctx: ToolContext, answers: Answers, sandbox: Sandbox
) -> None:
    async def outside(command: str, **rules: Any) -> ToolResult:
        call = ToolCall(
            "call-1", "run_command", {"command": command, "access": "outside", "why": "to see"}
        )
        found = await execute(call, ToolRegistry.discover(), ctx, Permissions(**rules), answers)
        return found[0]

    assert (await outside("git push", deny=["run(git push*)"], allow=["outside"])).denied
    assert (await outside("git push", deny=["outside"], allow=["outside(git push)"])).denied
    assert answers.asked == []
    answers.decision = Decision(False)
    await outside("make x", ask=["run(make*)"], allow=["outside(make *)"])
    assert len(answers.asked) == 1


async def test_a_background_command_and_what_it_starts_end_with_the_job(
    run: RunTool, ctx: ToolContext, permissions: Permissions, sandbox: Sandbox
) -> None:
    permissions.mode = "auto"
    await run("run_command", command="setsid sleep 4217 & sleep 4217", background=True)
    pids: list[int] = []
    while len(pids) < 2:
        await asyncio.sleep(0.05)
        pids = running("sleep", "4217")
    await ctx.commands.jobs.close()
    assert [await has_ended(pid) for pid in pids] == [True, True]


async def test_a_command_that_is_stopped_can_clean_up(
    run: RunTool, root: Path, permissions: Permissions, sandbox: Sandbox
) -> None:
    permissions.mode = "auto"
    command = "trap 'rm lock; exit' TERM; touch lock made; while :; do sleep 0.05; done"
    result = await run("run_command", command=command, timeout=3)
    assert result.exit_code == 124
    assert (root / "made").exists()
    assert not (root / "lock").exists()


async def test_commands_share_one_private_tmp(
    run: RunTool, permissions: Permissions, sandbox: Sandbox
) -> None:
    permissions.mode = "auto"
    await run("run_command", command="echo kept > /tmp/swecli-note")
    assert "kept" in (await run("run_command", command="cat /tmp/swecli-note; true")).for_model
    assert not Path("/tmp/swecli-note").exists()


async def test_programs_on_the_path_run_from_a_temporary_folder_and_cannot_be_changed(
    root: Path,
) -> None:
    with tempfile.TemporaryDirectory(dir="/tmp") as name:
        home = Path(name)
        program = home / "tool" / "bin" / "greet"
        program.parent.mkdir(parents=True)
        program.write_text('#!/bin/sh\n. "${0%/*}/../words"; echo "$WORD"\n')
        program.chmod(0o755)
        (home / "tool" / "words").write_text("WORD=hello\n")
        (home / ".netrc").write_text("password kept\n")
        path = f"{program.parent}:{os.environ['PATH']}"
        sandbox = Sandbox("auto", root, {"PATH": path, "HOME": name})
        if sandbox.problem:
            pytest.skip(f"no sandbox on this machine: {sandbox.problem}")
        output = bytearray()
        script = f"greet; cat {name}/.netrc; echo x > {name}/tool/words"
        await run_inside(
            sandbox,
            Guard(sandbox.root),
            "workspace",
            ["/bin/bash", "-c", script],
            env={"PATH": path},
            timeout=20,
            on_output=output.extend,
        )
        assert output.decode().splitlines()[0] == "hello"
        assert b"kept" not in output
        assert (home / "tool" / "words").read_text() == "WORD=hello\n"


async def test_a_command_that_misses_a_file_at_home_is_told_that_home_is_hidden(
    run: RunTool, root: Path, ctx: ToolContext
) -> None:
    home = root.parent / "ada"
    home.mkdir()
    (home / "notes").touch()
    ctx.commands.environ = {**os.environ, "HOME": str(home)}
    sandbox = Sandbox("auto", root, ctx.commands.environ)
    ctx.commands.open_sandbox = lambda: sandbox
    if sandbox.problem:
        pytest.skip(f"no sandbox on this machine: {sandbox.problem}")
    result = await run("run_command", command="cat ~/notes")
    assert "the home folder hidden" in result.for_model
    assert "hidden" not in (await run("run_command", command="cat notes")).for_model


async def test_git_commits_in_a_linked_work_tree(
    root: Path, permissions: Permissions, answers: Answers, ctx: ToolContext, sandbox: Sandbox
) -> None:
    def git(*words: str, at: Path) -> None:
        author = ["-c", "user.name=a", "-c", "user.email=a@b"]
        subprocess.run(["git", *author, *words], cwd=at, check=True, capture_output=True)

    git("init", "-q", at=root)
    git("commit", "-q", "--allow-empty", "-m", "first", at=root)
    tree = root.parent / "tree"
    git("worktree", "add", "-q", str(tree), at=root)
    sandbox = Sandbox("auto", tree, ctx.commands.environ)
    ctx.commands.open_sandbox = lambda: sandbox
    run = make_run(replace(ctx, root=tree), permissions, answers)
    permissions.mode = "auto"
    for command in ("git status", "git log -1"):
        assert (await run("run_command", command=command)).ok
    commit = "git -c user.name=a -c user.email=a@b commit -q --allow-empty -m second"
    assert (await run("run_command", command=commit)).ok
    hook = await run("run_command", command=f"echo evil > {root}/.git/hooks/pre-commit")
    assert not hook.ok


async def test_a_work_tree_that_names_a_foreign_folder_does_not_open_it(
    run: RunTool, root: Path, permissions: Permissions, sandbox: Sandbox
) -> None:
    foreign = root.parent / "foreign"
    foreign.mkdir()
    (foreign / "commondir").write_text(".")
    (foreign / "gitdir").write_text("/somewhere/else/.git")
    (root / ".git").write_text(f"gitdir: {foreign}\n")
    permissions.mode = "auto"
    await run("run_command", command=f"touch {foreign}/made")
    assert not (foreign / "made").exists()


@pytest.mark.parametrize("setting", ["off", "required", "auto"])
async def test_the_root_of_the_file_system_has_no_sandbox(ctx: ToolContext, setting: str) -> None:
    made = Sandbox(setting, Path("/"), ctx.commands.environ)
    assert not made.is_active
    assert made.describe().startswith("none, so commands run as you")
    assert bool(made.refusal) == (setting == "required")


async def test_required_refuses_every_command_where_there_is_no_sandbox(
    run: RunTool, ctx: ToolContext, answers: Answers
) -> None:
    sandbox = Sandbox("required", Path("/"), ctx.commands.environ)
    ctx.commands.open_sandbox = lambda: sandbox
    for command in ("ls", "touch made"):
        result = await run("run_command", command=command)
        assert result.for_model.startswith("The setting sandbox is required, and there is none:")
        assert "\n" not in result.for_model
    assert answers.asked == []


async def test_without_a_sandbox_outside_changes_nothing(
    run: RunTool, root: Path, permissions: Permissions, answers: Answers
) -> None:
    permissions.mode = "auto"
    assert (await run("run_command", command="touch made", access="outside", why="x")).ok
    assert answers.asked == []
    permissions.mode = "edits"
    await run("run_command", command="touch made")
    assert len(answers.asked) == 1


async def test_a_program_in_the_workspace_does_not_make_the_sandbox(root: Path) -> None:
    (root / "bwrap").write_text("#!/bin/sh\ntouch fooled\n")
    (root / "bwrap").chmod(0o755)
    made = Sandbox("auto", root, {"PATH": str(root)})
    made.describe()
    assert not (root / "fooled").exists()


def test_a_failure_by_the_sandbox_is_told_from_others() -> None:
    assert looks_denied("touch: cannot touch 'x': Read-only file system")
    assert looks_denied("npm error code EROFS")
    assert looks_denied("curl: (6) Could not resolve host: example.org")
    assert not looks_denied("AssertionError: 1 != 2")


def test_a_refused_write_is_told_from_a_warning_of_one() -> None:
    assert says_read_only("touch: cannot touch 'x': Read-only file system")
    assert says_read_only("npm error code EROFS\nnpm error syscall open")
    assert says_read_only("OSError: [Errno 30] Read-only file system: 'out.txt'")
    assert says_read_only("[Errno 30] Read-only file system: '__pycache__/a.cpython-311.pyc'")
    assert says_read_only("error: Failed to write y.py: Read-only file system (os error 30)")
    warning = "cacheprovider.py:9: PytestCacheWarning: could not create cache path .pytest_cache"
    assert not says_read_only(f"{warning}: [Errno 30] Read-only file system: 'x'")
