"""Test rendering a turn: its permanent and its live lines, and the number of redraws."""

from __future__ import annotations

import asyncio
import re
from dataclasses import replace

import pyte
import pytest

from swecli.models.approval import Decision
from swecli.models.changed_files import ChangedFile
from swecli.models.errors import BadInput
from swecli.models.events import (
    Event,
    FilesChanged,
    Notice,
    ReasoningDelta,
    StepRetried,
    StepStarted,
    TextDelta,
    ToolFinished,
    ToolProgress,
    ToolStarted,
    TurnFailed,
    TurnFinished,
    UsageReported,
)
from swecli.models.learning_events import PlaybookUpdated
from swecli.models.message import Display, ToolResult, Usage
from swecli.repl.render.renderer import Renderer
from swecli.repl.render.screen import Screen
from tests.screen import canned
from tests.screen.emulated import EmulatedTerminal, LiveTerminal

WORDS = [
    "One",
    "sentence",
    "that",
    "is",
    "long",
    "enough",
    "to",
    "be",
    "wrapped",
    "on",
    "this",
    "screen,",
    "twice.",
]


class Clock:
    """A clock that tests advance."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


class Stage:
    """A renderer with its own clock on an emulated terminal."""

    def __init__(self, columns: int = 60, rows: int = 24) -> None:
        self.clock = Clock()
        self.terminal = EmulatedTerminal(columns, rows)
        self.screen = Screen(LiveTerminal(self.terminal), True)
        self.renderer = Renderer(self.screen, self.clock)

    def show(self, *events: Event) -> list[str]:
        for event in events:
            self.renderer.show(event)
        return self.seen()

    def seen(self) -> list[str]:
        return [line for line in self.terminal.lines() if line]


FINISHED = TurnFinished("done", "", Usage(), 0.0, 1, 100)


def test_the_spinner_line_names_the_running_call_and_its_duration() -> None:
    stage = Stage()
    stage.renderer.begin()
    assert stage.seen()[-1].endswith("Working · 0 s · Esc to interrupt")
    stage.show(ToolStarted(canned.RUN, "Run pytest -q"))
    stage.clock.now += 12.3
    stage.renderer.draw()
    assert stage.seen()[-1].endswith("Run pytest -q · 12 s · Esc to interrupt")
    stage.show(ToolStarted(canned.READ, "Read a.py"))
    stage.clock.now += 1
    stage.renderer.draw()
    assert "Running 2 tools" in stage.seen()[-1]
    stage.renderer.end()
    assert not any("Esc to interrupt" in line for line in stage.seen())


@pytest.mark.parametrize("columns", [40, 60])
def test_a_long_call_is_cut_before_the_hint_how_to_stop_it(columns: int) -> None:
    stage = Stage(columns=columns)
    stage.renderer.begin()
    stage.show(ToolStarted(canned.RUN, "Run python -m pytest -q tests/unit tests/integration"))
    stage.clock.now += 1
    stage.renderer.draw()
    assert re.search(r"Run pyth.*… · 1 s · Esc to interrupt$", stage.seen()[-1])


def test_the_files_of_a_turn_are_named_below_its_answer() -> None:
    stage = Stage(columns=80)
    stage.renderer.begin()
    files = (ChangedFile("a.log", "created", ("command",)),)
    seen = stage.show(TextDelta("It is built."), FilesChanged(files), FINISHED)
    assert seen[:2] == ["It is built.", "1 file changed · by commands: a.log (new)"]


def test_repeated_retries_print_one_line_and_the_live_line_counts_them() -> None:
    stage = Stage(columns=80)
    stage.renderer.begin()
    stage.show(StepStarted(1))
    for attempt in (2, 3, 4):
        stage.clock.now += 2
        stage.show(StepRetried(attempt, 1.5, "429 Too Many Requests"))
    assert sum("retrying" in line for line in stage.seen()) == 1
    assert "429 Too Many Requests · attempt 4" in stage.seen()[-1]
    stage.show(StepStarted(2), StepRetried(2, 1.5, "429 Too Many Requests"))
    assert sum("retrying" in line for line in stage.seen()) == 2, "of another step"


def test_a_retry_that_discards_text_says_so_each_time() -> None:
    stage = Stage()
    stage.renderer.begin()
    for attempt in (2, 3):
        stage.show(TextDelta("Half an ans"), StepRetried(attempt, 0.0, "it broke", restart=True))
    assert sum("it broke · retrying" in line for line in stage.seen()) == 2


def test_the_spinner_line_counts_the_tokens_of_the_turns_requests() -> None:
    stage = Stage(columns=80)
    stage.renderer.begin()
    usage = Usage(1_000, 7_000, 0, 300, 20)
    stage.show(UsageReported(usage, 0.01), UsageReported(usage, 0.01))
    stage.clock.now += 1
    stage.renderer.draw()
    assert stage.seen()[-1].endswith("1 s · ↑16k ↓640 · Esc to interrupt")
    stage.renderer.begin()
    assert "↑" not in stage.seen()[-1]


@pytest.mark.parametrize("columns", [60, 100])
@pytest.mark.parametrize("color", [True, False])
def test_one_line_says_where_the_to_do_list_stands_until_all_items_are_done(
    columns: int, color: bool
) -> None:
    texts = ["look", "write the parser " * 10, *(f"step {number}" for number in range(3, 9))]
    todos = [{"text": text, "status": "pending"} for text in texts]
    terminal = EmulatedTerminal(columns, 24)
    clock = Clock()
    renderer = Renderer(Screen(LiveTerminal(terminal), color), clock, todos)
    renderer.begin()
    todos[0]["status"], todos[1]["status"] = "done", "in_progress"
    clock.now += 1
    renderer.show(ToolStarted(canned.RUN, "Run pytest -q"))
    *above, listed, spinner = [line for line in terminal.lines() if line]
    assert listed.startswith("  to do · 1 of 8 done · write the parser write")
    assert listed.endswith("…")
    assert len(listed) <= columns
    assert "step 3" not in "\n".join(above)
    assert "Run pytest -q" in spinner
    assert color or "\x1b[1m" not in "".join(terminal.raw)
    for one in todos:
        one["status"] = "done"
    clock.now += 1
    renderer.show(StepStarted(2))
    assert "to do" not in "\n".join(terminal.lines())
    todos[0]["status"] = "pending"
    renderer.end()
    assert "to do" not in "\n".join(terminal.lines())


def test_in_a_low_terminal_the_to_do_list_leaves_room_for_the_spinner() -> None:
    stage = Stage(rows=6)
    stage.renderer = Renderer(
        stage.screen, stage.clock, [{"text": f"step {n}", "status": "pending"} for n in range(9)]
    )
    stage.renderer.begin()
    stage.clock.now += 1
    stage.show(ToolStarted(canned.RUN, "Run pytest -q"))
    assert "Run pytest -q · 0 s" in stage.seen()[-1]


def test_output_of_a_running_call_is_shown_until_the_call_ends() -> None:
    stage = Stage()
    stage.renderer.begin()
    stage.show(
        ToolStarted(canned.RUN, "Run pytest -q"), ToolProgress(canned.RUN.id, "tick 1\ntick 2\n")
    )
    stage.clock.now += 1
    stage.renderer.draw()
    assert "    tick 2" in stage.seen()
    result = ToolResult(True, "passed", Display(body="passed"), exit_code=0)
    seen = stage.show(ToolFinished(canned.RUN, "Run pytest -q", result))
    assert "    tick 2" not in seen
    assert "● Run pytest -q · 3.2 s" in seen


def test_each_of_several_running_calls_is_named_with_its_last_line() -> None:
    stage = Stage()
    stage.renderer.begin()
    first, second = canned.RUN, replace(canned.RUN, id="other")
    stage.show(
        ToolStarted(first, "Task look for the cause"),
        ToolStarted(second, "Task count the tests"),
        ToolProgress(first.id, "Read a.py\nSearch x in docs\n"),
    )
    stage.clock.now += 1
    stage.renderer.draw()
    assert "    Task look for the cause · Search x in docs" in stage.seen()
    assert "    Task count the tests" in stage.seen()
    assert "Running 2 tools" in stage.seen()[-1]


def test_an_unfinished_block_is_shown_live_and_printed_once_when_finished() -> None:
    stage = Stage()
    stage.renderer.begin()
    for word in WORDS:
        stage.clock.now += 0.2
        stage.show(TextDelta(word + " "))
    assert stage.seen()[0].startswith("One sentence")
    seen = stage.show(TextDelta("\n\nNext."), FINISHED)
    assert sum("One sentence" in line for line in seen) == 1
    assert seen[2:] == ["Next.", "0.1 s · no cost"]


@pytest.mark.slow
def test_the_live_region_is_drawn_at_most_ten_times_a_second() -> None:
    stage = Stage()
    stage.renderer.begin()
    before = stage.terminal.writes
    for _ in range(1_000):
        stage.clock.now += 0.001
        stage.show(TextDelta("word "))
    assert stage.terminal.writes - before <= 2 * 13, "a print, and the live lines below it"


def test_each_finished_block_is_printed_once_however_long_the_answer() -> None:
    stage = Stage(rows=40)
    stage.renderer.begin()
    for number in range(30):
        stage.clock.now += 0.2
        stage.show(TextDelta(f"block{number}\n\n"))
    raw = "".join(stage.terminal.raw)
    assert all(
        raw.count(f"block{number}\r") + raw.count(f"block{number}\n") == 1 for number in range(30)
    )


def test_reasoning_is_folded_to_its_last_three_lines() -> None:
    stage = Stage()
    stage.renderer.begin()
    for number in range(50):
        stage.clock.now += 0.1
        stage.show(ReasoningDelta(f"thought {number}\n"))
    seen = stage.show(TextDelta("Answer."), FINISHED)
    assert seen[0].endswith("540 characters")
    assert [line.strip() for line in seen[1:4]] == ["thought 47", "thought 48", "thought 49"]
    assert "Answer." in seen


def test_a_failed_turn_keeps_the_received_text_and_names_the_next_step() -> None:
    stage = Stage()
    stage.renderer.begin()
    seen = stage.show(TextDelta("Half an ans"), TurnFailed("no connection", "try again", 75))
    assert seen == ["Half an ans", "✗ no connection · try again"]


def test_an_interruption_is_said_apart_from_the_output() -> None:
    stage = Stage()
    stage.renderer.begin()
    stage.show(TextDelta("Half an ans"))
    stage.renderer.interrupt()
    assert "\n".join(stage.terminal.lines()).strip() == "Half an ans\n\ninterrupted"


def test_ending_during_a_call_keeps_the_text_and_marks_the_call_as_interrupted() -> None:
    stage = Stage()
    stage.renderer.begin()
    stage.show(TextDelta("Half"), ToolStarted(canned.RUN, "Run pytest -q"))
    stage.renderer.end()
    stage.renderer.end()
    assert stage.seen() == ["Half", "● Run pytest -q", "  └ interrupted"]


def test_no_spinner_is_drawn_while_a_question_is_open() -> None:
    stage = Stage()
    stage.renderer.begin()
    stage.show(TextDelta("So far."))
    stage.renderer.show_approval(canned.ASK_RUN)
    stage.clock.now += 5
    stage.renderer.draw()
    assert stage.seen()[0] == "So far."
    assert "Working" not in stage.seen()[-1]
    stage.renderer.show_decision(canned.ASK_RUN, None)
    assert "Working" in stage.seen()[-1]


def test_the_diff_of_an_approved_call_is_printed_once() -> None:
    stage = Stage(80, 40)
    stage.renderer.begin()
    stage.renderer.show_approval(canned.ASK_EDIT)
    stage.renderer.show_decision(canned.ASK_EDIT, Decision(True))
    result = ToolResult(True, "ok", canned.ASK_EDIT.preview)
    seen = stage.show(ToolFinished(canned.EDIT, canned.ASK_EDIT.summary, result), FINISHED)
    assert sum("choose_model" in line for line in seen) == 1
    place = seen.index("✓ allowed: Edit swecli/app.py (+2 −2)")
    assert seen[place + 1] == "  └ done"


def test_an_answer_is_printed_once() -> None:
    stage = Stage(80, 40)
    stage.renderer.begin()
    asked = replace(
        canned.ASK_RUN,
        summary="Ask SQLite or JSON?",
        preview=Display(),
        choices=("SQLite", "JSON"),
        why="",
    )
    stage.renderer.show_approval(asked)
    stage.renderer.show_decision(asked, Decision(True, answer="SQLite"))
    result = ToolResult(True, "The user answers: SQLite", Display("SQLite"))
    seen = stage.show(ToolFinished(canned.RUN, asked.summary, result))
    assert "✓ answered: SQLite" in seen
    assert not any(line.startswith("  └") for line in seen)


def test_output_of_an_approved_call_follows_its_approval_unless_a_notice_came_between() -> None:
    for between in ((), (Notice("by the way"),)):
        stage = Stage(80, 40)
        stage.renderer.begin()
        stage.renderer.show_approval(canned.ASK_RUN)
        stage.renderer.show_decision(canned.ASK_RUN, Decision(True))
        result = ToolResult(True, "passed", Display(body="passed"), exit_code=0)
        seen = stage.show(*between, ToolFinished(canned.RUN, "Run pytest -q", result), FINISHED)
        assert ("● Run pytest -q · 3.2 s" in seen) is bool(between)
        assert "passed" in "\n".join(seen)


def test_a_refused_call_prints_one_line() -> None:
    stage = Stage(80, 40)
    stage.renderer.begin()
    stage.renderer.show_approval(canned.ASK_RUN)
    stage.renderer.show_decision(canned.ASK_RUN, Decision(False, reason="no"))
    seen = stage.show(
        ToolFinished(canned.RUN, "Run pytest -q", ToolResult(False, "refused", denied=True)),
        FINISHED,
    )
    assert sum("refused" in line for line in seen) == 1


def count_line(stage: Stage, text: str) -> int:
    return sum(text in line for line in stage.seen())


def test_unfolding_prints_the_last_output_then_all_of_the_turn_then_folds_again() -> None:
    stage = Stage(80, 400)
    stage.renderer.begin()
    first = ToolFinished(
        canned.RUN, "Run pytest -q", ToolResult(True, canned.OUTPUT, Display("", canned.OUTPUT))
    )
    second = replace(
        first,
        result=ToolResult(True, other := canned.OUTPUT.replace("part", "unit"), Display("", other)),
    )
    stage.show(ReasoningDelta("".join(f"thought {number}\n" for number in range(9))), first, second)
    stage.renderer.unfold()
    assert (count_line(stage, "test_unit_7"), count_line(stage, "test_part_7")) == (1, 0)
    stage.renderer.unfold()
    assert (count_line(stage, "test_unit_7"), count_line(stage, "test_part_7")) == (1, 1)
    assert count_line(stage, "thought 2") == 1
    stage.show(second)
    assert count_line(stage, "test_unit_7") == 2, "nothing is folded any more"
    stage.renderer.unfold()
    stage.show(second)
    assert count_line(stage, "test_unit_7") == 2


async def test_what_is_too_long_to_be_unfolded_at_once_can_be_printed_whole() -> None:
    stage = Stage(80, 4_000)
    stage.renderer.begin()
    output = "".join(f"part {number}\n" for number in range(1, 2_001))
    stage.show(
        ToolFinished(
            canned.RUN, "Run make", ToolResult(True, output, Display("", output), exit_code=0)
        )
    )
    stage.renderer.unfold()
    seen = [line.strip() for line in stage.seen()]
    assert "└ … 1,500 lines above" in seen
    assert "… 1,500 lines above (/expand all prints all of it)" in seen
    assert "part 7" not in seen
    await stage.renderer.print_whole()
    assert "part 7" in [line.strip() for line in stage.seen()]


async def test_all_of_a_long_diff_can_be_printed_while_it_is_asked_about() -> None:
    stage = Stage(80, 4_000)
    stage.renderer.begin()
    body = "".join(f"+line {number}\n" for number in range(1, 1_001))
    diff = f"--- /dev/null\n+++ b/new.py\n@@ -0,0 +1,1000 @@\n{body}"
    stage.renderer.show_approval(replace(canned.ASK_EDIT, preview=Display("new.py", diff, "diff")))
    stage.renderer.unfold()
    assert count_line(stage, "more added lines (/expand all prints all of it)") == 1
    assert count_line(stage, "line 1000") == 0
    await stage.renderer.print_whole()
    assert count_line(stage, "line 1000") == 1


async def test_printing_all_without_a_folded_output_says_so() -> None:
    with pytest.raises(BadInput, match="no shortened output"):
        await Stage().renderer.print_whole()


def test_a_long_diff_is_folded_for_approval_and_can_be_expanded_before_the_answer() -> None:
    stage = Stage(80, 400)
    stage.renderer.begin()
    body = "".join(f"+line {number}\n" for number in range(1, 101))
    diff = f"--- /dev/null\n+++ b/new.py\n@@ -0,0 +1,100 @@\n{body}"
    request = replace(canned.ASK_EDIT, preview=Display("new.py", diff, "diff"))
    stage.renderer.show_approval(request)
    seen = [line.strip() for line in stage.seen()]
    assert "59 + line 59" in seen
    assert "+ … 41 more added lines (Ctrl+O to expand)" in seen
    stage.renderer.unfold()
    assert "100 + line 100" in [line.strip() for line in stage.seen()]


def test_a_strategy_learned_after_the_turn_is_printed_under_its_last_line() -> None:
    stage = Stage()
    stage.renderer.begin()
    stage.show(TextDelta("Done."), FINISHED)
    stage.renderer.end()
    stage.show(PlaybookUpdated(1, "d", ("+ be brief  (P-1)",), added=("P-1",)))
    assert stage.terminal.lines()[:5] == [
        "",
        "Done.",
        "",
        "0.1 s · no cost",
        "✎ T1: + be brief (P-1)",
    ]


@pytest.mark.slow
def test_a_long_unfinished_text_never_fills_the_screen() -> None:
    stage = Stage(40, 12)
    stage.renderer.begin()
    for _ in range(200):
        stage.clock.now += 0.2
        stage.show(TextDelta("words without end "))
    assert "Esc" in stage.seen()[-1] or "Writing" in stage.seen()[-1]
    stage.renderer.end()
    assert "".join(stage.terminal.everything()).count("words") == 200


async def test_in_an_event_loop_the_spinner_redraws_itself_until_the_turn_ends() -> None:
    terminal = EmulatedTerminal(60, 10)
    renderer = Renderer(Screen(LiveTerminal(terminal), True))
    renderer.begin()
    before = terminal.writes
    while terminal.writes < before + 2:
        await asyncio.sleep(0.02)
    renderer.end()
    await asyncio.sleep(0)
    assert len(asyncio.all_tasks()) == 1


def test_output_without_a_terminal_has_no_escape_codes() -> None:
    terminal = EmulatedTerminal(60, 200)
    renderer = Renderer(Screen(terminal, False), Clock())
    renderer.begin()
    for event in canned.events():
        renderer.show(event)
    renderer.end()
    assert "\x1b" not in "".join(terminal.raw)
    assert "Esc to interrupt" not in "\n".join(terminal.lines())


def test_a_started_step_is_shown_as_thinking() -> None:
    stage = Stage()
    stage.renderer.begin()
    assert "Thinking" in stage.show(StepStarted(1))[-1] or "Working" in stage.seen()[-1]
    assert isinstance(stage.terminal.screen, pyte.Screen)


def test_an_answer_beside_the_turn_waits_for_the_end_of_what_is_being_written() -> None:
    stage = Stage()
    stage.renderer.begin()
    view = stage.renderer.begin_aside("which port?")
    assert view is not None
    stage.show(TextDelta("The turn writes a first line.\n\nAnd a second"))
    view.take(TextDelta("It is 8080."))
    stage.clock.now += 1
    stage.renderer.draw(force=True)
    assert "┆ It is 8080." in stage.seen(), "while it grows"
    stage.renderer.end_aside()
    assert stage.seen()[3].startswith("not part of the conversation · 1.0 s"), "it can be read"
    stage.show(TextDelta(" line."))
    stage.renderer.end()
    seen = stage.seen()
    assert seen.index("And a second line.") < seen.index("┆ /btw which port?")
    assert seen[seen.index("┆ /btw which port?") + 1] == "┆ It is 8080."


def test_an_answer_that_outlasts_the_turn_is_still_shown() -> None:
    stage = Stage()
    stage.renderer.begin()
    view = stage.renderer.begin_aside("which port?")
    assert view is not None
    stage.renderer.end()
    view.take(TextDelta("It is"))
    stage.renderer.draw(force=True)
    assert "┆ It is" in stage.seen()
    view.take(TextDelta(" 8080."))
    stage.renderer.end_aside()
    assert stage.seen()[0] == "┆ It is 8080."
    assert stage.seen()[1].startswith("not part of the conversation")
    assert not stage.renderer.is_working
