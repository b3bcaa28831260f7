"""git, asked carefully."""

from __future__ import annotations

from pathlib import Path

import pytest

from swecli.models.errors import BadInput
from swecli.review.git import run_git
from tests.support.project import make_project


def test_no_program_of_the_repositorys_configuration_is_started() -> None:
    root = make_project(Path("shop").resolve())
    mark = Path("started").resolve()
    for name in ("core.fsmonitor", "diff.external", "core.pager"):
        run_git(root, "config", name, f"touch {mark}; true")
    (root / "README.md").write_text("other")
    assert "other" in run_git(root, "diff", "--no-ext-diff", "--no-textconv")
    assert not mark.exists()


def test_a_machine_without_git_says_so() -> None:
    with pytest.raises(BadInput, match="git"):
        run_git(Path.cwd(), "no-such-command")
