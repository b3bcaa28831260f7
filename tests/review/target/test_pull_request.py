"""Test a pull request as a review target."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from swecli.models.errors import SwecliError
from swecli.review.target.targets import resolve_target
from tests.support.github import FakeGitHub
from tests.support.project import make_project

PATCH = "@@ -1,3 +1,4 @@\n one\n+two\n+three\n four\n"


def test_a_pull_request_can_be_reviewed_once_its_newest_commit_is_in_the_clone() -> None:
    with FakeGitHub({"a.py": PATCH, "b.py": PATCH}) as hub:
        check_target(hub)


def check_target(hub: FakeGitHub) -> None:
    root = make_project(Path("shop").resolve())
    for name in ("a.py", "b.py"):
        (root / name).write_text("one\ntwo\nthree\nfour\n")
    with pytest.raises(
        SwecliError, match=r"lacks the newest commit .* git fetch origin pull/7/head"
    ):
        resolve_target(root, ("--pr", "7"), hub.environ())
    hub.follow(root)
    target = resolve_target(root, ("--pr", "7"), hub.environ())
    assert (target.files, target.head, target.pr) == (("a.py", "b.py"), hub.head, 7)
    for number, message in (
        ("8", "no pull request 8"),
        ("x", "not the number"),
        ("0", "not the number"),
    ):
        with pytest.raises(SwecliError, match=message):
            resolve_target(root, ("--pr", number), hub.environ())
    assert resolve_target(root / "shop", ("--pr", "7"), hub.environ()).files == ("a.py", "b.py")
    assert resolve_target(root, ("--pr", "7", "b.py"), hub.environ()).files == ("b.py",)


def commit(root: Path, message: str) -> str:
    """Commit everything in a folder, and return the commit."""
    who = ("git", "-c", "user.name=A", "-c", "user.email=a@example.org")
    for words in (("add", "-A"), ("commit", "-qm", message)):
        subprocess.run([*who, *words], cwd=root, check=True)
    head = ["git", "rev-parse", "HEAD"]
    return subprocess.run(head, cwd=root, check=True, capture_output=True, text=True).stdout.strip()


def test_the_changes_of_a_pull_request_are_those_that_git_sees() -> None:
    root = make_project(Path("shop").resolve())
    (root / "old.py").write_text("one\ntwo\n")
    (root / "moved.py").write_text("".join(f"line {number}\n" for number in range(200)))
    (root / "run.py").write_text("print(1)\n" * 100)
    with FakeGitHub({}) as hub:
        hub.base = commit(root, "before")
        (root / "old.py").unlink()
        (root / "moved.py").rename(root / "renamed.py")
        (root / "run.py").chmod(0o755)
        hub.head = commit(root, "after")
        target = resolve_target(root, ("--pr", "7"), hub.environ())
    assert (target.files, target.deleted) == (("old.py",), ("old.py",))
    assert target.diffs["old.py"].rows == (("-", 1, "one"), ("-", 2, "two"))
    assert target.sources.before["old.py"].source.lines == ("one", "two")
    skipped = {skip.path: skip.rule for skip in target.skips}
    assert skipped == {"renamed.py": "only renamed", "run.py": "empty or only a new mode"}
    assert target.sources.side("base").get("moved.py").lines[7] == "line 7"


def test_a_clone_without_the_base_of_a_pull_request_is_told_what_to_fetch() -> None:
    root = make_project(Path("shop").resolve())
    with FakeGitHub({}) as hub:
        hub.head = commit(root, "after") if (root / "new.py").write_text("x = 1\n") else ""
        with pytest.raises(SwecliError, match=r"is compared with .* fetch-depth: 0"):
            resolve_target(root, ("--pr", "7"), hub.environ())
