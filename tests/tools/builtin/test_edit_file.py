"""Test the tool `edit_file`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from swecli.models.message import ToolResult
from swecli.tools.permissions import Permissions

RunTool = Callable[..., Awaitable[ToolResult]]


def edit(old: str, new: str, **more: bool) -> dict[str, object]:
    return {"old_text": old, "new_text": new, **more}


async def test_one_call_can_make_several_edits(run: RunTool, root: Path, answers: Any) -> None:
    (root / "a.py").write_text("one\ntwo\nthree\n")
    result = await run("edit_file", path="a.py", edits=[edit("one", "1"), edit("three", "3\n4")])
    assert (root / "a.py").read_text() == "1\ntwo\n3\n4\n"
    assert answers.asked[0].summary == "Edit a.py (+3 −2)"
    assert (
        answers.asked[0].preview.body
        == "--- a/a.py\n+++ b/a.py\n@@ -1,3 +1,4 @@\n-one\n+1\n two\n-three\n+3\n+4\n"
    )
    assert (
        result.for_model
        == "Made 2 edits in a.py (+3 −2). Changed lines, as they are numbered now: 1, 3-4."
    )
    assert result.for_user.kind == "diff"


async def test_the_good_edits_of_a_set_are_made_and_the_others_reported(
    run: RunTool, root: Path, answers: Any
) -> None:
    (root / "a.py").write_text("def f():\n\treturn 1\n")
    result = await run(
        "edit_file",
        path="a.py",
        edits=[edit("def f", "def g"), edit("    return 1", "    return 2")],
    )
    assert (root / "a.py").read_text() == "def g():\n\treturn 1\n"
    assert answers.asked[0].summary == "Edit a.py (+1 −1), 1 of 2 edits left out"
    assert result.for_model.startswith("Made 1 of 2 edits in a.py (+1 −1). Changed lines")
    assert "Edit 2 of 2: old_text is not in the file" in result.for_model


async def test_the_lines_of_an_insertion_are_those_that_are_new(run: RunTool, root: Path) -> None:
    (root / "a").write_text("".join(f"line {number}\n" for number in range(1, 11)))
    result = await run(
        "edit_file", path="a", edits=[edit("line 4\nline 5\n", "line 4\nnew\nnewer\nline 5\n")]
    )
    assert result.for_model == ("Edited a (+2). Changed lines, as they are numbered now: 5-6.")


async def test_an_edit_without_a_match_changes_nothing_and_shows_the_closest_lines(
    run: RunTool, root: Path, answers: Any
) -> None:
    (root / "a.py").write_text("def f():\n\treturn 1\n")
    result = await run("edit_file", path="a.py", edits=[edit("    return 1", "    return 2")])
    assert not result.ok
    assert "Closest: line 2 (only white space or case differs)" in result.for_model
    assert (root / "a.py").read_text() == "def f():\n\treturn 1\n"
    assert answers.asked == []


async def test_an_edit_keeps_encoding_line_ends_and_mode(run: RunTool, root: Path) -> None:
    for name, data, wanted in (
        ("crlf", b"a\r\nb\r\nc", b"a\r\nx\r\ny\r\nc"),
        ("bom", b"\xef\xbb\xbfb\n", b"\xef\xbb\xbfx\ny\n"),
        ("utf16", "ä\r\nb\r\n".encode("utf-16"), "ä\r\nx\r\ny\r\n".encode("utf-16")),
        ("latin", b"caf\xe9 b\n", b"caf\xe9 x\ny\n"),
    ):
        (root / name).write_bytes(data)
        (root / name).chmod(0o640)
        assert (await run("edit_file", path=name, edits=[edit("b", "x\ny")])).ok
        assert (root / name).read_bytes() == wanted
        assert (root / name).stat().st_mode & 0o777 == 0o640


async def test_text_that_is_there_once_is_edited_whatever_else_has_changed(
    run: RunTool, root: Path
) -> None:
    (root / "a").write_text("one\ntwo\n")
    await run("read_file", path="a")
    (root / "a").write_text("other\ntwo\n")
    assert (await run("edit_file", path="a", edits=[edit("two", "2")])).ok
    assert (root / "a").read_text() == "other\n2\n"
    result = await run("write_file", path="a", content="whole\n")
    assert "changed since it was read" in result.for_model, "the other line was never shown"


@pytest.mark.parametrize(
    "edits", [[edit("one", "1")], [edit("no", "1")], [edit("one", "1") | {"replace_all": True}]]
)
async def test_of_a_file_changed_since_it_was_read_no_other_text_is_edited(
    run: RunTool, root: Path, edits: list[dict[str, object]]
) -> None:
    (root / "a").write_text("one\n")
    await run("read_file", path="a")
    (root / "a").write_text("one\none\n")
    result = await run("edit_file", path="a", edits=edits)
    assert "changed since it was read. Read it again" in result.for_model
    assert (root / "a").read_text() == "one\none\n"


async def test_a_file_can_be_edited_twice_without_reading_it_again(
    run: RunTool, root: Path
) -> None:
    (root / "a").write_text("one\n")
    await run("edit_file", path="a", edits=[edit("one", "two")])
    await run("edit_file", path="a", edits=[edit("two", "three")])
    assert (root / "a").read_text() == "three\n"


async def test_an_edit_of_a_link_changes_the_target_of_the_link(
    run: RunTool, root: Path, answers: Any
) -> None:
    (root / "real").write_text("one\n")
    (root / "link").symlink_to("real")
    await run("edit_file", path="link", edits=[edit("one", "two")])
    assert (root / "link").is_symlink()
    assert (root / "real").read_text() == "two\n"
    assert answers.asked[0].summary.startswith("Edit real ")


async def test_editing_a_link_to_a_protected_file_requires_approval(
    run: RunTool,
    root: Path,
    permissions: Permissions,
    answers: Any,
) -> None:
    permissions.mode = "edits"
    (root / ".git").mkdir()
    (root / ".git/config").write_text("[core]\n")
    (root / "innocent").symlink_to(".git/config")
    await run("edit_file", path="innocent", edits=[edit("[core]", "[core]\nfsmonitor = evil")])
    assert answers.asked[0].summary.startswith("Edit .git/config")


async def test_a_secret_is_not_quoted_in_a_hint(run: RunTool, root: Path) -> None:
    (root / ".env").write_text("TOKEN=abcdef\n")
    result = await run("edit_file", path=".env", edits=[edit("TOKEN=abcdeg", "x")])
    assert not result.ok
    assert "abcdef" not in result.for_model


async def test_invalid_edits_are_refused_with_the_reason(run: RunTool, root: Path) -> None:
    (root / "a").write_text("x x\n")
    for path, edits, words in (
        ("none", [edit("a", "b")], "does not exist"),
        ("a", [], "at least 1 item"),
        ("a", [edit("x", "y")], "2 times, at lines 1, 1"),
        (
            "a",
            [edit("x", "y", replace_all=True), edit("y", "x", replace_all=True)],
            "leave the file as it is",
        ),
        ("a", [edit("", "y")], "old_text is empty"),
    ):
        result = await run("edit_file", path=path, edits=edits)
        assert not result.ok
        assert words in result.for_model
    assert (root / "a").read_text() == "x x\n"
