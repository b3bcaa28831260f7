"""Test what is read about the folder that a turn works in."""

from __future__ import annotations

import subprocess
from contextlib import suppress
from pathlib import Path

import pytest

from swecli.tools.surroundings import Surroundings


def git(folder: Path, *words: str) -> None:
    identity = ("-c", "user.name=A", "-c", "user.email=a@b.c")
    subprocess.run(["git", *identity, *words], cwd=folder, check=True, capture_output=True)


def read(surroundings: Surroundings) -> dict[str, str]:
    """Return label → value, however long git takes."""
    surroundings.begin()
    assert surroundings._thread is not None
    surroundings._thread.join()
    return {note.label: note.value for note in surroundings.notes()}


def test_a_repository_is_described_by_branch_changes_and_last_commits(tmp_path: Path) -> None:
    git(tmp_path, "init", "-b", "topic")
    surroundings = Surroundings(tmp_path)
    assert read(surroundings)["Git branch"] == "topic"
    for number in range(4):
        (tmp_path / "a.py").write_text(f"{number}\n")
        git(tmp_path, "add", ".")
        git(tmp_path, "commit", "-m", f"Step {number}")
    before = read(surroundings)
    assert before["Git status"] == "clean"
    assert before["Last commits"] == '"Step 3", "Step 2", "Step 1"'
    (tmp_path / "a.py").write_text("changed\n")
    (tmp_path / "new.py").write_text("")
    after = read(surroundings)
    assert after["Git status"] == "2 changed or new files"
    assert after["Last commits"] == before["Last commits"]


def test_an_operation_that_has_stopped_is_named_with_its_conflicts(tmp_path: Path) -> None:
    git(tmp_path, "init", "-b", "main")
    for branch, text in (("main", "1"), ("topic", "2"), ("main", "3")):
        if branch == "topic":
            git(tmp_path, "checkout", "-q", "-b", "topic")
        elif text == "3":
            git(tmp_path, "checkout", "-q", "main")
        (tmp_path / "a b.py").write_text(text)
        git(tmp_path, "add", ".")
        git(tmp_path, "commit", "-m", text)
    with suppress(subprocess.CalledProcessError):
        git(tmp_path, "merge", "topic")
    status = read(Surroundings(tmp_path))["Git status"]
    assert status == (
        "a merge waits to be continued or aborted; 1 changed or new files; conflicts in a b.py"
    )
    git(tmp_path, "merge", "--abort")
    git(tmp_path, "checkout", "-q", "topic")
    with suppress(subprocess.CalledProcessError):
        git(tmp_path, "rebase", "main")
    assert read(Surroundings(tmp_path))["Git status"].startswith("a rebase of topic waits")


@pytest.mark.parametrize("shown", ["no", "normal", "all"])
def test_new_files_are_counted_whatever_git_is_set_to_show(tmp_path: Path, shown: str) -> None:
    git(tmp_path, "init")
    git(tmp_path, "config", "status.showUntrackedFiles", shown)
    (tmp_path / "new").mkdir()
    (tmp_path / "new" / "a.txt").touch()
    (tmp_path / "new" / "b.txt").touch()
    assert read(Surroundings(tmp_path))["Git status"] == "1 changed or new files"


def test_what_was_read_ahead_is_told_once_and_then_read_again(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "first").touch()
    surroundings = Surroundings(folder)
    surroundings.begin()
    assert surroundings._thread is not None
    surroundings._thread.join()
    (folder / "second").touch()
    assert read(surroundings)["Top level"] == "first"
    assert read(surroundings)["Top level"] == "first, second"


def test_reading_leaves_the_index_as_it_is(tmp_path: Path) -> None:
    git(tmp_path, "init")
    (tmp_path / "a.py").write_text("1\n")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-m", "one")
    (tmp_path / "a.py").touch()
    index = (tmp_path / ".git/index").read_bytes()
    read(Surroundings(tmp_path))
    assert (tmp_path / ".git/index").read_bytes() == index


def test_a_plain_folder_has_names_and_no_git(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    (folder / "src").mkdir(parents=True)
    (folder / "README").write_text("")
    (folder / ".hidden").write_text("")
    found = read(Surroundings(folder))
    assert found["Top level"] == "README, src/"
    assert not [label for label in found if "Git" in label]


def test_the_pythons_environment_of_the_folder_is_named(tmp_path: Path) -> None:
    python = tmp_path / ".venv/bin/python"
    python.parent.mkdir(parents=True)
    python.touch()
    assert read(Surroundings(tmp_path))["Python"] == ".venv/bin/python"
