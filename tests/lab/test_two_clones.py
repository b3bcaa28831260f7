"""Test that the page on two clones shows what two people with homes of their own see."""

from __future__ import annotations

from pathlib import Path

import pytest

from lab.learning.two_clones import BRITISH, CHECK_ALL, LINES, TwoClones, render

PAGE = Path(__file__).parents[2] / "docs" / "explanation" / "two-clones.md"


@pytest.mark.slow
def test_the_page_shows_what_each_person_sees_after_each_commit(tmp_path: Path) -> None:
    team = TwoClones(tmp_path / "team")
    rows = team.play()
    assert render(rows) in PAGE.read_text(encoding="utf-8")
    last = rows[-1].sees
    assert f"{CHECK_ALL} twice" in last["Ada"][0], (
        "in the end both have the text that the merge chose"
    )
    assert f"{CHECK_ALL} twice" in last["Ben"][0]
    assert not any(text.startswith(LINES[:10]) for text in last["Ada"][0]), "her own off wins"
    assert BRITISH not in last["Ben"][0], "a file that is gone takes its strategy with it"
    assert len(team.evidence) == 4, "each reads what both saw"
