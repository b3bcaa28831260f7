"""Test that what a call changes is known by what its tool says, and not by the tool's name: it is remembered, learned
from and undone like the changes of built-in tools."""

from __future__ import annotations

from pathlib import Path

import pytest
from pydantic import Field

from swecli.app import Runtime
from swecli.models.message import Effects, ToolResult
from swecli.playbook.learning.evidence import TurnDigest
from swecli.store.records import CheckResult
from swecli.tools.base import EDIT, PermissionKind, Tool, ToolContext, ToolPlan
from swecli.tools.params import Params
from tests.support.runtime import calls, make_runtime, run_turn

CHECK = "python -m pytest"
FORMAT = PermissionKind("format", "Format it?", "asks before it formats", may_change="any file")
RING = PermissionKind("bell", "Ring this bell?", "asks before it rings")


class PatchParams(Params):
    target: str = Field(description="File to patch.")


def plan_patch(params: PatchParams, ctx: ToolContext) -> ToolPlan:
    return ToolPlan(f"Patch {params.target}", subject=params.target)


async def patch(params: PatchParams, ctx: ToolContext, plan: ToolPlan) -> ToolResult:
    file = ctx.root / params.target
    file.parent.mkdir(exist_ok=True)
    file.write_text("patched\n")
    return ToolResult(True, "patched")


async def patch_and_say_so(params: PatchParams, ctx: ToolContext, plan: ToolPlan) -> ToolResult:
    await patch(params, ctx, plan)
    return ToolResult(True, "formatted", effects=Effects(changed=(params.target,)))


apply_patch = Tool("apply_patch", "Apply a patch.", PatchParams, EDIT, patch, plan_patch)
reformat = Tool("reformat", "Format all.", PatchParams, FORMAT, patch_and_say_so, plan_patch)
ring = Tool("ring", "Ring a bell.", PatchParams, RING, patch, plan_patch)


def with_tools(*replies: object) -> Runtime:
    Path("a.py").write_text("one\n")
    runtime = make_runtime([*replies, "done"], mode="auto")
    for tool in (apply_patch, reformat, ring):
        runtime.agent.tools.load()[tool.name] = tool
    return runtime


@pytest.mark.parametrize("name", ["apply_patch", "reformat"])
async def test_a_file_that_such_a_tool_changed_is_kept_as_a_fact(name: str) -> None:
    runtime = with_tools(calls((name, {"target": "a.py"})))
    await run_turn(runtime, "patch it")
    facts = runtime.session.context.facts.values()
    assert [fact.text for fact in facts if fact.kind == "changed"] == ["a.py"]
    runtime.close()


@pytest.mark.parametrize(
    ("name", "is_evidence"), [("apply_patch", True), ("reformat", True), ("ring", False)]
)
async def test_a_check_after_such_a_tool_is_evidence(name: str, is_evidence: bool) -> None:
    runtime = with_tools(
        calls((name, {"target": "a.py"})), calls(("run_command", {"command": CHECK}))
    )
    await run_turn(runtime, "patch it", learn=False)
    digest = TurnDigest.of(runtime.session.messages)
    [check] = digest.checks
    # a check that fails in another way than before says something only if the turn changed a file
    observed = digest.observe({check: CheckResult(False, ("another failure",))}).observed
    assert (observed is not None) == is_evidence
    runtime.close()


@pytest.mark.parametrize("name", ["apply_patch", "reformat"])
@pytest.mark.parametrize("file", ["a.py", "new/b.py"])
async def test_its_changes_are_undone(name: str, file: str) -> None:
    runtime = with_tools(calls((name, {"target": file})))
    await run_turn(runtime, "patch it")
    assert Path(file).read_text() == "patched\n"
    assert runtime.history is not None
    runtime.history.undo(1, ["files"], runtime.history.plan(1))
    assert Path("a.py").read_text() == "one\n"
    assert not Path("new").exists()
    runtime.close()


async def test_undo_looks_at_no_file_around_a_call_whose_kind_changes_none() -> None:
    runtime = with_tools(calls(("ring", {"target": "a.py"})))
    await run_turn(runtime, "ring it")
    assert runtime.history is not None
    assert runtime.history.plan(1).ready_changes == [], "the change was not recorded"
    runtime.close()


async def test_a_call_that_was_refused_changed_nothing() -> None:
    runtime = with_tools(calls(("apply_patch", {"target": "a.py"})))
    runtime.agent.permissions.mode = "plan"
    await run_turn(runtime, "patch it")
    assert [fact.kind for fact in runtime.session.context.facts.values()] == ["request"]
    runtime.close()
