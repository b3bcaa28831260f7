"""Test a pull request as a review target."""

from __future__ import annotations

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
