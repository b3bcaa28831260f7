"""Test the tool `list_files`."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from swecli.models.message import ToolResult

RunTool = Callable[..., Awaitable[ToolResult]]


@pytest.fixture
def tree(root: Path) -> Path:
    for name in (
        "src/app.py",
        "src/deep/er/x.py",
        "README.md",
        "build/out.js",
        ".gitignore",
        "tests/test_app.py",
    ):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).touch()
    (root / ".gitignore").write_text("build/\n")
    (root / "src" / "link").symlink_to("/etc")
    return root


async def test_two_levels_are_listed_sorted_and_without_ignored_files(
    run: RunTool, tree: Path
) -> None:
    result = await run("list_files")
    assert result.for_model.split("\n") == [
        ".: 5 files, 3 folders",
        ".gitignore",
        "README.md",
        "src/",
        "src/app.py",
        "src/deep/",
        "src/link -> /etc",
        "tests/",
        "tests/test_app.py",
    ]
    assert result.for_user.body == "5 files, 3 folders"


async def test_a_pattern_matches_files_at_all_levels(run: RunTool, tree: Path) -> None:
    result = await run("list_files", pattern="*.py")
    assert result.for_model.split("\n")[1:] == [
        "src/app.py",
        "src/deep/er/x.py",
        "tests/test_app.py",
    ]
    assert (await run("list_files", pattern="*.py", depth=2)).for_model.split("\n")[1:] == [
        "src/app.py",
        "tests/test_app.py",
    ]
    assert (await run("list_files", pattern="*.none")).for_model == ".: 0 files"


async def test_path_and_depth_limit_the_listing(run: RunTool, tree: Path) -> None:
    assert (await run("list_files", path="src", depth=1)).for_model.split("\n") == [
        "src: 2 files, 1 folder",
        "src/app.py",
        "src/deep/",
        "src/link -> /etc",
    ]
    assert "build/out.js" in (await run("list_files", path="build")).for_model


async def test_a_long_listing_is_cut_and_names_the_number_of_files(
    run: RunTool, root: Path
) -> None:
    for number in range(620):
        (root / f"f{number:04}").touch()
    lines = (await run("list_files")).for_model.split("\n")
    assert lines[0] == ".: 620 files"
    assert len(lines) == 502
    assert lines[-1].startswith("[… 120 more not shown")


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("srx", "Near names: src"),
        ("README.md", "is a file"),
    ],
)
async def test_a_path_that_cannot_be_listed_is_reported_in_one_line(
    run: RunTool, tree: Path, path: str, words: str
) -> None:
    result = await run("list_files", path=path)
    assert not result.ok
    assert words in result.for_model
    assert "\n" not in result.for_model


@pytest.mark.parametrize("name", ["a\nb\x1b[31m", "bad\udcff", '"quoted"', "back\\slash", "a b"])
async def test_a_name_is_taken_as_it_is_listed(run: RunTool, root: Path, name: str) -> None:
    (root / name).write_text("content\n")
    (listed,) = (await run("list_files", pattern="*")).for_model.split("\n")[1:]
    assert "content" in (await run("read_file", path=listed)).for_model
    assert (await run("write_file", path=listed, content="new\n")).ok
    assert "new" in (await run("search_files", pattern="new", path=listed)).for_model


async def test_control_characters_in_file_names_are_escaped(run: RunTool, root: Path) -> None:
    (root / "a\nb\x1b[31m").touch()
    (root / os.fsdecode(b"bad\xff")).touch()
    assert (await run("list_files")).for_model.split("\n")[1:] == [
        r'"a\nb\x1b[31m"',
        r'"bad\xff"',
    ]
