"""Test the tool `read_result`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace

import pytest

from swecli.models.message import ToolResult
from swecli.tools.base import ToolContext
from swecli.tools.permissions import Permissions
from tests.tools.conftest import Answers, make_run

RunTool = Callable[..., Awaitable[ToolResult]]


class Results:
    """Stored results by call id."""

    def __init__(self, **texts: str) -> None:
        self.texts = texts

    def read_result(self, call_id: str) -> str | None:
        return self.texts.get(call_id)


@pytest.mark.parametrize(
    "text", ["\n".join(f"line {n}" for n in range(9000)), "x" * 200_000, "a\n\nb\n"]
)
async def test_the_pages_of_a_result_contain_every_character(
    ctx: ToolContext, permissions: Permissions, answers: Answers, text: str
) -> None:
    stored = replace(ctx, sessions=Results(c9=text))  # type: ignore[arg-type]
    run = make_run(stored, permissions, answers)
    start, seen = 1, []
    while start:
        page = (await run("read_result", call_id="c9", start_line=start)).for_model
        assert len(page) <= 30_000
        *rows, note = page.split("\n")
        seen += [row.split("\t", 1)[1] for row in rows]
        start = int(note.rsplit("start_line=", 1)[1].rstrip("]")) if "continue with" in note else 0
    assert "".join(seen) == text.replace("\n", "")


async def test_a_range_of_lines_can_be_read_up_to_the_last_line(
    ctx: ToolContext, permissions: Permissions, answers: Answers
) -> None:
    stored = replace(ctx, sessions=Results(c9="a\nb\nc"))  # type: ignore[arg-type]
    run = make_run(stored, permissions, answers)
    assert (
        await run("read_result", call_id="c9", start_line=2, end_line=2)
    ).for_model == "     2\tb\n[lines 2-2 of 3]"
    assert "past its end" in (await run("read_result", call_id="c9", start_line=4)).for_model
    assert (
        "before start_line"
        in (await run("read_result", call_id="c9", start_line=2, end_line=1)).for_model
    )


async def test_an_unknown_call_id_is_reported(
    ctx: ToolContext, permissions: Permissions, answers: Answers
) -> None:
    for results in (None, Results()):
        stored = replace(ctx, sessions=results)  # type: ignore[arg-type]
        run = make_run(stored, permissions, answers)
        assert (
            "no stored result of a call 'c1'" in (await run("read_result", call_id="c1")).for_model
        )


async def test_waiting_for_a_job_returns_at_its_end(
    run: RunTool, ctx: ToolContext, permissions: Permissions
) -> None:
    permissions.mode = "auto"
    await run("run_command", command="sleep 0.8; echo built; exit 3", background=True)
    result = await run("read_result", call_id="job-1", wait=60)
    assert "exit code 3 after" in result.for_model
    assert "built" in result.for_model


async def test_waiting_for_a_job_ends_with_the_time_that_was_given(
    run: RunTool, ctx: ToolContext, permissions: Permissions
) -> None:
    permissions.mode = "auto"
    await run("run_command", command="sleep 30", background=True)
    assert "running for" in (await run("read_result", call_id="job-1", wait=1)).for_model
    await ctx.commands.jobs.close()


async def test_a_job_that_says_nothing_new_is_waited_for(run: RunTool, ctx: ToolContext) -> None:
    await run("run_command", command="echo begun; sleep 1; echo built", background=True)
    first = await run("read_result", call_id="job-1")
    while "begun" not in first.for_model:
        first = await run("read_result", call_id="job-1")
    assert first.is_waiting
    second = await run("read_result", call_id="job-1")
    assert "built" in second.for_model
