"""Files as a review reads them."""

from __future__ import annotations

from pathlib import Path

from swecli.review.judge.sources import KEPT, Sources


def test_only_a_few_files_are_kept() -> None:
    for number in range(KEPT + 5):
        Path(f"{number}.py").write_text("x\n")
    sources = Sources(Path.cwd())
    assert all(sources.get(f"{number}.py").lines == ("x",) for number in range(KEPT + 5))
    assert len(sources._kept) == KEPT


def test_a_link_out_of_the_project_is_not_followed() -> None:
    Path("link").symlink_to("/etc/passwd")
    assert "link out of the workspace" in Sources(Path.cwd()).get("link").problem
