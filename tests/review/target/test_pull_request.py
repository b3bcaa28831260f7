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


@pytest.mark.parametrize("patch", ["", "@@ -1,2 +0,0 @@\n-one\n-two\n"])
def test_a_file_that_a_pull_request_deletes_is_read_also_if_github_shows_none_of_it(
    patch: str,
) -> None:
    root = make_project(Path("shop").resolve())
    who = ("git", "-c", "user.name=A", "-c", "user.email=a@example.org")
    (root / "old.py").write_text("one\ntwo\n")
    for words in (("add", "-A"), ("commit", "-qm", "old")):
        subprocess.run([*who, *words], cwd=root, check=True)
    with FakeGitHub({"old.py": patch}) as hub:
        hub.follow(root)
        hub.base = hub.head
        hub.removed = {"old.py"}
        for words in (("rm", "-q", "old.py"), ("commit", "-qm", "gone")):
            subprocess.run([*who, *words], cwd=root, check=True)
        hub.follow(root)
        target = resolve_target(root, ("--pr", "7"), hub.environ())
    assert (target.files, target.deleted, target.skips) == (("old.py",), ("old.py",), ())
    assert target.diffs["old.py"].rows == (("-", 1, "one"), ("-", 2, "two"))
    assert target.sources.before["old.py"].source.lines == ("one", "two")
