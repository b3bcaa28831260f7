"""Test that swecli refuses to work in the home folder, its parents or `/` unless --allow-home is set."""

from __future__ import annotations

import os
import pwd
import shutil
from pathlib import Path

import pytest

from swecli.cli.startup import _require_workspace
from swecli.models.errors import UsageError
from tests.support.project import make_project
from tests.support.shell import Run, script, swecli


def refusal(folder: Path | str) -> str:
    """Return the error message for a folder, or "" if it is accepted."""
    try:
        _require_workspace(Path(folder), allow_home=False)
    except UsageError as error:
        return str(error)
    return ""


def test_a_home_what_lies_above_it_and_the_whole_disk_are_refused(own_home: Path) -> None:
    assert f"{own_home} is your home folder: everything in it" in refusal(own_home)
    assert f"{own_home.parent} holds your home folder" in refusal(own_home.parent)
    assert "/ is the whole disk" in refusal("/")
    assert refusal("/").endswith("Change into a project (cd, or -C DIR), or pass --allow-home.")
    link = Path("link")
    link.symlink_to(own_home)
    assert "is your home folder" in refusal(link)


def test_a_project_is_a_workspace_wherever_it_is(own_home: Path) -> None:
    project = own_home / "project"
    project.mkdir()
    assert not refusal(project)
    assert not refusal(Path.cwd())
    assert not refusal(own_home.parent / "work")


@pytest.mark.parametrize("home", [None, "", ".", "relative", "/nowhere/at/all", "/", "\udcff", "~"])
def test_a_home_that_is_unset_or_made_up_is_no_fault(home: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    if home is None:
        monkeypatch.delenv("HOME")
    else:
        monkeypatch.setenv("HOME", home)
    assert not refusal(Path.cwd())
    assert "whole disk" in refusal("/")
    account = Path(pwd.getpwuid(os.getuid()).pw_dir)
    if account.is_dir():
        assert "home folder" in refusal(account), "the account's own is one all the same"


@pytest.mark.parametrize("argv", [["-p", "hello"], ["review"], ["review", "--allow-home"]], ids=" ".join)
def test_the_whole_disk_is_worked_in_only_when_asked_for(
    run: Run, argv: list[str], own_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = script("s.json", "Done.")
    monkeypatch.chdir(own_home)
    done = run(*argv, "-m", f"scripted/{Path('../work', model.removeprefix('scripted/'))}")
    if "--allow-home" in argv:
        assert "git repository" in done.complaint
    else:
        assert (done.code, done.out) == (2, "")
        assert done.complaint.endswith("pass --allow-home.")


def test_a_prompt_runs_there_when_asked_for(run: Run, own_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script("s.json", "Done.")
    monkeypatch.chdir(own_home)
    assert run("-p", "hello", "--allow-home", "-m", "scripted/../work/s.json").out == "Done.\n"
    assert len(run("sessions", "list", "--json").json) == 1
    assert run("-p", "hello", "-C", "/", "-m", "demo").code == 2


def test_a_review_below_a_home_that_is_a_repository_would_be_one_of_the_home(
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
def test_what_needs_no_workspace_works_anywhere(
    run: Run, argv: list[str], own_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for folder in (own_home, Path("/")):
        monkeypatch.chdir(folder)
        assert run(*argv).code == 0


@pytest.mark.slow
def test_a_user_without_a_name_is_no_fault() -> None:
    if os.geteuid() != 0 or not shutil.which("setpriv"):
        pytest.skip("only root can be somebody else")
    nobody = ("setpriv", "--reuid=54321", "--clear-groups")
    done = swecli("-p", "hello", "-C", "/", environ={"HOME": ""}, before=nobody)
    assert (done.code, "whole disk" in done.complaint) == (2, True)
