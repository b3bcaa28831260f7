"""Test that tools read and write files in their own encoding, with their own line ends."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from swecli.models.message import ToolResult

RunTool = Callable[..., Awaitable[ToolResult]]


def edit(old: str, new: str) -> list[dict[str, object]]:
    return [{"old_text": old, "new_text": new}]


@pytest.mark.parametrize(
    ("encoding", "text", "old", "new"),
    [
        ("cp1252", "Le café est là\nfin\n", "Le café", "Très bien, le café"),
        ("cp1252", "Müller\n", "Müller", "Größe – Müller"),
        ("cp932", "// ファイルを読み込みます。\nx\n", "ファイル", "ハロー"),
        ("gbk", "// 这个函数用于读取配置文件\nx\n", "函数", "程序"),
        ("utf-16-le", "plain\r\nwords\r\n", "words", "größer"),
    ],
)
async def test_a_file_is_read_searched_and_changed_in_its_encoding(
    run: RunTool, root: Path, encoding: str, text: str, old: str, new: str
) -> None:
    (root / "a.txt").write_bytes(text.encode(encoding))
    line = text.splitlines()[0]
    assert line in (await run("read_file", path="a.txt")).for_model
    assert old in (await run("search_files", pattern=old, path="a.txt")).for_model
    assert (await run("edit_file", path="a.txt", edits=edit(old, new))).ok
    assert (root / "a.txt").read_bytes() == text.replace(old, new).encode(encoding)
    assert (await run("write_file", path="a.txt", content=text.replace("\r\n", "\n"))).ok
    assert (root / "a.txt").read_bytes() == text.encode(encoding)


async def test_a_search_shows_lines_as_they_are_read(run: RunTool, root: Path) -> None:
    (root / "a.txt").write_bytes("Straße 1, größer\n".encode("cp1252"))
    assert "a.txt:1: Straße 1, größer" in (await run("search_files", pattern="Stra")).for_model


async def test_what_the_encoding_cannot_hold_is_refused_with_the_reason(
    run: RunTool, root: Path
) -> None:
    data = "Le café\n".encode("cp1252")
    (root / "a.txt").write_bytes(data)
    result = await run("edit_file", path="a.txt", edits=edit("Le café", "Le café 字"))
    assert not result.ok
    assert "a.txt is written in cp1252, which has no 字 (U+5B57)." in result.for_model
    assert (root / "a.txt").read_bytes() == data


async def test_the_marks_of_stray_bytes_are_not_written_in_their_place(
    run: RunTool, root: Path
) -> None:
    data = "größer, länger\n".encode() + b"caf\xe9\n"
    (root / "a.txt").write_bytes(data)
    await run("read_file", path="a.txt")
    result = await run("write_file", path="a.txt", content="größer\ncaf\ufffd\n")
    assert "has bytes that are not text" in result.for_model
    assert (await run("edit_file", path="a.txt", edits=edit("größer", "kürzer"))).ok
    assert (root / "a.txt").read_bytes() == data.replace("größer".encode(), "kürzer".encode())


async def test_a_declared_encoding_is_kept_where_the_text_was_ascii(
    run: RunTool, root: Path
) -> None:
    (root / "a.py").write_bytes(b"# coding: latin-1\nx = 1\n")
    assert (await run("edit_file", path="a.py", edits=edit("x = 1", "x = 'é'"))).ok
    assert (root / "a.py").read_bytes() == b"# coding: latin-1\nx = '\xe9'\n"


async def test_a_file_stays_in_its_encoding_whatever_its_bytes_look_like(
    run: RunTool, root: Path
) -> None:
    (root / "a.txt").write_bytes("Привет, мир. Это комментарий\n".encode("cp1251"))
    await run("edit_file", path="a.txt", edits=edit("Привет, мир. Это комментарий", "word"))
    assert (await run("edit_file", path="a.txt", edits=edit("word", "мир"))).ok
    assert (root / "a.txt").read_bytes() == "мир\n".encode("cp1251")


@pytest.mark.parametrize(
    ("settings", "name", "data"),
    [
        ("[*.bat]\nend_of_line = crlf\n", "a.bat", b"one\r\ntwo"),
        ("[*]\ninsert_final_newline = true\n", "a.txt", b"one\ntwo\n"),
        ("[*.{txt,md}]\ncharset = latin1\n", "a.md", b"one\ntwo"),
        ("[docs/**]\ncharset = utf-8-bom\n", "docs/a.md", b"\xef\xbb\xbfone\ntwo"),
        ("[*]\nend_of_line=crlf\n[*.sh]\nend_of_line=lf", "a.sh", b"one\ntwo"),
        ("[*]\ncharset = utf-16le", "a.txt", "\ufeffone\ntwo".encode("utf-16-le")),
    ],
)
async def test_a_new_file_follows_the_settings_of_editors(
    run: RunTool, root: Path, settings: str, name: str, data: bytes
) -> None:
    (root / ".editorconfig").write_text(f"root = true\n{settings}")
    assert (await run("write_file", path=name, content="one\ntwo")).ok
    assert (root / name).read_bytes() == data


async def test_a_character_that_the_settings_exclude_is_refused(run: RunTool, root: Path) -> None:
    (root / ".editorconfig").write_text("root = true\n[*]\ncharset = latin1\n")
    assert (await run("write_file", path="a", content="é\n")).ok
    assert (root / "a").read_bytes() == b"\xe9\n"
    assert "has no 字" in (await run("write_file", path="b", content="字\n")).for_model
    assert not (root / "b").exists()


async def test_a_new_file_follows_the_attributes_of_git(run: RunTool, root: Path) -> None:
    subprocess.run(["git", "init", "-q"], cwd=root, check=True)
    (root / ".gitattributes").write_text("*.bat text eol=crlf\n*.sh eol=lf\n")
    (root / ".editorconfig").write_text("root=true\n[*]\nend_of_line = crlf\n")
    for name, end in (("a.bat", b"\r\n"), ("b.sh", b"\n"), ("c.txt", b"\r\n")):
        assert (await run("write_file", path=name, content="one\n")).ok
        assert (root / name).read_bytes() == b"one" + end


@pytest.mark.parametrize(
    ("encoding", "content"),
    [
        ("UTF-16LE", "é\n".encode("utf-16-le")),
        ("UTF-16LE-BOM", b"\xff\xfe" + "é\n".encode("utf-16-le")),
        ("UTF-16", b"\xff\xfe" + "é\n".encode("utf-16-le")),
        ("UTF-32", b"\xff\xfe\0\0" + "é\n".encode("utf-32-le")),
        ("ISO-8859-1", b"\xe9\n"),
    ],
)
async def test_git_takes_a_new_file_in_the_encoding_of_its_attributes(
    run: RunTool, root: Path, encoding: str, content: bytes
) -> None:
    subprocess.run(["git", "init", "-q"], cwd=root, check=True)
    (root / ".gitattributes").write_text(f"*.txt working-tree-encoding={encoding}\n")
    assert (await run("write_file", path="a.txt", content="é\n")).ok
    assert (root / "a.txt").read_bytes() == content
    subprocess.run(["git", "add", "a.txt"], cwd=root, check=True)
    stored = subprocess.run(["git", "show", ":a.txt"], cwd=root, capture_output=True, check=True)
    assert stored.stdout.decode() == "é\n"


async def test_a_file_is_read_in_the_encoding_of_its_attributes(run: RunTool, root: Path) -> None:
    subprocess.run(["git", "init", "-q"], cwd=root, check=True)
    (root / ".gitattributes").write_text("*.txt working-tree-encoding=GBK\n")
    (root / "a.txt").write_bytes("测试\n".encode("gbk"))
    (root / "plain.txt").write_bytes(b"x\n")
    assert "测试" in (await run("read_file", path="a.txt")).for_model
    assert (await run("edit_file", path="plain.txt", edits=edit("x", "错误"))).ok
    assert (root / "plain.txt").read_bytes() == "错误\n".encode("gbk")


async def test_a_new_file_follows_its_neighbours(run: RunTool, root: Path) -> None:
    (root / "a.cs").write_bytes(b"\xef\xbb\xbfclass A {}\r\n")
    (root / "b.cs").write_bytes(b"\xef\xbb\xbfclass B {}\r\n")
    (root / "old.txt").write_bytes("Größe und Straße\n".encode("cp1252"))
    assert (await run("write_file", path="c.cs", content="class C {}\n")).ok
    assert (root / "c.cs").read_bytes() == b"\xef\xbb\xbfclass C {}\r\n"
    assert (await run("write_file", path="new.txt", content="Fuß\n")).ok
    assert (root / "new.txt").read_bytes() == b"Fu\xdf\n"
    assert (await run("write_file", path="far.txt", content="字\n")).ok
    assert (root / "far.txt").read_text("utf-8") == "字\n"


async def test_a_pipe_in_place_of_the_settings_blocks_nothing(run: RunTool, root: Path) -> None:
    os.mkfifo(root / ".editorconfig")
    os.mkfifo(root / "pipe.txt")
    assert (await run("write_file", path="a.txt", content="one\n")).ok


async def test_mixed_line_ends_are_kept_when_the_file_is_written_whole(
    run: RunTool, root: Path
) -> None:
    (root / "a").write_bytes(b"a\r\nb\nc\r\n")
    await run("read_file", path="a")
    assert (await run("write_file", path="a", content="a\nb\nnew\nc\n")).ok
    assert (root / "a").read_bytes() == b"a\r\nb\nnew\nc\r\n"


async def test_all_names_of_a_file_keep_it(run: RunTool, root: Path) -> None:
    (root / "a").write_text("one two three\n")
    (root / "a").chmod(0o640)
    (root / "b").hardlink_to(root / "a")
    assert (await run("edit_file", path="a", edits=edit("two", "2"))).ok
    assert (root / "b").read_text() == "one 2 three\n"
    assert (root / "a").stat().st_nlink == 2
    assert (root / "a").stat().st_mode & 0o777 == 0o640


async def test_a_copy_outside_that_shares_the_file_stays_as_it_is(run: RunTool, root: Path) -> None:
    (root.parent / "store").write_text("one two three\n")
    (root / "a").hardlink_to(root.parent / "store")
    result = await run("edit_file", path="a", edits=edit("two", "2"))
    assert "other names (hard links) outside the workspace" in result.for_model
    assert (root.parent / "store").read_text() == "one two three\n"


@pytest.mark.parametrize("encoding", ["utf-8", "cp932", "euc_jp", "utf-16", "utf-16-le"])
async def test_a_search_of_a_folder_finds_text_in_any_encoding(
    run: RunTool, root: Path, encoding: str
) -> None:
    text = "# 日本語のコメントを書く\ndef total():\n    return 1\n"
    (root / "a.py").write_bytes(text.encode(encoding))
    (root / "picture.png").write_bytes(b"\x89PNG\r\n\0\0" + bytes(range(256)) * 40)
    found = await run("search_files", pattern="コメント")
    assert found.for_model == "1 match in 1 file:\na.py:1: # 日本語のコメントを書く"
    plain = await run("search_files", pattern="total", show="counts")
    assert plain.for_model == "1 match in 1 file:\na.py: 1"


async def test_files_that_cannot_be_searched_in_their_encoding_are_named(
    run: RunTool, root: Path
) -> None:
    (root / ".editorconfig").write_text("[*.txt]\ncharset = cp037\n")
    (root / "host.txt").write_bytes("größer".encode("cp037"))
    (root / "a.py").write_text("größer\n")
    found = await run("search_files", pattern="größer")
    assert "a.py:1: größer" in found.for_model
    assert "[not searched, because they are not in UTF-8: host.txt." in found.for_model
