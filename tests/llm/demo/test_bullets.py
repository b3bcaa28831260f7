"""Notes of the playbook: which bear on a request and what they tell to run."""

from __future__ import annotations

import pytest

from swecli.llm.demo.bullets import Note, bears_on, cited_in, names, notes_in, told_in
from swecli.llm.demo.bullets import test_command as command_for_tests
from swecli.models.playbook import SessionPlaybook


def test_notes_are_read_from_the_prompt_as_it_is_rendered() -> None:
    playbook = SessionPlaybook()
    playbook.add("Use tabs")
    playbook.add("- [P-9] a trick\nin two lines")
    text = "You are.\n- [P-7] no bullet" + playbook.as_context()
    assert notes_in(text) == (Note("P-1", "Use tabs"), Note("P-2", "- [P-9] a trick in two lines"))


@pytest.mark.parametrize(
    ("text", "commands"),
    [
        ("Run tests with `pytest -q`", ["pytest -q"]),
        ("run tests with pytest -q", ["pytest -q"]),
        ("Run `python3 -m pytest`, not `pytest`: the latter fails here", ["python3 -m pytest"]),
        ("Use `uv run pytest` instead of `pytest`", ["uv run pytest"]),
        ("`pytest` fails here; `make check` works", ["make check"]),
        ("Never run `git push`", []),
        ("The class `Session` is in `session.py`", []),
        ("Keep answers short", []),
    ],
)
def test_a_note_tells_the_commands_it_recommends_and_not_those_it_warns_of(text: str, commands: list[str]) -> None:
    assert Note("P-1", text).commands() == commands


@pytest.mark.parametrize(
    ("note", "query", "expected"),
    [
        ("Run the linter with `ruff check`", "run the linter", True),
        ("The deploy host is called falcon", "what is the deploy host?", True),
        ("The deploy host is called falcon", "deploy this", False),
        ("Keep answers short", "list files", False),
    ],
)
def test_a_note_bears_on_a_request_by_shared_content_words(note: str, query: str, expected: bool) -> None:
    assert bears_on(Note("P-1", note), query) is expected


def test_the_newest_note_about_tests_gives_their_command() -> None:
    notes = (Note("P-1", "run tests with `pytest`"), Note("P-4", "run tests with `make check`"), Note("P-5", "be nice"))
    assert command_for_tests(notes) == ("make check", notes[1])
    assert command_for_tests(notes[2:]) is None


def test_a_note_names_a_path_only_as_a_whole() -> None:
    assert names(Note("P-1", "keep src/app.py small"), ["src/app.py"])
    assert not names(Note("P-1", "keep src/app.pyx small"), ["src/app.py"])


def test_cited_ids_are_found_once_each_in_order() -> None:
    assert cited_in("as [P-3] and [P-1] say, [P-3]; P-9") == ["P-3", "P-1"]


def test_a_program_in_a_bin_folder_is_a_command_and_a_file_is_none() -> None:
    assert Note("P-1", "The tests run with `.venv/bin/python -m pytest -q tests/models`").commands() == [
        ".venv/bin/python -m pytest -q tests/models"
    ]
    assert Note("P-2", "The tests are in `tests/models.py`").commands() == []


def test_notes_behind_the_users_messages_change_what_is_known() -> None:
    said = "hi\n\n<turn_notes>\n- Strategy [P-2] is new: Run make\n- Strategy [P-1] no longer applies.\n</turn_notes>"
    later = "so\n\n<turn_notes>\n- Strategy [P-2] now reads: Run ninja\n</turn_notes>"
    assert told_in([Note("P-1", "Use tabs")], [said, later]) == (Note("P-2", "Run ninja"),)
