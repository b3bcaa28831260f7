"""Test `/findings`: list findings, change their state, and learn from dismissals."""

from __future__ import annotations

from pathlib import Path

import pytest

from swecli.models.errors import SwecliError
from tests.support.command_context import ScriptedContext
from tests.support.project import make_project
from tests.support.reviews import begin_review, collect, findings_text
from tests.support.runtime import make_runtime

pytestmark = pytest.mark.slow

ROWS = findings_text(
    *[("shop/prices.py", n, "MAGIC_NUMBERS") for n in (3, 8, 13)], ("README.md", 1, "DEAD_CODE")
)


@pytest.fixture
async def ctx(monkeypatch: pytest.MonkeyPatch) -> ScriptedContext:
    monkeypatch.chdir(make_project(Path("shop")))
    runtime = make_runtime([ROWS, "Done.", "Done."])
    await collect(await begin_review(runtime, "."))
    return ScriptedContext(runtime)


async def test_findings_are_listed_shown_dismissed_and_reopened(ctx: ScriptedContext) -> None:
    assert "README.md:1" in await ctx.type("/findings")
    assert ">    3 TAX = 0.19" in await ctx.type("/findings show F-1")
    assert "is dismissed: the law" in await ctx.type("/findings dismiss F-1 the law")
    assert "F-1 " not in (await ctx.type("/findings list")).split("/findings")[0]
    assert "F-1" in await ctx.type("/findings list dismissed")
    assert "F-1" in await ctx.type("/findings dismissed path:shop/**")
    assert "F-4" in await ctx.type("/findings type:dead")
    await ctx.type("/findings reopen F-1")
    assert "Nothing has changed" in await ctx.type("/findings recheck")


async def test_the_reason_of_a_dismissal_is_proposed_as_a_strategy_only_once(
    ctx: ScriptedContext,
) -> None:
    assert "P-1 is proposed, since F-1 was dismissed" in await ctx.type(
        "/findings dismiss F-1 the law"
    )
    session = ctx.runtime.sessions.current_session
    assert session is not None
    ctx.runtime.sessions.playbook.undo(session)
    assert "is proposed" not in await ctx.type("/findings dismiss F-1 the law")


@pytest.mark.parametrize("line", ["/findings odd", "/findings show F-9", "/findings dismiss F-1"])
async def test_invalid_arguments_are_refused(ctx: ScriptedContext, line: str) -> None:
    with pytest.raises(SwecliError):
        await ctx.type(line)
