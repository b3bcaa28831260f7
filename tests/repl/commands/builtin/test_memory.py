"""Test `/memory` and `/init`, which edit and create a project's instruction files."""

from __future__ import annotations

from pathlib import Path

import pytest

from swecli.app import Runtime
from swecli.models.errors import UsageError
from tests.support.command_context import ScriptedContext


class _SteeredContext(ScriptedContext):
    """A context that records the query a command submits."""

    def __init__(self, runtime: Runtime) -> None:
        super().__init__(runtime)
        self.sent: list[str] = []

    def steer(self, text: str) -> None:
        self.sent.append(text)


async def test_memory_without_instructions_suggests_init(ctx: ScriptedContext) -> None:
    assert "/init" in await ctx.type("/memory")


async def test_memory_lists_instruction_files_once_the_folder_is_trusted(
    runtime: Runtime, ctx: ScriptedContext
) -> None:
    (runtime.cwd / "AGENTS.md").write_text("Use tabs.\n")
    printed = await ctx.type("/memory")
    assert "not trusted" in printed
    assert "/trust" in printed
    ctx.will_pick("1")
    await ctx.type("/trust")
    printed = await ctx.type("/memory")
    assert "AGENTS.md" in printed
    assert "10 bytes" in printed


async def test_memory_refuses_a_text_and_says_how_to_keep_it(ctx: ScriptedContext) -> None:
    with pytest.raises(UsageError) as refused:
        await ctx.type("/memory add use tabs")
    assert "remember that" in refused.value.hint


async def test_memory_lists_skills_and_the_errors_of_invalid_ones(
    runtime: Runtime, ctx: ScriptedContext
) -> None:
    for name in ("good", "broken"):
        (Path.home() / ".agents/skills" / name).mkdir(parents=True)
    (Path.home() / ".agents/skills/good/SKILL.md").write_text(
        "---\nname: good\ndescription: d\n---\n"
    )
    (Path.home() / ".agents/skills/broken/SKILL.md").write_text("no front matter")
    printed = await ctx.type("/memory")
    assert "good/SKILL.md" in printed
    assert "! ~/.agents/skills/broken/SKILL.md is not used: missing front matter" in printed
    assert "no AGENTS.md" in printed


@pytest.mark.parametrize(
    ("there", "asked"),
    [(None, "write an AGENTS.md"), ("CLAUDE.md", "update CLAUDE.md in its root")],
)
async def test_init_asks_the_assistant_for_the_file(
    runtime: Runtime, there: str | None, asked: str
) -> None:
    if there:
        Path(runtime.cwd, there).write_text("old\n")
    ctx = _SteeredContext(runtime)
    await ctx.type("/init in German")
    assert asked in ctx.sent[0]
    assert ctx.sent[0].endswith("in German")
