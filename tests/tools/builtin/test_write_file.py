"""Test the tool `write_file`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from swecli.models.message import ToolResult
from swecli.tools.permissions import Permissions

RunTool = Callable[..., Awaitable[ToolResult]]


async def test_a_new_file_is_shown_as_a_diff_and_created(
    run: RunTool, root: Path, answers: Any
) -> None:
    result = await run("write_file", path="pkg/new.py", content="a\nb\n")
    assert result.ok
    assert (root / "pkg/new.py").read_text() == "a\nb\n"
    request = answers.asked[0]
    assert (request.summary, request.question, request.preview.kind) == (
        "Create pkg/new.py (+2)",
        "Make this change?",
        "diff",
    )
    assert request.preview.body == "--- /dev/null\n+++ b/pkg/new.py\n@@ -0,0 +1,2 @@\n+a\n+b\n"
    assert result.for_user == request.preview


async def test_a_file_that_was_not_read_is_not_overwritten(
    run: RunTool, root: Path, answers: Any
) -> None:
    (root / "a").write_text("precious\n")
    result = await run("write_file", path="a", content="x")
    assert not result.ok
    assert "was not read yet. Read it first" in result.for_model
    assert answers.asked == []
    await run("read_file", path="a")
    assert (await run("write_file", path="a", content="x\n")).ok
    assert (await run("write_file", path="a", content="y\n")).ok
    assert (root / "a").read_text() == "y\n"


async def test_a_file_changed_since_it_was_read_is_not_overwritten(
    run: RunTool, root: Path
) -> None:
    (root / "a").write_text("one\n")
    await run("read_file", path="a")
    (root / "a").write_text("two\n")
    result = await run("write_file", path="a", content="x")
    assert "changed since it was read. Read it again" in result.for_model
    assert (root / "a").read_text() == "two\n"


async def test_a_file_changed_during_the_approval_is_not_overwritten(
    run: RunTool, root: Path, answers: Any
) -> None:
    (root / "a").write_text("one\n")
    await run("read_file", path="a")

    answers.meanwhile = lambda: (root / "a").write_text("meddled\n")
    result = await run("write_file", path="a", content="x")
    assert "Nothing was written: read it again" in result.for_model
    assert (root / "a").read_text() == "meddled\n"


async def test_overwriting_keeps_encoding_line_ends_and_mode(run: RunTool, root: Path) -> None:
    (root / "a").write_bytes(b"\xef\xbb\xbfone\r\ntwo\r\n")
    (root / "a").chmod(0o755)
    await run("read_file", path="a")
    await run("write_file", path="a", content="1\n2\n")
    assert (root / "a").read_bytes() == b"\xef\xbb\xbf1\r\n2\r\n"
    assert (root / "a").stat().st_mode & 0o777 == 0o755
    await run("write_file", path="a", content="1\r\n3\n")
    assert (root / "a").read_bytes() == b"\xef\xbb\xbf1\r\n3\n", "mixed line ends are kept"


async def test_a_path_that_cannot_be_written_is_reported_with_the_reason(
    run: RunTool, root: Path
) -> None:
    (root / "folder").mkdir()
    (root / "same").write_text("x\n")
    await run("read_file", path="same")
    for path, content, words in (
        ("folder", "x", "directory"),
        (".", "x", "names a folder"),
        ("new/", "x", "names a folder"),
        ("same", "x\n", "exactly this content"),
        ("same/x", "x", "not a directory"),
        ("a", "a\0b", "binary"),
        ("a", "\ud800", "U+D800"),
        ("../a", "x", "outside"),
    ):
        result = await run("write_file", path=path, content=content)
        assert not result.ok
        assert words in result.for_model
    assert sorted(p.name for p in root.iterdir()) == ["folder", "same"]


async def test_writing_protected_files_asks_even_in_mode_auto(
    run: RunTool, permissions: Permissions, answers: Any
) -> None:
    permissions.mode = "auto"
    await run("write_file", path="free.txt", content="x")
    assert answers.asked == []
    await run("write_file", path=".git/hooks/pre-commit", content="x")
    await run("write_file", path=".vscode/tasks.json", content="x")
    await run("write_file", path=".env", content="x")
    assert ["can steer the assistant" in request.why for request in answers.asked] == [
        True,
        True,
        False,
    ]
    assert len(answers.asked) == 3
