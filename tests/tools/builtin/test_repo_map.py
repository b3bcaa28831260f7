"""Test the tool `repo_map`."""

from __future__ import annotations

import asyncio
import os
import subprocess
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from swecli.models.message import ToolResult
from swecli.tools.base import CommandAccess, ToolContext
from swecli.tools.builtin.repo_map import repo_map
from swecli.tools.guard import Reading
from swecli.tools.permissions import Permissions
from tests.tools.conftest import Answers, make_run

RunTool = Callable[..., Awaitable[ToolResult]]


def programs_in(folder: Path) -> list[str]:
    """Return the numbers of the processes that run in a folder."""
    found = []
    for entry in Path("/proc").glob("[0-9]*/cwd"):
        with suppress(OSError):
            if entry.readlink() == folder.resolve():
                found.append(entry.parent.name)
    return found


@pytest.fixture
def shop(root: Path) -> Path:
    """A project of three files, of which two refer to the third."""
    (root / "shop").mkdir()
    (root / "shop/prices.py").write_text("class Price:\n    ...\n\n\ndef vat(p): ...\n\n\nX = 1\n")
    (root / "shop/cart.py").write_text("from shop.prices import Price, vat\n\nvat(Price())\n")
    (root / "main.py").write_text("from shop.prices import Price\n\n\ndef main():\n    Price()\n")
    return root


async def test_the_map_lists_definitions_with_their_lines_best_first(
    run: RunTool, shop: Path
) -> None:
    result = await run("repo_map")
    assert result.for_model == (
        "4 of 4 definitions in 2 of 3 files; those that other files refer to most come first:\n"
        "shop/prices.py\n"
        "  1: class Price:\n"
        "  5: def vat(p): ...\n"
        "  8: X = 1\n"
        "main.py\n"
        "  4: def main():"
    )


async def test_what_does_not_fit_is_left_out_from_the_end(
    run: RunTool, shop: Path, ctx: ToolContext
) -> None:
    ctx.model.count_tokens = lambda text: 40 * text.count("\n")
    result = await run("repo_map", tokens=100)
    assert "1 of 4 definitions in 1 of 3 files" in result.for_model
    assert "class Price" in result.for_model
    assert "def vat" not in result.for_model
    assert "name a folder or file, or raise tokens" in result.for_model


async def test_the_map_never_exceeds_what_a_result_may_have(
    run: RunTool, root: Path, ctx: ToolContext
) -> None:
    (root / "a.py").write_text("".join(f"def function_{n}(): ...\n" for n in range(2000)))
    ctx.model.page_limit = 1000
    result = await run("repo_map", tokens=10_000)
    assert 500 < len(result.for_model) < 1300


async def test_a_folder_or_a_file_is_mapped_alone(run: RunTool, shop: Path) -> None:
    folder = await run("repo_map", path="shop")
    assert "shop/prices.py" in folder.for_model
    assert "main.py" not in folder.for_model
    file = await run("repo_map", path="main.py")
    assert file.for_model.endswith("main.py\n  4: def main():")


async def test_ignored_secret_and_denied_files_are_not_read(
    run: RunTool, shop: Path, permissions: Permissions, answers: Answers
) -> None:
    subprocess.run(["git", "init", "-q"], cwd=shop, check=True)
    (shop / ".gitignore").write_text("built.py\n")
    (shop / ".swecliignore").write_text("hidden.py\n")
    for name in ("built", "hidden", "credentials", "denied", "seen"):
        (shop / f"{name}.py").write_text(f"def from_{name}(): ...\n")
    permissions.deny = Permissions(deny=["read(denied.py)"]).deny
    text = (await run("repo_map")).for_model
    assert "from_seen" in text
    for name in ("built", "hidden", "credentials", "denied"):
        assert f"from_{name}" not in text
    assert answers.asked == []


async def test_an_ignored_file_that_is_named_is_asked_about(
    run: RunTool, shop: Path, answers: Answers
) -> None:
    (shop / ".swecliignore").write_text("main.py\n")
    assert (await run("repo_map", path="main.py")).ok
    assert "named by an ignore file" in answers.asked[0].why


async def test_files_that_cannot_be_read_are_named(run: RunTool, shop: Path) -> None:
    (shop / "binary.py").write_bytes(b"x = 1\0\0\0")
    with (shop / "large.js").open("wb") as file:
        file.truncate(10_000_000)
    (shop / "broken.py").write_text("def works(): ...\nclass ((((\n  def\n")
    text = (await run("repo_map")).for_model
    assert "def works(): ..." in text
    assert "[not read: binary.py (binary), large.js (too large)]" in text


async def test_loops_of_links_are_not_followed(run: RunTool, shop: Path) -> None:
    (shop / "shop/loop").symlink_to(shop)
    (shop / "again.py").symlink_to(shop / "main.py")
    assert "in 2 of 3 files" in (await run("repo_map")).for_model


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("nothing", "does not exist"),
        ("texts", "no source file of a known language"),
        ("texts/notes.md", "no source file of a known language"),
        ("pipe.py", "[not read: pipe.py (not a regular file)]"),
    ],
)
async def test_what_cannot_be_mapped_is_said_in_one_line(
    run: RunTool, root: Path, path: str, words: str
) -> None:
    (root / "texts").mkdir()
    (root / "texts/notes.md").write_text("# Notes\n")
    os.mkfifo(root / "pipe.py")
    assert words in (await run("repo_map", path=path)).for_model


async def test_names_with_hidden_characters_are_shown_escaped(run: RunTool, root: Path) -> None:
    (root / "a\u202e.py").write_text("def f(x='\u200b'): ...\n")
    text = (await run("repo_map")).for_model
    assert "\"a\\u202e.py\"\n  1: def f(x='\\u200b'): ..." in text


async def test_a_map_that_takes_too_long_says_what_is_missing(
    run: RunTool, shop: Path, ctx: ToolContext
) -> None:
    ctx.commands.timeout = 0.01
    result = await run("repo_map", path="shop/prices.py")
    assert "[stopped after 0.01 s: 1 file not read. Name a folder.]" in result.for_model


async def test_an_interrupted_map_leaves_no_process(run: RunTool, root: Path) -> None:
    (root / "slow.py").write_text("(" * 200_000)
    running = asyncio.ensure_future(run("repo_map"))
    while not programs_in(root):
        await asyncio.sleep(0.02)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    async with asyncio.timeout(20):  # a guard: on a busy machine a killed process ends later
        while programs_in(root):
            await asyncio.sleep(0.02)


@pytest.mark.slow
async def test_a_file_that_hangs_its_parser_is_left_out_and_the_rest_is_read(
    run: RunTool, shop: Path
) -> None:
    (shop / "bad.py").write_text("(" * 200_000)
    text = (await run("repo_map")).for_model
    assert "[not read: bad.py (it cannot be parsed)]" in text
    assert "class Price" in text


@pytest.mark.slow
async def test_fifty_thousand_files_are_mapped(run: RunTool, root: Path, ctx: ToolContext) -> None:
    ctx.commands.timeout = 300
    for folder in range(500):
        (root / f"f{folder}").mkdir()
        for file in range(100):
            (root / f"f{folder}/m{file}.py").write_text(f"def f_{folder}_{file}(): ...\n")
    (root / "main.py").write_text("from f7 import m9\nm9.f_7_9()\n")
    text = (await run("repo_map", tokens=100)).for_model
    assert "of 50001 files" in text
    assert text.splitlines()[1:3] == ["f7/m9.py", "  1: def f_7_9(): ..."]


PLACES = ["a.py", "private/k.py", "secrets/credentials.py", "notes/b.py", "sub/deep/c.py"]
RULES = [
    "read(private/**)",
    "read(*.py)",
    "read(/sub/)",
    "read(notes)",
    "read(**)",
    "repo_map(/a.py)",
]
rules = st.lists(st.sampled_from(RULES), max_size=2)


@pytest.mark.slow
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=15)
@given(deny=rules, ask=rules, allow=rules, says_yes=st.booleans())
async def test_no_map_has_what_the_guard_does_not_leave_to_be_read(
    root: Path, deny: list[str], ask: list[str], allow: list[str], says_yes: bool
) -> None:
    for number, name in enumerate(PLACES):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(f"class Canary{number}: ...\n")
    (root / ".swecliignore").write_text("notes/\n")
    permissions = Permissions("auto", deny=deny, ask=ask, allow=allow)
    guard = permissions.guard(root, {"repo_map": repo_map})

    for start in (".", *PLACES, *sorted({str(Path(name).parent) for name in PLACES})):
        answers = Answers()
        answers.decision = replace(answers.decision, allow=says_yes)
        run = make_run(ToolContext(root, commands=CommandAccess(timeout=60)), permissions, answers)
        result = await run("repo_map", path=start)
        for number, name in enumerate(PLACES):
            reading = guard.access(name).read
            if f"Canary{number}" not in result.for_model:
                continue
            assert reading is not Reading.HIDDEN
            assert reading is Reading.FREE or (says_yes and answers.asked)
        if start in PLACES and guard.access(start).read is Reading.FREE:
            assert f"Canary{PLACES.index(start)}" in result.for_model
