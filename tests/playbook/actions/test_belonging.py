"""Test taking over the memory of a folder that is gone, and separating a fork, as a shell does."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

from tests.support.repositories import commit, git, make_repository
from tests.support.shell import HELLO, swecli


def remember(folder: Path, text: str) -> None:
    """Run a turn in a folder, and add a strategy."""
    assert swecli("-C", str(folder), "-m", HELLO, "-p", f"work in {folder.name}").code == 0
    assert swecli("playbook", "add", text, "-C", str(folder)).code == 0


def strategies(folder: Path) -> list[str]:
    run = swecli("playbook", "list", "--json", "-C", str(folder))
    return [strategy["content"] for strategy in run.json]


def left(folder: Path) -> list[Any]:
    return list(swecli("playbook", "list", "--all", "--json", "-C", str(folder)).json)


def make_folder(folder: Path) -> Path:
    folder.mkdir()
    (folder / "notes.txt").write_text("some", encoding="utf-8")
    return folder


def test_what_a_deleted_folder_left_is_listed_and_taken_over(tmp_path: Path) -> None:
    old, new = make_folder(tmp_path / "old"), make_folder(tmp_path / "new")
    remember(old, "we use tabs")
    assert left(new) == []
    shutil.rmtree(old)
    [memory] = left(new)
    assert (memory["folder"], memory["strategies"], memory["sessions"]) == (str(old), 1, 1)
    listed = swecli("playbook", "list", "--all", "-C", str(new))
    assert f"swecli playbook adopt {old}" in listed.out
    adopted = swecli("playbook", "adopt", str(old), "-C", str(new))
    assert adopted.out.strip() == (
        f"This folder has now what is stored for {old}: 1 strategy, 1 session."
    )
    assert strategies(new) == ["we use tabs"]
    assert left(new) == []


def test_a_separated_fork_begins_with_nothing_and_can_go_back(tmp_path: Path) -> None:
    proj = make_repository(tmp_path / "proj")
    remember(proj, "we use tabs")
    git(tmp_path, "clone", "-q", "proj", "fork")
    fork = tmp_path / "fork"
    assert strategies(fork) == ["we use tabs"]
    separated = swecli("playbook", "separate", "--json", "-C", str(fork)).json
    assert strategies(fork) == []
    remember(fork, "we use spaces")
    commit(fork, "two")
    assert strategies(fork) == ["we use spaces"]
    assert strategies(proj) == ["we use tabs"]
    back = swecli("playbook", "adopt", separated["shared"], "-C", str(fork))
    assert back.code == 0
    assert strategies(fork) == strategies(proj) == ["we use spaces", "we use tabs"]


def test_the_sessions_of_a_separated_fork_stay_with_it(tmp_path: Path) -> None:
    make_repository(tmp_path / "proj")
    git(tmp_path, "clone", "-q", "proj", "fork")
    remember(tmp_path / "fork", "we use tabs")
    swecli("playbook", "separate", "-C", str(tmp_path / "fork"))
    listed = swecli("sessions", "list", "--here", "--json", "-C", str(tmp_path / "fork")).json
    assert [session["directory"] for session in listed] == [str(tmp_path / "fork")]


def test_a_folder_that_shares_nothing_is_not_separated(tmp_path: Path) -> None:
    folder = make_folder(tmp_path / "notes")
    remember(folder, "we use tabs")
    run = swecli("playbook", "separate", "-C", str(folder))
    assert run.complaint == (
        "swecli: No clone or fork shares this folder's memory: its key is its own."
    )


def test_what_nothing_is_stored_for_is_named(tmp_path: Path) -> None:
    folder = make_folder(tmp_path / "notes")
    remember(folder, "we use tabs")
    run = swecli("playbook", "adopt", "/nowhere", "-C", str(folder))
    assert run.complaint == (
        "swecli: Nothing is stored for '/nowhere'.  See swecli playbook list --all"
    )
    run = swecli("playbook", "adopt", str(folder), "-C", str(folder))
    assert run.complaint == (f"swecli: This folder has what is stored for {folder} already.")
