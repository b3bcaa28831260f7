"""Test that an edit is applied exactly as it was shown, or not at all."""

from __future__ import annotations

import pytest

from swecli.text_files import TextFile, decode
from swecli.tools.base import ToolContext, ToolError
from swecli.tools.file_changes import Base, make_change, plan_change, read_base
from swecli.tools.files import digest


def test_an_edit_writes_what_the_preview_showed(ctx: ToolContext) -> None:
    path = ctx.root / "a.txt"
    path.write_bytes(b"one\r\ntwo\r\n")
    base = read_base(ctx, path)
    plan = plan_change(ctx, base, TextFile("one\r\n2\r\n"), "Edit")
    assert plan.summary == "Edit a.txt (+1 −1)"
    assert plan.preview.body.endswith(" one\n-two\n+2\n")
    assert make_change(ctx, plan, "Edited").ok
    assert path.read_bytes() == b"one\r\n2\r\n"
    assert ctx.files.digests[path.resolve()] == digest(b"one\r\n2\r\n")


@pytest.mark.parametrize("now", [b"changed", None])
def test_a_file_changed_after_the_preview_is_not_written(
    ctx: ToolContext, now: bytes | None
) -> None:
    path = ctx.root / "a.txt"
    path.write_bytes(b"one\n")
    base = read_base(ctx, path)
    plan = plan_change(ctx, base, TextFile("two\n"), "Edit")
    path.unlink()
    if now is not None:
        path.write_bytes(now)
    with pytest.raises(ToolError, match="since it was read"):
        make_change(ctx, plan, "Edited")
    assert (path.read_bytes() if path.exists() else None) == now


def test_the_preview_escapes_hidden_characters_and_changed_line_ends(ctx: ToolContext) -> None:
    path = ctx.root / "a.txt"
    plan = plan_change(ctx, Base(path, decode(b"a\n"), "x"), TextFile("a\u202e\r\n"), "Edit")
    assert plan.preview.body.endswith("-a\n+a\\u202e\\x0d\n")


def test_binary_files_are_not_edited(ctx: ToolContext) -> None:
    path = ctx.root / "a.bin"
    path.write_bytes(b"\0\1")
    with pytest.raises(ToolError, match="binary"):
        read_base(ctx, path)
    with pytest.raises(ToolError, match="binary"):
        plan_change(ctx, Base(path, None), TextFile("\0"), "Create")
