"""Test the output writers: stdout contains only the answer in its format, everything else goes to stderr."""

from __future__ import annotations

import errno
import importlib.util
import io
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from swecli.cli.flags import _format_names
from swecli.headless.writers.base import RunFacts, make_writer
from swecli.models.errors import BadInput, SwecliError
from swecli.models.events import (
    Event,
    Notice,
    ReasoningDelta,
    StepRetried,
    StepStarted,
    TextDelta,
    ToolFinished,
    ToolStarted,
    TurnFailed,
    TurnFinished,
    TurnStarted,
    UsageReported,
)
from swecli.models.learning_events import PlaybookUpdated, ReflectionFailed
from swecli.models.message import ToolCall, ToolResult, Usage
from tests.support.shell import ROOT

KEYS = (
    "type subtype is_error duration_ms num_turns result session_id total_cost_usd usage permission_denials".split()  # noqa: SIM905
)
CALL = ToolCall("c1", "write_file", {"path": "a"}, approved=False, reason="nobody is there")
DENIED = ToolFinished(CALL, "Write a", ToolResult(False, "no", denied=True))
BEGUN: list[Event] = [TurnStarted("s-1", 1, "do it", "p/m"), StepStarted(1)]


FORMATS = ("json", "stream-json", "text")


def turn_finished(text: str, reason: Any = "done", steps: int = 1) -> TurnFinished:
    return TurnFinished(reason, text, Usage(), 0.0, steps, 12)


FACTS = RunFacts("/shop", "edits", ("read_file", "run_command"))


def write_events(style: str, events: list[Event], code: int = 0) -> tuple[str, str]:
    out, err = io.StringIO(), io.StringIO()
    writer = make_writer(style, out, err, FACTS)
    writer.begin()
    for event in events:
        writer.write(event)
    writer.close(code)
    return out.getvalue(), err.getvalue()


def test_text_writes_the_last_answer_to_stdout_and_the_steps_to_stderr() -> None:
    read = ToolCall("c2", "read_file", {})
    events = [
        *BEGUN,
        TextDelta("I will "),
        TextDelta("look."),
        ToolStarted(read, "Read a"),
        ToolFinished(read, "Read a", ToolResult(True, "x")),
        StepStarted(2),
        ReasoningDelta("hm"),
        TextDelta("It says x."),
        turn_finished("It says x."),
    ]
    out, err = write_events("text", events)
    assert out == "It says x.\n"
    assert err.splitlines() == ["I will look.", "ok: Read a"]


def test_text_writes_a_restarted_answer_once_and_reports_the_retry() -> None:
    events = [
        *BEGUN,
        TextDelta("It s"),
        StepRetried(1, 2.0, "cut off", True),
        TextDelta("It says."),
        turn_finished("It says."),
    ]
    out, err = write_events("text", events)
    assert out == "It says.\n"
    assert err == "cut off · retrying in 2 s (attempt 1)\n"


def test_formats_are_listed_without_importing_their_modules() -> None:
    assert _format_names() == ("claude-stream-json", *FORMATS)
    code = "import sys; from swecli.cli.flags import Parser; Parser.for_run(); print(*sys.modules)"
    outcome = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert not [
        name for name in outcome.stdout.split() if name.startswith("swecli.headless.writers.")
    ]


def test_text_writes_nothing_for_a_turn_without_an_answer() -> None:
    assert write_events("text", [*BEGUN, turn_finished("  ")]) == ("", "")


def test_text_removes_escape_sequences_from_answers_and_notices() -> None:
    out, err = write_events(
        "text", [*BEGUN, Notice("a\x1b[2Jb"), turn_finished("red \x1b[31mink\x07\nline")]
    )
    assert out == "red ink\nline\n"
    assert err == "ab\n"


@pytest.mark.parametrize("style", FORMATS)
def test_a_denied_tool_call_is_reported_on_stderr_in_every_format(style: str) -> None:
    _, err = write_events(style, [*BEGUN, DENIED, turn_finished("no")])
    assert err == "denied: Write a: nobody is there\n"


def test_json_writes_one_object_with_all_keys_of_a_result() -> None:
    events = [
        *BEGUN,
        TextDelta("x"),
        UsageReported(Usage(10, output=5), 0.25),
        DENIED,
        StepStarted(2),
        UsageReported(Usage(20, output=1), 0.5),
        turn_finished("Done.", steps=2),
    ]
    out, _ = write_events("json", events)
    assert out.count("\n") == 1
    result = json.loads(out)
    assert list(result) == KEYS
    assert (result["subtype"], result["is_error"], result["result"]) == ("success", False, "Done.")
    assert (result["num_turns"], result["session_id"], result["duration_ms"] >= 0) == (
        2,
        "s-1",
        True,
    )
    assert (result["total_cost_usd"], result["usage"]["input"], result["usage"]["output"]) == (
        0.75,
        30,
        6,
    )
    assert result["permission_denials"] == [
        {"tool": "write_file", "input": {"path": "a"}, "reason": "nobody is there"}
    ]


def test_the_total_cost_has_no_noise_of_floating_point_sums() -> None:
    costs = [0.009639, 0.009639, 0.009639]
    events = [*BEGUN, *(UsageReported(Usage(1), cost) for cost in costs), turn_finished("x")]
    assert '"total_cost_usd": 0.028917,' in write_events("json", events)[0]


def test_the_total_cost_is_null_if_the_cost_of_one_request_is_unknown() -> None:
    events = [
        *BEGUN,
        UsageReported(Usage(1), None),
        UsageReported(Usage(1), 0.5),
        turn_finished("x"),
    ]
    assert json.loads(write_events("json", events)[0])["total_cost_usd"] is None


def test_stream_json_writes_all_events_and_then_the_result() -> None:
    events = [*BEGUN, TextDelta("ä\u2028"), turn_finished("ä\u2028")]
    out, _ = write_events("stream-json", events)
    lines = [json.loads(line) for line in out.splitlines()]
    assert [line["type"] for line in lines] == [
        "turn_started",
        "step_started",
        "text_delta",
        "turn_finished",
        "result",
    ]
    assert lines[2]["text"] == "ä\u2028"
    assert list(lines[-1]) == KEYS


@pytest.mark.parametrize("style", FORMATS)
def test_a_failed_turn_is_reported_with_its_error_cost_and_denials(style: str) -> None:
    events = [
        *BEGUN,
        UsageReported(Usage(10), 0.5),
        DENIED,
        TextDelta("half"),
        TurnFailed("It broke.", "Mend it.", 75, True),
    ]
    out, err = write_events(style, events, 75)
    assert err.splitlines()[-1] == "swecli: It broke.  Mend it."
    if style == "text":
        assert out == ""
        return
    result = json.loads(out.splitlines()[-1])
    assert (result["subtype"], result["is_error"], result["result"]) == (
        "error",
        True,
        "It broke. Mend it.",
    )
    assert (result["total_cost_usd"], result["num_turns"], len(result["permission_denials"])) == (
        0.5,
        1,
        1,
    )


@pytest.mark.parametrize("reason", ["max_turns", "max_budget", "loop", "length"])
def test_a_turn_that_ends_early_writes_its_answer_and_reports_the_reason(reason: str) -> None:
    out, err = write_events("text", [*BEGUN, turn_finished("So far.", reason)], 53)
    assert out == "So far.\n"
    assert err.startswith("swecli: The ")
    result = json.loads(write_events("json", [*BEGUN, turn_finished("So far.", reason)], 53)[0])
    assert (result["subtype"], result["is_error"], result["result"]) == (reason, True, "So far.")


@pytest.mark.parametrize("code", [130, 143])
def test_an_interrupted_turn_is_reported_as_stored(code: int) -> None:
    out, err = write_events("text", [*BEGUN, TextDelta("half an ans")], code)
    assert (out, err) == (
        "",
        "swecli: Interrupted.  Everything so far is stored; continue with -c.\n",
    )
    result = json.loads(write_events("json", [*BEGUN, TextDelta("half an ans")], code)[0])
    assert (result["subtype"], result["is_error"], result["session_id"]) == (
        "interrupted",
        True,
        "s-1",
    )


def test_a_run_that_cannot_start_writes_an_error_result() -> None:
    out = io.StringIO()
    make_writer("json", out, io.StringIO()).refuse(BadInput("No.", "Do."))
    result = json.loads(out.getvalue())
    assert list(result) == KEYS
    assert (result["subtype"], result["is_error"], result["result"]) == ("error", True, "No. Do.")


def test_playbook_updates_and_failed_reflections_are_reported() -> None:
    learned = PlaybookUpdated(1, "d", ("P-1 is new",))
    _, err = write_events(
        "text", [*BEGUN, learned, ReflectionFailed(1, "no answer", True), turn_finished("x")]
    )
    assert err.splitlines() == [
        "T1: P-1 is new",
        "could not learn from T1: no answer · will retry later",
    ]


class FailingStream(io.StringIO):
    """A stream whose flush fails with the given error: disk full, or no reader."""

    def __init__(self, error: OSError) -> None:
        super().__init__()
        self.error = error

    def flush(self) -> None:
        raise self.error


def test_an_answer_that_cannot_be_written_is_reported_once() -> None:
    err = io.StringIO()
    writer = make_writer(
        "stream-json", FailingStream(OSError(errno.ENOSPC, "No space left on device")), err
    )
    with pytest.raises(
        SwecliError, match="The answer cannot be written: No space left on device"
    ) as caught:
        writer.write(BEGUN[0])
    writer.refuse(caught.value)
    assert err.getvalue().count("\n") == 1


def test_a_broken_pipe_is_raised_unchanged_when_the_writer_closes() -> None:
    writer = make_writer("text", FailingStream(BrokenPipeError()), io.StringIO())
    writer.write(turn_finished("x"))
    with pytest.raises(BrokenPipeError):
        writer.close(0)


# Claude Code's message format


def claude_messages(events: list[Event], code: int = 0) -> list[dict[str, Any]]:
    return [
        json.loads(row) for row in write_events("claude-stream-json", events, code)[0].splitlines()
    ]


def test_claude_stream_json_writes_the_messages_of_claude_code_in_order() -> None:
    read = ToolCall("c2", "read_file", {"path": "a"})
    rows = claude_messages(
        [
            *BEGUN,
            ReasoningDelta("hm"),
            TextDelta("I will "),
            TextDelta("look."),
            UsageReported(Usage(10, 5, 2, 3, 4), 0.5),
            ToolStarted(read, "Read a"),
            ToolFinished(read, "Read a", ToolResult(True, "x")),
            DENIED,
            StepStarted(2),
            TextDelta("It s"),
            StepRetried(1, 2.0, "cut off", True),
            TextDelta("It is x."),
            UsageReported(Usage(1, 20), 0.25),
            turn_finished("It is x.", steps=2),
        ]
    )
    assert {row["session_id"] for row in rows} == {"s-1"}
    assert len({row["uuid"] for row in rows}) == len(rows)
    first, *shown, last = rows
    assert (first["type"], first["subtype"], first["model"]) == ("system", "init", "p/m")
    assert (first["cwd"], first["permissionMode"]) == ("/shop", "acceptEdits")
    assert first["tools"] == ["read_file", "run_command"]
    assert [(row["type"], *row["message"]["content"][0].values()) for row in shown] == [
        ("assistant", "thinking", "hm", ""),
        ("assistant", "text", "I will look."),
        ("assistant", "tool_use", "c2", "read_file", {"path": "a"}),
        ("user", "tool_result", "c2", "x", False),
        ("assistant", "tool_use", "c1", "write_file", {"path": "a"}),
        ("user", "tool_result", "c1", "no", True),
        ("assistant", "text", "It is x."),
    ]
    ids = [row["message"]["id"] for row in shown if row["type"] == "assistant"]
    assert (len(set(ids[:4])), len(set(ids))) == (1, 2), "a step is one message"
    assert shown[2]["message"]["usage"] == {
        "input_tokens": 10,
        "cache_creation_input_tokens": 2,
        "cache_read_input_tokens": 5,
        "output_tokens": 7,
    }
    assert (last["type"], last["subtype"], last["is_error"], last["num_turns"]) == (
        "result",
        "success",
        False,
        2,
    )
    assert (last["result"], last["total_cost_usd"], last["usage"]["input_tokens"]) == (
        "It is x.",
        0.75,
        11,
    )
    assert last["permission_denials"] == [
        {"tool_name": "write_file", "tool_use_id": "c1", "tool_input": {"path": "a"}}
    ]
    assert last["duration_api_ms"] >= 0


@pytest.mark.parametrize(
    ("event", "code", "subtype"),
    [
        (TurnFailed("gone", "Try again.", 75), 75, "error_during_execution"),
        (turn_finished("", "max_turns"), 53, "error_max_turns"),
        (turn_finished("", "max_budget"), 53, "error_max_budget_usd"),
    ],
)
def test_claude_stream_json_ends_an_unsuccessful_turn_with_a_matching_error_subtype(
    event: Event, code: int, subtype: str
) -> None:
    rows = claude_messages([*BEGUN, TextDelta("I be"), event], code)
    assert [row["type"] for row in rows] == ["system", "assistant", "result"]
    assert (rows[-1]["subtype"], rows[-1]["is_error"]) == (subtype, True)


def test_the_claude_code_sdk_reads_claude_stream_json(tmp_path: Path) -> None:
    """Run only where that package is installed: it has fifteen dependencies, too many for a development dependency."""
    if importlib.util.find_spec("claude_code_sdk") is None:
        pytest.skip("claude-code-sdk is not installed")
    file = tmp_path / "rows"
    file.write_text(
        write_events(
            "claude-stream-json", [*BEGUN, TextDelta("hello"), DENIED, turn_finished("hello")]
        )[0]
    )
    outcome = subprocess.run(
        [sys.executable, "-m", "tests.support.claude_reader", str(file)],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    kinds = [
        "SystemMessage",
        "AssistantMessage",
        "AssistantMessage",
        "UserMessage",
        "ResultMessage",
    ]
    assert outcome.stdout.split() == kinds, outcome.stderr
