"""Test the history file of typed lines."""

from __future__ import annotations

import asyncio
import stat
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from swecli.repl.input.history import LineHistory


def load_entries(path: Path) -> list[str]:
    """Return the entries that a new process loads, newest first."""
    return list(LineHistory(path).load_history_strings())


def test_lines_are_loaded_in_the_next_run(tmp_path: Path) -> None:
    path = tmp_path / "state" / "history"
    history = LineHistory(path)
    for line in ("first", "second\nwith\n\n+plus", "# third"):
        history.append_string(line)
    assert load_entries(path) == ["# third", "second\nwith\n\n+plus", "first"]


def test_only_the_owner_can_read_the_history_file(tmp_path: Path) -> None:
    path = tmp_path / "state" / "history"
    LineHistory(path).append_string("secret")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_a_repeated_line_is_stored_once(tmp_path: Path) -> None:
    history = LineHistory(tmp_path / "h")
    for line in ("a", "a", "b", "a", "  "):
        history.append_string(line)
    assert load_entries(tmp_path / "h") == ["a", "b", "a"]


def test_pastes_are_stored_expanded(tmp_path: Path) -> None:
    history, pasted = LineHistory(tmp_path / "h"), "word " * 1000
    history.append_string(f"see {history.pastes.add_text(pasted)}")
    assert load_entries(tmp_path / "h") == [f"see {pasted}"]


def test_a_line_with_a_very_long_paste_is_in_the_history_of_this_run_only(tmp_path: Path) -> None:
    history = LineHistory(tmp_path / "h")
    line = f"see {history.pastes.add_text('word ' * 30_000)}"
    history.append_string(line)
    history.append_string("next")
    assert history.get_strings() == [line, "next"]
    assert load_entries(tmp_path / "h") == ["next"]


def test_a_very_long_line_of_an_earlier_version_is_offered_as_a_placeholder(tmp_path: Path) -> None:
    (tmp_path / "h").write_text(f"# 2026-11-28 10:00:00\n+{'x' * 200_000}\n")
    history = LineHistory(tmp_path / "h")
    [line] = history.load_history_strings()
    assert line == "[Pasted text #1 · 200,000 characters]"
    assert history.pastes.expand(line) == "x" * 200_000


def test_two_processes_append_to_one_history_file(tmp_path: Path) -> None:
    one, two = LineHistory(tmp_path / "h"), LineHistory(tmp_path / "h")
    one.append_string("a")
    two.append_string("b")
    one.append_string("c")
    assert load_entries(tmp_path / "h") == ["c", "b", "a"]


def test_the_lines_of_the_same_folder_come_first(tmp_path: Path) -> None:
    for folder, line in (("a", "one\nmore"), ("b", "two"), ("a", "three"), ("b", "four")):
        LineHistory(tmp_path / "h", Path(f"/{folder}")).append_string(line)
    with (tmp_path / "h").open("a") as file:
        file.write("\n# 2026-11-28 10:00:00\n+of an earlier version\n")
    lines = LineHistory(tmp_path / "h", Path("/a")).load_history_strings()
    assert list(lines) == ["three", "one\nmore", "of an earlier version", "four", "two"]


def test_a_history_that_cannot_be_written_is_reported_once(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    history = LineHistory(tmp_path / "file" / "history")
    history.append_string("a")
    history.append_string("b")
    assert "history cannot be written" in history.pop_error()
    assert history.pop_error() == ""


def test_the_line_editor_loads_the_history(tmp_path: Path) -> None:
    LineHistory(tmp_path / "h").append_string("kept")

    async def read() -> list[str]:
        return [line async for line in LineHistory(tmp_path / "h").load()]

    assert asyncio.run(read()) == ["kept"]


@given(
    st.text(
        alphabet=st.characters(exclude_categories=["Cs"], exclude_characters="\r\x00"), min_size=1
    )
)
def test_any_line_is_loaded_as_it_was_stored(tmp_path_factory, line: str) -> None:  # type: ignore[no-untyped-def]
    path = tmp_path_factory.mktemp("history") / "h"
    LineHistory(path).append_string(line)
    assert load_entries(path) == ([line] if line.strip() else [])


def test_lines_of_the_folder_come_before_those_of_others(tmp_path: Path) -> None:
    here = LineHistory(tmp_path / "history", tmp_path / "here")
    elsewhere = LineHistory(tmp_path / "history", tmp_path / "elsewhere")
    here.append_string("run the tests")
    here.append_string("two\nlines")
    elsewhere.append_string("deploy")
    again = LineHistory(tmp_path / "history", tmp_path / "here")
    assert list(again.load_history_strings()) == ["two\nlines", "run the tests", "deploy"]


def test_lines_that_an_earlier_version_stored_are_kept(tmp_path: Path) -> None:
    (tmp_path / "history").write_text("\n# 2026-01-01 10:00:00\n+old\n")
    history = LineHistory(tmp_path / "history", tmp_path)
    history.append_string("new")
    again = LineHistory(tmp_path / "history", tmp_path)
    assert list(again.load_history_strings()) == ["new", "old"]
