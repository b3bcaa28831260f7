"""Test `swecli -p` as scripts use it: real processes with their streams, signals and exit codes."""

from __future__ import annotations

import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from swecli.config.paths import Paths
from swecli.store.session_manager import SessionManager
from tests.support.databases import open_database
from tests.support.processes import processes_running
from tests.support.shell import (
    COMMAND,
    HELLO,
    environment,
    script,
    start_process,
    swecli,
    wait_for_exit,
)
from tests.support.strict_provider import Refusal, Reply, StrictProvider

pytestmark = pytest.mark.slow

LISTING = {"calls": [{"name": "list_files", "arguments": {}}]}
WRITING = {
    "text": "I will write it.",
    "calls": [{"name": "write_file", "arguments": {"path": "a.txt", "content": "x"}}],
}


def load_session(session: str) -> Any:
    """Return a stored session as it is exported."""
    database = open_database(Paths.find(os.environ).database)
    try:
        return SessionManager(database).archive.export(session)
    finally:
        database.close()


def has_stored_message() -> bool:
    """Return True once the process has stored its first message."""
    path = Paths.find(os.environ).database
    if not path.exists():
        return False
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as connection:
        try:
            return connection.execute("SELECT 1 FROM message").fetchone() is not None
        except sqlite3.OperationalError:  # The database is still being created.
            return False


# --- output formats


def test_text_output_is_only_the_answer() -> None:
    done = swecli("-p", "hello", "-m", script("s.json", LISTING, "Hällo.\nTwo lines."))
    assert (done.code, done.out) == (0, "Hällo.\nTwo lines.\n")
    assert done.err.startswith("ok: ")


def test_json_output_is_one_object() -> None:
    done = swecli(
        "-p", "hello", "-m", script("s.json", LISTING, "Done."), "--output-format", "json"
    )
    assert done.code == 0
    assert (done.json["subtype"], done.json["result"], done.json["num_turns"]) == (
        "success",
        "Done.",
        2,
    )
    assert [m["role"] for m in load_session(done.json["session_id"])["messages"]] == [
        "user",
        "assistant",
        "assistant",
    ]


def test_stream_json_output_is_events_in_their_order() -> None:
    done = swecli(
        "-p", "hello", "-m", script("s.json", LISTING, "Done."), "--output-format", "stream-json"
    )
    kinds = [line["type"] for line in done.lines]
    assert kinds[0] == "turn_started"
    assert kinds[-2:] == ["turn_finished", "result"]
    assert kinds.index("tool_started") < kinds.index("tool_finished") < kinds.index("text_delta")


# --- input


def test_piped_input_is_the_prompt_or_is_appended_to_it() -> None:
    model = script("s.json", "Fine.")
    alone = swecli("-p", "-m", model, "--output-format", "json", stdin="what is 2 + 2?\n").json
    assert load_session(alone["session_id"])["messages"][0]["content"] == "what is 2 + 2?"
    both = swecli(
        "-p", "explain", "-m", model, "--output-format", "json", stdin=b"log \xff line\n"
    ).json
    message = load_session(both["session_id"])["messages"][0]
    assert message["content"] == "explain"
    assert "<piped>\nlog \ufffd line\n</piped>" in message["sent"]


def test_each_prompt_of_an_input_stream_is_a_turn_of_one_session() -> None:
    model = script("s.json", "One.", {"text": "Two.", "stop": "length"}, "Three.")
    lines = "".join(json.dumps({"type": "user", "text": text}) + "\n" for text in ("a", "b", "c"))
    done = swecli(
        "-p",
        "-m",
        model,
        "--input-format",
        "stream-json",
        "--output-format",
        "stream-json",
        stdin=lines,
    )
    results = [line for line in done.lines if line["type"] == "result"]
    assert [(r["result"], r["subtype"]) for r in results] == [
        ("One.", "success"),
        ("Two.", "length"),
        ("Three.", "success"),
    ]
    assert done.code == 53
    assert len({r["session_id"] for r in results}) == 1
    assert [line["query"] for line in done.lines if line["type"] == "turn_started"] == [
        "a",
        "b",
        "c",
    ]


def test_each_streamed_prompt_is_answered_before_the_next_one_arrives() -> None:
    process = start_process(
        *(
            "-p",
            "-m",
            script("s.json", "One.", "Two."),
            "--input-format",
            "stream-json",
            "--output-format",
            "json",
        ),
        stdin=subprocess.PIPE,
    )
    assert process.stdin
    assert process.stdout
    for text, answer in (("a", "One."), ("b", "Two.")):
        process.stdin.write(json.dumps({"type": "user", "text": text}) + "\n")
        process.stdin.flush()
        assert json.loads(process.stdout.readline())["result"] == answer
    done = wait_for_exit(process)
    assert (done.code, done.out) == (0, "")


def test_an_invalid_input_line_ends_the_run_with_42_after_the_earlier_prompts() -> None:
    lines = '{"type": "user", "text": "a"}\nnonsense\n{"type": "user", "text": "b"}\n'
    arguments = ("--input-format", "stream-json", "--output-format", "json")
    done = swecli("-p", "-m", script("s.json", "One.", "Two."), *arguments, stdin=lines)
    assert done.code == 42
    assert [line["is_error"] for line in done.lines] == [False, True]
    assert done.complaint.startswith("swecli: Line 2 of the input is not JSON")


def test_a_pipe_that_nobody_writes_to_is_not_waited_for() -> None:
    process = start_process("-p", "hello", "-m", script("s.json", "Fine."), stdin=subprocess.PIPE)
    assert process.stderr
    assert "Nothing was piped in" in process.stderr.readline()
    done = wait_for_exit(process)
    assert (done.code, done.out) == (0, "Fine.\n")


# --- approvals


def test_a_tool_call_that_requires_approval_is_denied_and_reported() -> None:
    done = swecli(
        "-p", "write it", "-m", script("s.json", WRITING, "I could not."), "--output-format", "json"
    )
    assert done.code == 0
    assert not Path("a.txt").exists()
    assert "denied: Create a.txt" in done.err
    denials = done.json["permission_denials"]
    assert [(d["tool"], d["input"]["path"]) for d in denials] == [("write_file", "a.txt")]
    assert "nobody can be asked" in denials[0]["reason"]


def test_modes_and_allow_rules_permit_tool_calls() -> None:
    assert swecli("-p", "x", "-m", script("s.json", WRITING, "Done."), "--mode", "edits").code == 0
    assert Path("a.txt").read_text() == "x"
    swecli("config", "set", "allow", "run(echo *)")
    command = {
        "calls": [{"name": "run_command", "arguments": {"command": "echo hi > b.txt; echo hi"}}]
    }
    plain = {"calls": [{"name": "run_command", "arguments": {"command": "echo hi"}}]}
    done = swecli(
        "-p", "x", "-m", script("s.json", plain, command, "Done."), "--output-format", "json"
    )
    assert [d["input"]["command"] for d in done.json["permission_denials"]] == [
        "echo hi > b.txt; echo hi"
    ]


# --- exit codes and signals


@pytest.mark.parametrize(
    ("arguments", "replies", "code"),
    [
        (
            ["--max-turns", "2"],
            [LISTING, {"calls": [{"name": "list_files", "arguments": {"depth": 1}}]}, "x"],
            53,
        ),
        (["--max-budget-usd", "0.5"], [LISTING | {"cost": 0.6}, "x"], 53),
        ([], [LISTING] * 8, 53),
        ([], [{"text": "half", "stop": "length"}], 53),
        ([], [], 1),
        (["-m", "openai/gpt-4o"], [], 1),
        (["-m", "nope/x"], [], 42),
        (["--frob"], [], 2),
    ],
    ids=["turns", "budget", "loop", "length", "script over", "no key", "no model", "usage"],
)
def test_each_failure_has_its_exit_code(
    arguments: list[str], replies: list[Any], code: int
) -> None:
    model = script("s.json", *replies)
    done = swecli("-p", "go", "-m", model, *arguments, "--output-format", "json")
    assert done.code == code
    assert done.json["is_error"] is True
    assert done.complaint


def test_a_cost_limit_that_cannot_be_kept_is_refused_before_a_request() -> None:
    limited = ["-p", "hello", "--max-budget-usd", "0.01", "-m"]
    with StrictProvider([Reply("hi")], models=("house-model",)) as server:
        refused = swecli(*limited, "openai/house-model", environ=server.environ())
        assert (refused.code, server.requests) == (42, [])
    assert refused.complaint.count("\n") <= 1
    assert "The price of openai/house-model is unknown" in refused.complaint
    zero = swecli("-p", "hello", "--max-budget-usd", "0", "-m", script("s.json", "hi"))
    assert zero.code == 42
    assert "'0' is not an amount of dollars above 0" in zero.complaint


def test_a_long_retry_after_ends_the_run_with_75() -> None:
    with StrictProvider([Refusal(429, "slow down", headers={"retry-after": "900"})]) as server:
        done = swecli(
            "-p",
            "hello",
            "-m",
            "openai/gpt-4.1",
            "--output-format",
            "json",
            environ=server.environ(),
        )
    assert done.code == 75
    assert (done.json["is_error"], done.json["subtype"]) == (True, "error")
    assert "slow down" in done.complaint
    assert load_session(done.json["session_id"])["messages"][0]["content"] == "hello"


def test_an_answer_over_http_prints_nothing_to_stderr() -> None:
    with StrictProvider([Reply("Over the wire.")]) as server:
        done = swecli("-p", "hello", "-m", "anthropic/claude-haiku-4-5", environ=server.environ())
    assert (done.code, done.out, done.err) == (0, "Over the wire.\n", "")


def test_a_broken_stream_is_retried_and_its_partial_answer_is_not_printed() -> None:
    cut = {"text": "a half ans", "piece": 2, "cut_after": 3}
    done = swecli("-p", "hello", "-m", script("s.json", cut, "Whole."))
    assert (done.code, done.out) == (0, "Whole.\n")
    assert "retrying in" in done.err


SLOW = {"text": "a very slow answer " * 400, "piece": 4, "delay": 0.05}


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_interrupts_the_run_and_the_partial_answer_is_stored(
    number: int, code: int
) -> None:
    process = start_process(
        "-p", "talk", "-m", script("s.json", SLOW), "--output-format", "stream-json"
    )
    assert process.stdout
    wait_until(lambda: json.loads(process.stdout.readline())["type"] == "text_delta")
    process.send_signal(number)
    done = wait_for_exit(process)
    assert done.code == code
    assert (done.lines[-1]["subtype"], done.lines[-1]["is_error"]) == ("interrupted", True)
    assert done.complaint.startswith("swecli: Interrupted.")
    messages = load_session(done.lines[-1]["session_id"])["messages"]
    assert [m["status"] for m in messages] == ["complete", "partial"]
    again = swecli("-p", "go on", "-c", "-m", script("s.json", "Gladly."))
    assert (again.code, again.out) == (0, "Gladly.\n")


@pytest.mark.parametrize("style", ["text", "json"])
def test_an_interrupted_answer_is_not_printed_as_a_result(style: str) -> None:
    process = start_process("-p", "talk", "-m", script("s.json", SLOW), "--output-format", style)
    wait_until(has_stored_message)
    process.send_signal(signal.SIGTERM)
    done = wait_for_exit(process)
    assert done.code == 143
    assert "slow answer" not in done.out
    assert (done.out == "") if style == "text" else (done.json["subtype"] == "interrupted")


def test_a_signal_kills_the_running_command() -> None:
    command = f"touch started; exec sleep 300.{os.getpid()}"
    running = {"calls": [{"name": "run_command", "arguments": {"command": command}}]}
    process = start_process("-p", "run", "-m", script("s.json", running, "Done."), "--mode", "auto")
    wait_until(Path("started").exists)
    process.send_signal(signal.SIGINT)
    assert wait_for_exit(process).code == 130
    wait_until(lambda: not processes_running(f"300.{os.getpid()}"))


def test_a_signal_ends_a_run_that_waits_for_a_prompt() -> None:
    process = start_process(
        *(
            "-p",
            "-m",
            script("s.json", "One."),
            "--input-format",
            "stream-json",
            "--output-format",
            "json",
        ),
        stdin=subprocess.PIPE,
    )
    assert process.stdin
    assert process.stdout
    process.stdin.write('{"type": "user", "text": "a"}\n')
    process.stdin.flush()
    assert json.loads(process.stdout.readline())["result"] == "One."
    process.send_signal(signal.SIGTERM)
    assert process.wait(timeout=60) == 143
    for stream in (process.stdin, process.stdout, process.stderr):
        assert stream
        stream.close()


@pytest.mark.parametrize("style", ["text", "stream-json"])
def test_a_reader_that_closes_the_pipe_early_causes_no_error(style: str) -> None:
    long = {"text": "line\n" * 60_000, "piece": 2000}
    words = {"S": " ".join(COMMAND), "M": script("s.json", long)}
    line = f'{{ $S -p talk -m "$M" --output-format {style}; echo "code $?" >&2; }} | head -1'
    done = subprocess.run(
        ["sh", "-c", line], capture_output=True, text=True, env=environment(words), check=False
    )
    assert done.stdout.count("\n") == 1
    assert done.stderr in ("code 0\n", "code 141\n")
    assert "Traceback" not in done.stderr
    assert "Broken" not in done.stderr
    assert "Exception" not in done.stderr


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full here")
@pytest.mark.parametrize("style", ["text", "stream-json"])
def test_an_answer_that_cannot_be_written_is_reported_as_an_error(style: str) -> None:
    words = {"S": " ".join(COMMAND), "M": script("s.json", "Fine.")}
    line = f'$S -p talk -m "$M" --output-format {style} >/dev/full'
    done = subprocess.run(
        ["sh", "-c", line], capture_output=True, text=True, env=environment(words), check=False
    )
    assert done.returncode == 1
    error, _, session = done.stderr.rstrip("\n").rpartition(" ")
    assert (
        error
        == "swecli: The answer cannot be written: No space left on device.  It is stored: swecli -r"
    )
    shown = subprocess.run(
        [*COMMAND, "sessions", "show", session], capture_output=True, text=True, env=environment({})
    )
    assert "talk" in shown.stdout


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full here")
@pytest.mark.parametrize("stderr", ["/dev/full", ">(true)"])
def test_an_answer_is_not_lost_with_the_notes_on_stderr(stderr: str) -> None:
    call = {"calls": [{"name": "no_such_tool", "arguments": {}}]}
    words = {"S": " ".join(COMMAND), "M": script("s.json", call, "Fine.")}
    line = f'$S -p talk -m "$M" 2> {stderr}'
    done = subprocess.run(
        ["bash", "-c", line], capture_output=True, text=True, env=environment(words), check=False
    )
    assert done.stdout == "Fine.\n"


# --- folders without permissions


@pytest.fixture
def drop_privileges() -> tuple[str, ...]:
    """Return a command prefix under which file permissions apply to root too."""
    if os.geteuid() != 0:
        return ()
    if not shutil.which("setpriv"):
        pytest.skip("root passes over file modes, and setpriv is not installed")
    return ("setpriv", "--inh-caps=-all", "--bounding-set=-all")


@pytest.mark.skipif(sys.platform != "linux", reason="/proc is Linux's")
@pytest.mark.parametrize(
    "command", ["tr '\\0' '\\n' < /proc/$PPID/environ", "cat /proc/$PPID/mem | head -c 1"]
)
def test_a_command_cannot_read_the_keys_of_the_program_that_runs_it(
    drop_privileges: tuple[str, ...], command: str
) -> None:
    call = {"calls": [{"name": "run_command", "arguments": {"command": command}}]}
    model = script("s.json", call, "Done.")
    done = swecli(
        *("-p", "look", "-m", model, "--mode", "auto", "--output-format", "stream-json"),
        # in the sandbox the program has another number, and cannot be named
        environ={"OPENAI_API_KEY": "sk-only-for-this-test", "SWECLI_SANDBOX": "off"},
        before=(*drop_privileges, "env"),
    )
    assert "Permission denied" in done.out
    assert "sk-only-for-this-test" not in done.out


def test_a_home_that_cannot_be_written_is_reported(
    drop_privileges: tuple[str, ...], tmp_path: Path
) -> None:
    (tmp_path / "shut").mkdir(mode=0o500)
    for home in ("shut", "shut/deeper"):
        environ = {"SWECLI_HOME": str(tmp_path / home)}
        done = swecli("-p", "x", "-m", HELLO, environ=environ, before=drop_privileges)
        assert done.code == 1
        assert "shut" in done.complaint


def test_unreadable_files_are_named(drop_privileges: tuple[str, ...]) -> None:
    for name in ("c.toml", "x.db", "s.json", "e.json"):
        Path(name).write_text("")
        Path(name).chmod(0)
    for arguments, code in (
        (["-p", "x", "--config", "c.toml"], 42),
        (["-p", "x", "-m", HELLO, "--db", "x.db"], 1),
        (["-p", "x", "-m", "scripted/s.json"], 42),
        (["sessions", "list", "--db", "x.db"], 1),
        (["db", "check", "--db", "x.db"], 1),
        (["sessions", "import", "e.json"], 42),
    ):
        done = swecli(*arguments, before=drop_privileges)
        assert done.code == code
        assert Path(arguments[-1]).name in done.complaint


def test_a_database_in_a_read_only_folder_is_an_error(drop_privileges: tuple[str, ...]) -> None:
    Path("shut").mkdir()
    open_database("shut/x.db").close()
    Path("shut/x.db").chmod(0o400)
    Path("shut").chmod(0o500)
    for arguments in (["-p", "x", "-m", HELLO], ["playbook", "add", "x"]):
        done = swecli(*arguments, "--db", "shut/x.db", before=drop_privileges)
        assert done.code == 1
        assert "shut/x.db" in done.complaint


def test_a_directory_without_access_is_an_error(drop_privileges: tuple[str, ...]) -> None:
    Path("shut").mkdir(mode=0)
    done = swecli("-p", "x", "-C", "shut", before=drop_privileges)
    assert (done.code, done.complaint) == (
        42,
        "swecli: Cannot change to 'shut': Permission denied.  Give -C an existing folder.",
    )


def test_arguments_that_are_not_utf8_are_refused() -> None:
    for arguments in (
        [b"-p", b"\xff"],
        [b"-p", b"x", b"-m", b"\xff"],
        [b"-p", b"x", b"--db", b"\xff.db"],
    ):
        done = swecli(*arguments)
        assert done.code == 42
        assert "UTF-8" in done.complaint


def test_a_folder_whose_name_is_not_utf8_can_be_worked_in() -> None:
    odd = os.fsdecode(b"odd \xff")
    Path(odd).mkdir()
    done = swecli(
        "-p",
        "x",
        "-C",
        os.fsencode(odd),
        "-m",
        script("s.json", "Fine."),
        "--output-format",
        "json",
    )
    assert (done.code, done.json["is_error"]) == (0, False)


# --- helpers


def wait_until(true: Any) -> Any:
    """Wait until the function returns a true value, and return the value."""
    deadline = time.monotonic() + 60
    while not (value := true()):
        assert time.monotonic() < deadline
        time.sleep(0.02)
    return value
