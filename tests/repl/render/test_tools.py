"""Test rendering tool calls."""

from __future__ import annotations

import io
import re
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Group, RenderableType

from swecli.models.approval import AskRequest, Decision
from swecli.models.events import ToolFinished
from swecli.models.message import Display, Effects, ToolCall, ToolResult
from swecli.repl.render import tools
from swecli.repl.render.screen import Screen
from tests.screen.canned import ASK_EDIT, ASK_RUN, DIFF
from tests.screen.emulated import TextSurface

CALL = ToolCall("c1", "run_command", {"command": "ls"})


def render(drawing: RenderableType, width: int = 80) -> str:
    out = io.StringIO()
    Screen(TextSurface(out, width), False).print(drawing)
    return out.getvalue()


def render_result(result: ToolResult, summary: str = "Run ls", call: ToolCall = CALL) -> str:
    return render(tools.render_call(ToolFinished(call, summary, result), has_summary=False))


def numbered_lines(count: int) -> str:
    return "\n".join(f"line {n}" for n in range(count))


def test_the_head_of_a_call_names_its_duration_only_if_it_was_long() -> None:
    assert (
        render(tools.render_summary("Run ls", "ok", replace(CALL, duration_ms=40))) == "● Run ls\n"
    )
    assert (
        render(tools.render_summary("Run ls", "ok", replace(CALL, duration_ms=2_340)))
        == "● Run ls · 2.3 s\n"
    )


@pytest.mark.parametrize(
    ("result", "state"),
    [
        (ToolResult(True, ""), "ok"),
        (ToolResult(False, ""), "failed"),
        (ToolResult(False, "", denied=True), "denied"),
    ],
)
def test_a_call_is_styled_by_its_result(result: ToolResult, state: str) -> None:
    assert tools._call_style(result) == state


def test_short_output_is_shown_whole() -> None:
    assert render_result(ToolResult(True, "a\nb", Display(body="a\nb"))) == "  └ a\n    b\n"


def test_of_a_long_text_the_first_lines_are_shown_with_the_number_of_the_rest() -> None:
    shown = render_result(ToolResult(True, "", Display(body=numbered_lines(40))))
    assert shown.startswith("  └ line 0\n")
    assert shown.endswith("    … 35 more lines\n")


def test_of_a_long_command_output_the_last_lines_are_shown() -> None:
    shown = render_result(ToolResult(True, "", Display(body=numbered_lines(40)), exit_code=0))
    assert shown.startswith("  └ … 35 lines above\n")
    assert shown.endswith("    line 39\n")


def test_the_body_does_not_repeat_the_head() -> None:
    assert (
        render_result(ToolResult(True, "", Display("ls: exit code 0", "x"), exit_code=0))
        == "  └ x\n"
    )
    assert (
        render_result(ToolResult(False, "", Display("ls: exit code 2", "x"), exit_code=2))
        == "  └ exit code 2\n    x\n"
    )
    assert (
        render_result(ToolResult(True, "", Display("a.py", "80 lines")), "Read a.py 1-80")
        == "  └ 80 lines\n"
    )


def test_a_result_without_output_is_shown_as_such() -> None:
    assert render_result(ToolResult(True, "")) == "  └ no output\n"
    assert render_result(ToolResult(False, "", exit_code=3)) == "  └ exit code 3\n"


def test_a_refused_call_shows_the_reason() -> None:
    assert render_result(
        ToolResult(False, "long story", denied=True), call=replace(CALL, reason="not now")
    ) == ("  └ refused: not now\n")


def test_the_diff_of_a_change_just_approved_is_not_shown_again() -> None:
    result = ToolResult(True, "ok", Display("swecli/app.py", DIFF, "diff"))
    assert "choose_model" in render_result(result, "Edit swecli/app.py")
    edit = ToolFinished(CALL, "Edit swecli/app.py", result)
    assert render(tools.render_call(edit, approved=True)) == "● Edit swecli/app.py\n"


@pytest.mark.slow
def test_a_huge_line_is_cut_shorter_when_folded_than_when_expanded() -> None:
    result = ToolResult(True, "x" * 1_000_000, Display(body="x" * 1_000_000))
    assert len(render_result(result)) < 600
    shown = render(tools.render_expanded(ToolFinished(CALL, "Run ls", result)))
    assert shown.count("x") == 20_000
    assert "980,000 more characters" in shown


@pytest.mark.parametrize(
    ("title", "head", "shown"),
    [
        ("a.py", "Edit data.py", True),
        ("404", "Fetch http://h/1404", True),
        ("a.py", "Edit a.py", False),
    ],
)
def test_a_result_is_left_out_only_if_the_head_names_it(title: str, head: str, shown: bool) -> None:
    lines = render_result(ToolResult(True, "ok", Display(title, "ok")), head).splitlines()
    assert (f"  └ {title}" in lines) == shown


def test_the_expanded_output_is_the_text_that_the_model_got() -> None:
    result = ToolResult(True, numbered_lines(40), Display("a.py", "40 lines"))
    shown = render(tools.render_expanded(ToolFinished(CALL, "Read a.py", result)))
    assert all(f"line {n}\n" in shown for n in range(40))


@pytest.mark.slow
def test_an_approval_can_show_the_whole_diff_and_folds_it_at_first() -> None:
    long = (
        "--- a/x\n+++ b/x\n@@ -0,0 +1,3000 @@\n"
        + "".join(f"+row {n}\n" for n in range(3_000))
        + "+"
        + "z" * 9_000
    )
    request = replace(ASK_EDIT, preview=Display("x", long, "diff"))
    assert "+ … 2,942 more added lines\n" in render(tools.render_approval(request))
    shown = render(tools.render_approval(request, max_rows=0))
    assert all(f"+ row {n}\n" in shown for n in range(3_000))
    assert shown.count("z") == 9_000


def test_an_approval_shows_the_whole_command_with_hidden_characters_escaped() -> None:
    shown = render(tools.render_approval(ASK_RUN))
    assert "<U+202E>'hidden'\n" in shown
    assert "curl example.org\n" in shown
    assert "in /home/ann/project" in shown
    assert "this command reaches out of the workspace" in shown


def test_an_approval_without_a_preview_shows_the_parameters() -> None:
    request = AskRequest(
        ToolCall("c", "odd", {"target": "a\x1b[31m"}), "Run this?", "Do odd things", Display()
    )
    shown = render(tools.render_approval(request))
    assert '"target"' in shown
    assert "\x1b" not in shown


def test_a_long_to_do_is_wrapped_behind_its_sign() -> None:
    steps = ({"text": "read every module", "status": "done"},)
    call = replace(CALL, effects=Effects(todo=steps))
    result = ToolResult(True, "", Display("To do", "[x] read every module\n[ ] test"))
    event = ToolFinished(call, "Update the to-do list", result)
    shown = render(tools.render_call(event, has_summary=False), 24)
    assert shown.splitlines()[1:] == [
        "    [x] read every",
        "        module",
        "    [ ] test",
    ]


def test_a_one_line_command_is_shown_once() -> None:
    request = replace(
        ASK_RUN, summary="Run ls -l", preview=Display("", "ls -l", "code", "bash"), why=""
    )
    assert render(tools.render_approval(request)) == "● Run ls -l\n"


def test_a_command_of_several_lines_or_one_too_long_for_the_summary_is_shown_once() -> None:
    shown = render(tools.render_approval(ASK_RUN))
    assert shown.startswith("● Run\n    pytest -q && echo")
    assert shown.count("pytest") == 1
    command = "make " + "target " * 40
    preview = Display("", command, "code", "bash")
    request = replace(ASK_RUN, summary=f"Run {command[:60]}…", preview=preview, why="")
    assert render(tools.render_approval(request)).count("target") == 40


def test_a_plan_is_separated_from_its_heading_as_its_blocks_are_from_each_other() -> None:
    request = replace(ASK_RUN, summary="Plan", plan="# Move it\n\nIn one step.")
    shown = render(Group(*tools.render_plan(request, color=False)))
    assert shown == "● Plan\n\n# Move it\n\nIn one step.\n"


@pytest.mark.parametrize(
    ("decision", "line"),
    [
        (Decision(True), "✓ allowed: Edit swecli/app.py (+2 −2)"),
        (
            Decision(True, "session"),
            "✓ allowed: Edit swecli/app.py (+2 −2) · mode edits",
        ),
        (Decision(False), "✗ refused: Edit swecli/app.py (+2 −2)"),
        (Decision(False, reason="use b.py"), "✗ refused: Edit swecli/app.py (+2 −2) · use b.py"),
    ],
)
def test_a_decision_is_printed_as_one_line(decision: Decision, line: str) -> None:
    assert render(tools.render_decision(ASK_EDIT, decision), 120) == line + "\n"


def test_the_path_of_a_changed_file_is_a_hyperlink(tmp_path: Path) -> None:
    changed, out = Display("src/a b.py", DIFF, "diff"), io.StringIO()
    for shown, root in (
        (changed, tmp_path),
        (changed, None),
        (Display("src/a b.py", "text"), tmp_path),
    ):
        Screen(TextSurface(out, 80), True).print(
            tools.render_summary("Edit src/a b.py (+1 -1)", "ok", CALL, shown, root)
        )
    link = rf"\x1b]8;[^;]*;{tmp_path.as_uri()}/src/a%20b.py\x1b\\[^;]*src/a b.py"
    assert len(re.findall(link, out.getvalue())) == out.getvalue().count("file:") == 1
    Screen(TextSurface(out, 200), True).print(
        tools.render_decision(ASK_EDIT, Decision(True), tmp_path)
    )
    assert f"{tmp_path.as_uri()}/swecli/app.py\x1b" in out.getvalue()


def test_the_mark_before_a_call_has_the_colour_of_its_result() -> None:
    def first_line(result: ToolResult) -> str:
        out = io.StringIO()
        drawing = tools.render_call(ToolFinished(CALL, "Run ls", result))
        Screen(TextSurface(out, 80), True).print(drawing)
        return out.getvalue().splitlines()[0]

    assert first_line(ToolResult(True, "a")).startswith("\x1b[32m● ")
    assert first_line(ToolResult(False, "a")).startswith("\x1b[31m● ")
    assert first_line(ToolResult(False, "a", denied=True)).startswith("\x1b[35m● ")


def test_a_question_of_several_lines_is_shown_once() -> None:
    question = "Which tests?\nAll of them take 4 minutes."
    summary = "Ask Which tests? ⏎ All of them take 4 minutes."
    asked = AskRequest(CALL, question, summary, Display(body=question), choices=("a", "b"))
    assert render(tools.render_approval(asked)) == (
        "● Ask\n    Which tests?\n    All of them take 4 minutes.\n"
    )
