"""Test the output writers: stdout contains only the answer in its format, everything else goes to stderr."""

from __future__ import annotations

import errno
import io
import json
import subprocess
import sys
from typing import Any

import pytest

from swecli.cli.flags import _format_names
from swecli.headless.writers.base import make_writer
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

KEYS = (
    "type subtype is_error duration_ms num_turns result session_id total_cost_usd usage permission_denials".split()  # noqa: SIM905
)
CALL = ToolCall("c1", "write_file", {"path": "a"}, approved=False, reason="nobody is there")
DENIED = ToolFinished(CALL, "Write a", ToolResult(False, "no", denied=True))
BEGUN: list[Event] = [TurnStarted("s-1", 1, "do it", "p/m"), StepStarted(1)]


FORMATS = ("json", "stream-json", "text")


def turn_finished(text: str, reason: Any = "done", steps: int = 1) -> TurnFinished:
    return TurnFinished(reason, text, Usage(), 0.0, steps, 12)


def write_events(style: str, events: list[Event], code: int = 0) -> tuple[str, str]:
    out, err = io.StringIO(), io.StringIO()
    writer = make_writer(style, out, err)
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
    assert _format_names() == FORMATS
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
        "swecli: Interrupted.  Everything so far is stored; continue with -p -c.\n",
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
