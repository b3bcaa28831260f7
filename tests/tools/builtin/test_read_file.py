"""Test the tool `read_file`."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from swecli.models.approval import Decision
from swecli.models.message import ToolResult
from swecli.models.mode import Mode
from swecli.tools.base import ToolContext
from swecli.tools.files import digest
from swecli.tools.permission_rules import PermissionRule
from swecli.tools.permissions import Permissions
from tests.tools.conftest import Answers

RunTool = Callable[..., Awaitable[ToolResult]]


async def test_lines_are_numbered_and_the_digest_of_the_file_is_recorded(
    run: RunTool, root: Path, ctx: ToolContext
) -> None:
    (root / "a.py").write_bytes(b"one\r\n\ttwo\n")
    result = await run("read_file", path="a.py")
    assert result.for_model == "     1\tone\n     2\t\ttwo"
    assert result.for_user.body == "2 lines"
    assert ctx.files.digests == {(root / "a.py").resolve(): digest(b"one\r\n\ttwo\n")}
    (root / "b.py").write_text("one")
    assert (await run("read_file", path="b.py")).for_user.body == "1 line"


async def test_a_range_of_lines_can_be_read(run: RunTool, root: Path) -> None:
    (root / "a").write_text("".join(f"{n}\n" for n in range(1, 101)))
    result = await run("read_file", path="a", start_line=10, end_line=11)
    assert result.for_model == "    10\t10\n    11\t11\n[lines 10-11 of 100 in a]"
    assert (await run("read_file", path="a", start_line=99, end_line=500)).for_model.startswith(
        "    99\t99\n   100\t100\n["
    )
    assert "past its end" in (await run("read_file", path="a", start_line=101)).for_model
    assert (
        "before start_line"
        in (await run("read_file", path="a", start_line=5, end_line=4)).for_model
    )


async def test_a_long_file_is_read_in_pages_without_gaps(run: RunTool, root: Path) -> None:
    (root / "a").write_text("".join(f"line {n} {'x' * 50}\n" for n in range(1, 2001)))
    start, seen = 1, 0
    while start:
        text = (await run("read_file", path="a", start_line=start)).for_model
        assert len(text) <= 30_000
        rows = [row for row in text.split("\n") if "\t" in row]
        assert rows[0].split("\t")[0].strip() == str(start)
        seen += len(rows)
        start = int(text.rsplit("start_line=", 1)[1].rstrip("]")) if "continue with" in text else 0
    assert seen == 2000


async def test_an_empty_file_is_reported_as_empty(run: RunTool, root: Path) -> None:
    (root / "a").touch()
    assert (await run("read_file", path="a")).for_model == "a is empty."


async def test_another_encoding_is_decoded_and_named(run: RunTool, root: Path) -> None:
    (root / "a").write_bytes(b"caf\xe9\n")
    result = await run("read_file", path="a")
    assert result.ok
    assert result.for_model == (
        "     1\tcafé\n[written in cp1252: a change has to keep to its characters]"
    )


async def test_stray_bytes_are_shown_as_a_mark(run: RunTool, root: Path) -> None:
    (root / "a").write_bytes("grün, größer".encode() + b" caf\xe9\n")
    result = await run("read_file", path="a")
    assert "caf\ufffd\n[bytes that are not text are shown as \ufffd;" in result.for_model


async def test_a_very_long_line_is_cut_and_names_its_length(run: RunTool, root: Path) -> None:
    (root / "a").write_text("x" * 1_000_000)
    text = (await run("read_file", path="a")).for_model
    assert len(text) < 3000
    assert "1,000,000 characters" in text


async def test_a_file_that_cannot_be_read_is_reported_with_the_reason(
    run: RunTool, root: Path
) -> None:
    (root / "pic.png").write_bytes(b"\x89PNG\0\0")
    (root / "huge").touch()
    os.truncate(root / "huge", 11_000_000)
    (root / "folder").mkdir()
    os.mkfifo(root / "pipe")
    for path, words in {
        "pic.png": "is not text (image/png, 6 bytes)",
        "huge": "too large (11,000,000 bytes",
        "folder": "is a directory",
        "pipe": "not a regular file",
        "pic.pgn": "Near names: pic.png",
        "folder/none": "does not exist",
        ".": "a directory",
    }.items():
        result = await run("read_file", path=path)
        assert not result.ok
        assert words in result.for_model
        assert "\n" not in result.for_model


@pytest.mark.skipif(os.geteuid() == 0, reason="skipped: root reads everything")
async def test_a_file_without_read_permission_is_reported(run: RunTool, root: Path) -> None:
    (root / "a").touch(mode=0)
    assert "Permission denied" in (await run("read_file", path="a")).for_model


@pytest.fixture
def library(root: Path) -> Path:
    folder = root.parent / "library" / "deep"
    folder.mkdir(parents=True)
    (folder / "a.py").write_text("one\n")
    (folder / "b.py").write_text("two\n")
    (folder / ".env").write_text("KEY=1\n")
    return folder


@pytest.mark.parametrize("mode", ["ask", "auto", "plan"])
async def test_reading_outside_the_workspace_asks_in_every_mode(
    run: RunTool, library: Path, answers: Answers, permissions: Permissions, mode: Mode
) -> None:
    permissions.mode = mode
    result = await run("read_file", path=f"{library}/a.py")
    assert result.for_model == "     1\tone"
    [asked] = answers.asked
    assert asked.session_rules == (f"read(/{library}/**)",)
    assert asked.why == f"{library}/a.py is outside the workspace"
    answers.decision = Decision(False)
    assert not (await run("read_file", path="../library/deep/b.py")).ok


async def test_a_yes_for_the_folder_outside_covers_its_other_files_but_no_secrets(
    run: RunTool, library: Path, answers: Answers
) -> None:
    answers.decision = Decision(True, "session")
    await run("read_file", path=f"{library}/a.py")
    assert (await run("read_file", path=f"{library}/b.py")).ok
    assert len(answers.asked) == 1
    await run("read_file", path=f"{library}/.env")
    assert answers.asked[1].why.endswith(".env may contain secrets")
    await run("read_file", path=f"{library.parent}/c.py")
    assert len(answers.asked) == 3


@pytest.mark.parametrize("rule", ["read", "read(**)", "read(*.py)", "read(/library/**)"])
async def test_rules_for_the_workspace_allow_nothing_outside(
    run: RunTool, library: Path, answers: Answers, permissions: Permissions, rule: str
) -> None:
    permissions.allow.append(PermissionRule.parse(rule))
    await run("read_file", path=f"{library}/a.py")
    assert len(answers.asked) == 1


async def test_a_deny_rule_bars_names_outside_the_workspace_too(
    run: RunTool, library: Path, permissions: Permissions
) -> None:
    permissions.deny.append(PermissionRule.parse("read(*.py)"))
    permissions.allow_for_session(f"Read(/{library}/**)")
    assert "forbids reading" in (await run("read_file", path=f"{library}/a.py")).for_model


async def test_a_rule_for_a_path_of_the_workspace_is_none_for_the_same_path_outside(
    run: RunTool, library: Path, answers: Answers, permissions: Permissions
) -> None:
    permissions.allow_for_session(f"read({library}/a.py)")
    await run("read_file", path=f"{library}/a.py")
    assert len(answers.asked) == 1


async def test_a_link_out_of_the_workspace_asks_about_the_file_it_leads_to(
    run: RunTool, root: Path, library: Path, answers: Answers
) -> None:
    (root / "innocent.txt").symlink_to(library / ".env")
    answers.decision = Decision(False)
    assert not (await run("read_file", path="innocent.txt")).ok
    assert answers.asked[0].summary == f"Read {library}/.env"
    assert answers.asked[0].why == f"{library}/.env may contain secrets"
