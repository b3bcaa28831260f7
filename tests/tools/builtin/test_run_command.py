"""Test the tool `run_command`."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from swecli.models.message import ToolResult
from swecli.tools.base import ToolContext
from swecli.tools.commands.rules import why_uncovered
from swecli.tools.guard import Guard
from swecli.tools.limits import strip_terminal_codes
from tests.tools.conftest import Answers

RunTool = Callable[..., Awaitable[ToolResult]]


async def test_the_result_has_output_and_exit_code_of_a_command_run_in_the_workspace(
    run: RunTool, root: Path
) -> None:
    result = await run("run_command", command="pwd; echo problem >&2; exit 3")
    assert not result.ok
    assert result.exit_code == 3
    assert result.for_model == f"exit code 3\n{root}\nproblem"
    assert result.for_user.title == "pwd; echo problem >&2; exit 3: exit code 3"
    assert (await run("run_command", command="true")).for_model == "exit code 0\n(no output)"
    assert "(SIGKILL)" in (await run("run_command", command="kill -KILL $$")).for_model


async def test_output_is_reported_while_the_command_runs(run: RunTool, reported: list[str]) -> None:
    await run("run_command", command="echo one; sleep 0.2; echo two")
    assert len(reported) == 2
    assert "".join(reported) == "one\ntwo\n"


@pytest.mark.slow
async def test_a_command_is_stopped_at_the_time_limit_and_its_output_kept(run: RunTool) -> None:
    result = await run("run_command", command="echo begun; sleep 300", timeout=1)
    assert not result.ok
    assert result.exit_code == 124
    assert result.for_model.startswith("stopped: it took longer than 1 s")
    assert result.for_model.endswith("begun")


def test_a_pipe_or_device_is_not_read_without_approval(root: Path) -> None:
    os.mkfifo(root / "pipe")
    for command in ("cat pipe", "cat p*", "head -1 pipe", "sort < pipe"):
        assert why_uncovered(command, Guard(root), os.environ)


async def test_processes_left_in_the_background_are_ended_and_reported(run: RunTool) -> None:
    result = await run("run_command", command="sleep 300 & echo started")
    assert result.ok
    assert "left running in the background were ended" in result.for_model


async def test_of_a_huge_output_head_and_tail_are_kept(run: RunTool, reported: list[str]) -> None:
    result = await run("run_command", command="seq 1 2000000; echo last")
    assert len(result.for_model) < 1_100_000
    assert "\n1\n2\n" in result.for_model
    assert result.for_model.endswith("2000000\nlast")
    assert "characters of output were not kept" in result.for_model
    head = result.for_model[:300]
    assert (
        "[printed: 14,888,901 characters, 2,000,001 lines; kept: the first and last 1,000," in head
    )
    assert sum(map(len, reported)) < 5_000_000


async def test_commands_get_no_pager_no_input_and_no_keys_of_models(
    run: RunTool, ctx: ToolContext
) -> None:
    ctx.commands.environ = {"PATH": "/usr/bin:/bin", "OPENAI_API_KEY": "sk-secret", "MINE": "kept"}
    result = await run(
        "run_command",
        command='read x || echo "no input"; echo "$PAGER $GIT_PAGER $TERM $MINE"; env',
    )
    assert "no input\ncat cat dumb kept\n" in result.for_model
    assert "sk-secret" not in result.for_model


async def test_the_approval_shows_the_whole_command_with_hidden_characters_escaped(
    run: RunTool, answers: Any
) -> None:
    command = "echo a\necho \u202eb\x1b[8m" + "x" * 500
    await run("run_command", command=command)
    preview = answers.asked[0].preview
    assert preview.body == "echo a\necho \\u202eb\\x1b[8m" + "x" * 500
    assert (preview.kind, preview.language) == ("code", "bash")


@pytest.mark.parametrize(
    "command",
    [
        "./go.sh",
        "bash go.sh",
        "bash -e go.sh arg",
        "true && ./go.sh",
        "env sh go.sh",
        "true\n./go.sh",
        "true;./go.sh",
        "true&./go.sh",
        "(./go.sh)",
        "MODE=1 ./go.sh",
        "MODE=1 bash go.sh",
        "timeout 9 bash -x ./go.sh",
        "bash < go.sh",
        "bash<go.sh",
        "cat go.sh | sh",
        "echo $(./go.sh)",
        "bash -c 'true; ./go.sh'",
        "for file in g*.sh; do sh $file; done",
        "if true; then ./go.sh; fi",
        "SCRIPT=go.sh; sh $SCRIPT",
        "sh $PWD/go.sh",
        'sh "$(pwd)/go.sh"',
        "sh g'o.s'h",
        "sh <<END\n./go.sh\nEND",
        "cd sub && ../go.sh",
        "find . -name go.sh -exec sh {} ';'",
        "some-runner go.sh; sh go.sh",
    ],
)
async def test_a_script_changed_during_the_approval_is_not_run(
    run: RunTool,
    root: Path,
    answers: Any,
    command: str,
) -> None:
    (root / "sub").mkdir()
    (root / "go.sh").write_text("echo harmless > made\n")
    (root / "go.sh").chmod(0o755)

    answers.meanwhile = lambda: (root / "go.sh").write_text("echo evil > made\n")
    result = await run("run_command", command=command)
    assert "changed after the command was approved: go.sh. Nothing ran" in result.for_model
    assert list(root.rglob("made")) == []


@pytest.mark.parametrize(
    ("command", "script"),
    [
        ("cd sub && ./go.sh", "sub/go.sh"),
        ("cd sub\nsh go.sh", "sub/go.sh"),
        ("pushd sub;./go.sh", "sub/go.sh"),
        ("D=sub; sh $D/go.sh", "sub/go.sh"),
        ("cd sub && cd deep && sh go.sh", "sub/deep/go.sh"),
        ("sh 'two words.sh'", "two words.sh"),
        ("sh two\\ words.sh", "two words.sh"),
        ("make", "Makefile"),
        ("true;make -s all", "Makefile"),
        ("make -f other.mk", "other.mk"),
        ("make -fother.mk", "other.mk"),
        ("make --file=other.mk", "other.mk"),
        ("make -C sub", "sub/Makefile"),
        ("make -Csub", "sub/Makefile"),
        ("cd sub && make", "sub/Makefile"),
        ("npm --prefix sub run build", "sub/package.json"),
    ],
)
async def test_a_script_is_found_where_a_command_looks_for_it(
    run: RunTool, root: Path, answers: Any, command: str, script: str
) -> None:
    path = root / script
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("all:\n\techo harmless > made\n")
    path.chmod(0o755)

    answers.meanwhile = lambda: path.write_text("all:\n\techo evil > made\n")
    result = await run("run_command", command=command)
    assert f"changed after the command was approved: {script}. Nothing ran" in result.for_model
    assert list(root.rglob("made")) == []


async def test_a_script_that_came_during_the_approval_is_not_run(
    run: RunTool, root: Path, answers: Any
) -> None:
    (root / "Makefile").write_text("all:\n\techo harmless > made\n")
    answers.meanwhile = lambda: (root / "GNUmakefile").write_text("all:\n\techo evil > made\n")
    result = await run("run_command", command="make")
    assert "approved: GNUmakefile. Nothing ran" in result.for_model
    assert not (root / "made").exists()


@pytest.mark.parametrize("command", ["tail -1 log; true > made", "echo made > made 2>> log"])
async def test_a_log_that_grows_during_the_approval_stops_no_command(
    run: RunTool, root: Path, answers: Answers, command: str
) -> None:
    (root / "log").write_text("first\n")
    answers.meanwhile = lambda: (root / "log").write_text("first\nsecond\n")
    result = await run("run_command", command=command)
    assert answers.asked
    assert result.ok, result.for_model
    assert (root / "made").exists()


async def test_invalid_commands_and_time_limits_are_refused(run: RunTool) -> None:
    for command in ("", "  \n", "a\0b"):
        assert not (await run("run_command", command=command)).ok
    assert not (await run("run_command", command="ls", timeout=0)).ok
    assert not (await run("run_command", command="echo \ud800")).ok


def test_escape_sequences_and_overwritten_lines_are_removed_from_output() -> None:
    assert strip_terminal_codes("\x1b[1;31mred\x1b[0m\r\nplain\x1b]0;title\x07\n") == "red\nplain\n"
    assert strip_terminal_codes(" 10%\r 50%\r100%\ndone\r\n") == "100%\ndone\n"
    assert strip_terminal_codes("same\r\r\n") == "same\n"


@given(st.text(alphabet="ab\r\n\x1b[;m0", max_size=40))
def test_output_contains_no_carriage_return(text: str) -> None:
    assert "\r" not in strip_terminal_codes(text)


@pytest.mark.parametrize(
    ("command", "head"),
    [
        ("false | cat", "exit code 0 (false 1, cat 0)"),
        ("cd . && sh -c 'exit 3' 2>&1 | tail -2", "exit code 0 (sh 3, tail 0)"),
        ("true | false", "exit code 1 (true 0, false 1)"),
        ("echo a | cat; exit 5", "exit code 5"),
        ("echo a || echo b", "exit code 0"),
        ("echo 'a | b'", "exit code 0"),
        ("for i in 1; do false; done | cat", "exit code 0 (program-1 1, cat 0)"),
        ("TABLES=dev sh -c 'exit 3' 2>&1 | tail -2", "exit code 0 (sh 3, tail 0)"),
        ("FILE=$(pwd) false | cat > /dev/null", "exit code 0 (false 1, cat 0)"),
    ],
)
async def test_each_program_of_the_last_pipeline_has_its_own_status(
    run: RunTool, command: str, head: str
) -> None:
    result = await run("run_command", command=command)
    assert result.for_model.splitlines()[0] == head


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="the kernel's help is Linux's")
def test_a_process_that_cannot_be_ended_is_named() -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can make a program that leaves a process of another user")
    done = subprocess.run(
        [sys.executable, "-m", "tests.support.unstoppable", "nobody"],
        cwd=Path(__file__).parents[3],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    if done.returncode and done.stderr.startswith("no "):
        pytest.skip(done.stderr.strip())
    assert done.returncode == 0, done.stderr
    (row,) = json.loads(done.stdout)
    pattern = r"exit code 0\n\[still running, because it could not be ended: sleep \(process \d+\)\]\ndone"
    assert re.fullmatch(pattern, row["result"])
