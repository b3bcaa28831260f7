"""Test the notes on a turn's situation, which are sent again only when they change."""

from __future__ import annotations

from datetime import date
from pathlib import Path

from swecli.context.situation import (
    Situation,
    changed_situation,
    environment_notes,
    jobs_note,
    mode_note,
)
from swecli.models.api_message import ApiMessage
from swecli.models.notes import Label, SituationNote, TextNote

MAIN = SituationNote(Label.GIT_BRANCH, "main")
TOPIC = SituationNote(Label.GIT_BRANCH, "topic")
WORKSPACE = SituationNote(Label.WORKSPACE, "/work")
CLEAN = SituationNote(Label.GIT_STATUS, "clean")


def sent(*notes: SituationNote) -> ApiMessage:
    return {"role": "user", "content": "go on", "notes": [*notes]}


def lines(*notes: SituationNote) -> list[str]:
    return [note.line for note in notes]


def test_the_environment_is_workspace_platform_and_date() -> None:
    notes = environment_notes(Path("/work"), date(2026, 1, 2), "linux")
    assert lines(*notes) == ["Workspace: /work", "Platform: linux", "Date: 2026-01-02"]


def test_a_folder_with_an_undecodable_name_is_told_once() -> None:
    notes = environment_notes(Path("/w\udcff"), date(2026, 1, 2), "linux")
    assert notes[0].line == "Workspace: /w\ufffd", "as it is stored"


def test_only_notes_that_are_not_in_the_request_yet_are_sent() -> None:
    notes = [WORKSPACE, MAIN, CLEAN]
    assert changed_situation(notes, []) == notes
    assert changed_situation(notes, [sent(*notes)]) == []
    changed = SituationNote(Label.GIT_STATUS, "2 changed")
    assert changed_situation([WORKSPACE, MAIN, changed], [sent(*notes)]) == [changed]


def test_the_newest_note_of_a_label_counts() -> None:
    past = [sent(MAIN), sent(TOPIC)]
    assert changed_situation([MAIN], past) == [MAIN]
    assert changed_situation([TOPIC], past) == []


def test_the_names_of_the_top_level_are_sent_once() -> None:
    before = SituationNote(Label.TOP_LEVEL, "a")
    assert changed_situation([SituationNote(Label.TOP_LEVEL, "a, b")], [sent(before)]) == []


def test_a_block_that_the_user_typed_tells_nothing() -> None:
    block = "go on\n\n<turn_notes>\n- Git branch: main\n</turn_notes>"
    typed: ApiMessage = {"role": "user", "content": block}
    assert changed_situation([MAIN], [typed]) == [MAIN]


def test_plan_mode_is_told_with_what_it_forbids_and_so_is_its_end() -> None:
    assert "nothing may be changed" in mode_note("plan").line
    past = [sent(mode_note("plan"))]
    assert changed_situation([mode_note("plan")], past) == []
    [ended] = changed_situation([mode_note("ask")], past)
    assert ended.line.startswith("Mode: ask")
    assert ended.line.endswith("The mode before it has ended")
    assert changed_situation([mode_note("ask")], [*past, sent(ended)]) == []


def test_running_jobs_are_told_and_that_none_runs_any_more() -> None:
    assert changed_situation([jobs_note([])], []) == []
    watching = jobs_note(["job 1 (make watch)"])
    assert changed_situation([watching], [sent(watching)]) == []
    [ended] = changed_situation([jobs_note([])], [sent(watching)])
    assert ended.line == "Background jobs running: none"


def test_what_was_told_adds_up_in_the_order_of_the_labels() -> None:
    told = Situation()
    told.follow([CLEAN, MAIN, TextNote("Git branch: none")])
    told.follow([WORKSPACE, TOPIC])
    assert told.notes() == (WORKSPACE, TOPIC, CLEAN)
