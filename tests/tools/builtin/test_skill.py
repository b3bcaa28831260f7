"""Test the tool `skill`, which reads only files of a skill's folder."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path

import pytest

from swecli.config.trust import Skill
from swecli.models.message import ToolResult
from swecli.tools.base import ToolContext

RunTool = Callable[..., Awaitable[ToolResult]]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Create a skill in the user's folder, outside the workspace."""
    folder = tmp_path / "own" / "pdf"
    (folder / "scripts").mkdir(parents=True)
    (folder / "SKILL.md").write_text("---\nname: pdf\n---\nRun scripts/fill.py.\n")
    (folder / "scripts/fill.py").write_text("print('filled')\n")
    return folder


@pytest.fixture
def ctx(ctx: ToolContext, folder: Path) -> ToolContext:
    """Return a context with that skill."""
    skills = {"pdf": Skill("pdf", folder / "SKILL.md")}
    return replace(ctx, skills=lambda: skills)


async def test_the_text_of_a_skill_names_its_folder_and_files(run: RunTool, folder: Path) -> None:
    result = await run("skill", name="pdf")
    assert result.ok
    assert result.for_model.startswith(f"[{folder}/SKILL.md; beside it: scripts/fill.py]\n")
    assert "Run scripts/fill.py." in result.for_model
    assert "print('filled')" in (await run("skill", name="pdf", file="scripts/fill.py")).for_model


async def test_what_nobody_can_see_in_a_skill_is_left_out(run: RunTool, folder: Path) -> None:
    (folder / "SKILL.md").write_text("---\nname: pdf\n---\nFill it.\U000e0041\u202e\n")
    assert (await run("skill", name="pdf")).for_model.endswith("Fill it.\n")


@pytest.mark.parametrize(
    ("file", "why"),
    [
        ("../other.txt", "outside the skill's folder"),
        ("/etc/passwd", "outside the skill's folder"),
        ("leak", "outside the skill's folder"),
        ("none.md", "No such file"),
        ("scripts", "Is a directory"),
        ("binary", "is not text"),
        ("a\0b", "null"),
    ],
)
async def test_files_outside_the_skill_and_unreadable_ones_are_refused(
    run: RunTool, folder: Path, file: str, why: str
) -> None:
    (folder.parent / "other.txt").write_text("secret")
    (folder / "leak").symlink_to(folder.parent / "other.txt")
    (folder / "binary").write_bytes(b"\0\1")
    result = await run("skill", name="pdf", file=file)
    assert not result.ok
    assert why in result.for_model
    assert "secret" not in result.for_model


async def test_an_unknown_skill_is_reported_with_the_existing_names(
    run: RunTool, folder: Path
) -> None:
    result = await run("skill", name="xls")
    assert not result.ok
    assert result.for_model == "There is no skill 'xls'. Skills: pdf."
