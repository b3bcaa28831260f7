"""Test `/copy`, which copies an answer to the clipboard with one of the platform's programs."""

from __future__ import annotations

from pathlib import Path

import pytest

from swecli.app import Runtime
from swecli.models.errors import UsageError
from tests.support.command_context import ScriptedContext
from tests.support.runtime import make_runtime, run_turn


@pytest.fixture
def clipboard(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Put a `wl-copy` on the PATH that writes its input to the returned file."""
    program = tmp_path / "bin" / "wl-copy"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\n/bin/cat > {tmp_path}/clipboard\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(program.parent))
    monkeypatch.delenv("SSH_CONNECTION", raising=False)
    return tmp_path / "clipboard"


@pytest.mark.slow
async def test_copy_copies_the_last_answer_or_an_earlier_one(clipboard: Path) -> None:
    runtime = make_runtime(["erste", "zweite ☃"])
    for query in ("one", "two"):
        await run_turn(runtime, query)
    ctx = ScriptedContext(runtime)
    assert "copied 8 characters" in await ctx.type("/copy")
    assert clipboard.read_text() == "zweite ☃"
    await ctx.type("/copy 2")
    assert clipboard.read_text() == "erste"
    runtime.close()


@pytest.mark.parametrize("args", ["", "2", "0", "-1", "x"])
async def test_copying_a_missing_answer_is_an_error(
    ctx: ScriptedContext, clipboard: Path, args: str
) -> None:
    with pytest.raises(UsageError, match="There is no answer"):
        await ctx.type(f"/copy {args}")
    assert not clipboard.exists()


async def test_without_a_clipboard_program_copy_is_an_error(
    runtime: Runtime, ctx: ScriptedContext, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    await run_turn(runtime, "one")
    with pytest.raises(UsageError, match="No clipboard program was found"):
        await ctx.type("/copy")
