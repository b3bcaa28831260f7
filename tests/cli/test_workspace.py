"""Test that swecli refuses to work in the home folder, its parents or `/` unless --allow-home is set."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from swecli.cli.workspace import process_folder, require_workspace, working_folder
from swecli.models.errors import BadInput, UsageError
from tests.support.project import make_project
from tests.support.shell import Run, script, swecli


def refusal(folder: Path | str) -> str:
    """Return the error message for a folder, or "" if it is accepted."""
    try:
        require_workspace(Path(folder), allow_home=False)
    except UsageError as error:
        return str(error)
    return ""


def test_the_home_folder_its_parent_and_the_root_are_refused(own_home: Path) -> None:
    assert f"{own_home} is your home folder: everything in it" in refusal(own_home)
    assert f"{own_home.parent} holds your home folder" in refusal(own_home.parent)
    assert "/ is the whole disk" in refusal("/")
    assert refusal("/").endswith("Change into a project (cd, or -C DIR), or pass --allow-home.")
    link = Path("link")
    link.symlink_to(own_home)
    assert "is your home folder" in refusal(link)


def test_a_folder_inside_or_outside_the_home_folder_is_accepted(own_home: Path) -> None:
    project = own_home / "project"
    project.mkdir()
    assert not refusal(project)
    assert not refusal(Path.cwd())
    assert not refusal(own_home.parent / "work")


@pytest.mark.parametrize("home", [None, "", ".", "relative", "/nowhere/at/all", "/", "\udcff", "~"])
def test_the_workspace_check_works_with_an_unset_or_invalid_home_variable(
    home: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    if home is None:
        monkeypatch.delenv("HOME")
    else:
        monkeypatch.setenv("HOME", home)
    assert not refusal(Path.cwd())
    assert "whole disk" in refusal("/")
    account = Path(pwd.getpwuid(os.getuid()).pw_dir)
    if account.is_dir():
        assert "home folder" in refusal(account), (
            "the account's home folder counts, whatever HOME is"
        )


@pytest.mark.parametrize(
    "argv", [["-p", "hello"], ["review"], ["review", "--allow-home"]], ids=" ".join
)
def test_the_home_folder_is_refused_unless_allow_home_is_given(
    run: Run, argv: list[str], own_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = script("s.json", "Done.")
    monkeypatch.chdir(own_home)
    outcome = run(*argv, "-m", f"scripted/{Path('../work', model.removeprefix('scripted/'))}")
    if "--allow-home" in argv:
        assert "git repository" in outcome.complaint
    else:
        assert (outcome.code, outcome.out) == (2, "")
        assert outcome.complaint.endswith("pass --allow-home.")


def test_a_prompt_runs_in_the_home_folder_with_allow_home(
    run: Run, own_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script("s.json", "Done.")
    monkeypatch.chdir(own_home)
    assert run("-p", "hello", "--allow-home", "-m", "scripted/../work/s.json").out == "Done.\n"
    assert len(run("sessions", "list", "--json").json) == 1
    assert run("-p", "hello", "-C", "/", "-m", "demo").code == 2


def test_a_review_is_refused_if_its_repository_is_the_home_folder(
    run: Run, own_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_project(own_home)
    monkeypatch.chdir(own_home / "shop")
    assert f"{own_home} is your home folder" in run("review", "-m", "demo").complaint


@pytest.mark.parametrize(
    "argv",
    [["--version"], ["sessions", "list"], ["config", "path"], ["models"], ["db", "path"], ["doctor"],
     ["playbook", "list"], ["findings", "list"]],
    ids=" ".join,
)  # fmt: skip
def test_commands_without_a_workspace_run_in_any_folder(
    run: Run, argv: list[str], own_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for folder in (own_home, Path("/")):
        monkeypatch.chdir(folder)
        assert run(*argv).code == 0


@pytest.mark.slow
def test_the_workspace_check_works_for_a_user_without_an_account() -> None:
    if os.geteuid() != 0 or not shutil.which("setpriv"):
        pytest.skip("only root can be somebody else")
    nobody = ("setpriv", "--reuid=54321", "--clear-groups")
    starts = subprocess.run([*nobody, sys.executable, "-c", ""], capture_output=True, check=False)
    if starts.returncode:
        pytest.skip("this Python lies where only root can read it")
    outcome = swecli("-p", "hello", "-C", "/", environ={"HOME": ""}, before=nobody)
    assert (outcome.code, "whole disk" in outcome.complaint) == (2, True)


@pytest.mark.parametrize("place", ["gone", "file"])
def test_working_in_an_invalid_directory_is_an_error(place: str) -> None:
    Path("file").write_text("")
    with pytest.raises(BadInput, match=f"Cannot change to '{place}': "):
        working_folder(place)


def test_a_deleted_working_directory_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    with pytest.raises(BadInput, match="The working directory is gone"):
        process_folder()
