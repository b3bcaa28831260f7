"""Test the lines on a turn's situation, which are sent again only when they change."""

from __future__ import annotations

from datetime import date
from pathlib import Path

from swecli.context.notes import with_notes
from swecli.context.situation import changed_lines, environment_lines, jobs_line, mode_line
from swecli.models.api_message import ApiMessage


def sent(*lines: str) -> ApiMessage:
    return {"role": "user", "content": with_notes("go on", lines)}


def test_the_environment_is_workspace_platform_and_date() -> None:
    lines = environment_lines(Path("/work"), date(2026, 1, 2), "linux")
    assert lines == ["Workspace: /work", "Platform: linux", "Date: 2026-01-02"]


def test_only_lines_that_are_not_in_the_request_yet_are_sent() -> None:
    lines = ["Workspace: /work", "Git branch: main", "Git status: clean"]
    assert changed_lines(lines, []) == lines
    assert changed_lines(lines, [sent(*lines)]) == []
    assert changed_lines([*lines[:2], "Git status: 2 changed"], [sent(*lines)]) == [
        "Git status: 2 changed"
    ]


def test_the_newest_line_of_a_label_counts() -> None:
    past = [sent("Git branch: main"), sent("Git branch: topic")]
    assert changed_lines(["Git branch: main"], past) == ["Git branch: main"]
    assert changed_lines(["Git branch: topic"], past) == []


def test_the_names_of_the_top_level_are_sent_once() -> None:
    assert changed_lines(["Top level: a, b"], [sent("Top level: a")]) == []


def test_a_line_that_the_user_typed_does_not_count_as_sent() -> None:
    typed: ApiMessage = {"role": "user", "content": "- Git branch: main"}
    assert changed_lines(["Git branch: main"], [typed]) == ["Git branch: main"]


def test_plan_mode_is_told_with_what_it_forbids_and_so_is_its_end() -> None:
    assert "nothing may be changed" in mode_line("plan")
    past = [sent(mode_line("plan"))]
    assert changed_lines([mode_line("plan")], past) == []
    ended = changed_lines([mode_line("ask")], past)
    assert ended[0].startswith("Mode: ask")
    assert ended[0].endswith("The mode before it has ended")
    assert changed_lines([mode_line("ask")], [*past, sent(*ended)]) == []


def test_running_jobs_are_told_and_that_none_runs_any_more() -> None:
    assert changed_lines([jobs_line([])], []) == []
    past = [sent(jobs_line(["job 1 (make watch)"]))]
    assert changed_lines([jobs_line(["job 1 (make watch)"])], past) == []
    assert changed_lines([jobs_line([])], past) == ["Background jobs running: none"]
