"""Test executing one call, from the model's arguments to the result it gets."""

from __future__ import annotations

import asyncio
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from swecli.config.project_rules import ProjectRules
from swecli.models.approval import AskRequest, Decision
from swecli.models.message import CallStatus, ToolCall, ToolResult
from swecli.tools.base import READ, Progress, Tool, ToolContext, ToolError, ToolPlan
from swecli.tools.commands.rules import RUN
from swecli.tools.execute import execute
from swecli.tools.params import Params
from swecli.tools.permissions import Permissions
from swecli.tools.registry import ToolRegistry


class NoParams(Params):
    """None."""


def make_tool(name: str, fault: BaseException | None = None, at: str = "run") -> Tool:
    """Return a tool that raises `fault` while planning or running."""

    def plan(params: NoParams, ctx: ToolContext) -> ToolPlan:
        if fault is not None and at == "plan":
            raise fault
        return ToolPlan(f"Do {name}", subject="x")

    async def run(params: NoParams, ctx: ToolContext, plan: ToolPlan) -> ToolResult:
        if fault is not None:
            raise fault
        return ToolResult(True, "done")

    return Tool(name, "For tests.", NoParams, RUN, run, plan)


async def approve(request: AskRequest) -> Decision:
    return Decision(True)


async def run_call(
    name: str,
    ctx: ToolContext,
    ask: Any = approve,
    permissions: Permissions | None = None,
    **more: Any,
) -> tuple[ToolCall, ToolResult, str]:
    parameters = more.pop("parameters", {})
    registry = more.pop("registry", None) or ToolRegistry.discover()
    call = ToolCall("c1", name, parameters)
    result, summary = await execute(call, registry, ctx, permissions or Permissions(), ask, **more)
    assert call.result == result.for_model
    return call, result, summary


async def test_execute_records_result_decision_and_duration_in_the_call(ctx: ToolContext) -> None:
    begun: list[str] = []
    call, result, summary = await run_call(
        "run_command",
        replace(ctx, progress=Progress(on_start=lambda call, line: begun.append(line))),
        parameters={"command": "echo hi;:"},
    )
    assert result.ok
    assert summary == "Run echo hi;:"
    assert begun == ["Run echo hi;:"]
    assert (call.approved, call.decision, call.exit_code, call.error) == (True, "user", 0, None)
    assert call.status is CallStatus.FINISHED
    assert call.duration_ms is not None
    assert call.duration_ms >= 0


async def test_a_call_allowed_by_mode_or_rule_runs_without_approval(ctx: ToolContext) -> None:
    async def nobody(request: AskRequest) -> Decision:
        raise AssertionError("asked")

    call, result, _ = await run_call("list_files", ctx, nobody)
    assert result.ok
    assert (call.approved, call.decision) == (None, "mode")
    call, result, _ = await run_call(
        "run_command",
        ctx,
        nobody,
        Permissions(allow=["run(mkdir *)"]),
        parameters={"command": "mkdir a"},
    )
    assert (call.approved, call.decision) == (None, "rule")


async def test_an_unknown_tool_is_reported_with_similar_names(ctx: ToolContext) -> None:
    call, result, summary = await run_call("ReadFile\n", ctx)
    assert not result.ok
    assert "There is no tool 'ReadFile'. Did you mean read_file" in result.for_model
    assert "write_file" in result.for_model
    assert summary == "ReadFile"
    assert call.status is CallStatus.FAILED


async def test_invalid_json_arguments_are_reported(ctx: ToolContext) -> None:
    _, result, summary = await run_call("read_file", ctx, problem="Expecting ',' at character 12")
    assert not result.ok
    assert "could not be read: Expecting ',' at character 12" in result.for_model
    assert summary == "read_file"


async def test_each_wrong_argument_is_reported_on_its_own_line(ctx: ToolContext) -> None:
    _, result, summary = await run_call(
        "edit_file", ctx, parameters={"path": "a", "edits": [{"old_text": 1}], "force": True}
    )
    assert result.for_model.split("\n") == [
        "The arguments of edit_file are invalid. Nothing was done.",
        "- edits.0.old_text: Input should be a valid string (got 1)",
        "- edits.0.new_text: Field required",
        "- force: there is no such parameter",
    ]
    assert summary == "edit_file a"


@pytest.mark.parametrize(
    ("name", "parameters", "fault"),
    [
        ("edit_file", {"path": "a", "edits": "[]"}, "- edits: Input should be a valid list"),
        ("read_file", {"path": "a", "encoding": "x"}, "- encoding: there is no such parameter"),
    ],
)
async def test_arguments_of_another_form_are_named_and_nothing_is_guessed(
    ctx: ToolContext, name: str, parameters: dict[str, str], fault: str
) -> None:
    (ctx.root / "a").write_text("one\n")
    _, result, _ = await run_call(name, ctx, parameters=parameters)
    assert not result.ok
    assert fault in result.for_model


async def test_an_unknown_argument_of_a_command_is_refused(ctx: ToolContext) -> None:
    parameters = {"command": "touch made", "cwd": "sub"}
    _, result, _ = await run_call("run_command", ctx, parameters=parameters)
    assert "- cwd: there is no such parameter" in result.for_model
    assert list(ctx.root.iterdir()) == []


async def test_an_unknown_tool_is_answered_with_those_that_are_offered(ctx: ToolContext) -> None:
    ctx.model.is_offered = lambda name: name in ("read_file", "search_files")
    _, result, _ = await run_call("skil", ctx)
    assert result.for_model == "There is no tool 'skil'. Tools: read_file, search_files."


async def test_the_reason_of_a_refusal_is_sent_to_the_model_unchanged(ctx: ToolContext) -> None:
    async def no(request: AskRequest) -> Decision:
        return Decision(False, reason="use *make* instead, <please>")

    call, result, _ = await run_call("run_command", ctx, no, parameters={"command": "touch made"})
    assert result.denied
    assert not result.ok
    assert result.for_model.endswith("The user says: use *make* instead, <please>")
    assert (call.approved, call.decision, call.reason) == (
        False,
        "user",
        "use *make* instead, <please>",
    )
    assert call.duration_ms is None
    assert list(ctx.root.iterdir()) == []


async def test_refusals_by_the_user_and_in_headless_mode_are_reported_differently(
    ctx: ToolContext,
) -> None:
    for decision, words in (
        (Decision(False), "The user refused"),
        (Decision(False, by="headless"), "nobody is there to approve it"),
    ):

        async def no(request: AskRequest, decision: Decision = decision) -> Decision:
            return decision

        call, result, _ = await run_call("run_command", ctx, no, parameters={"command": "touch a"})
        assert words in result.for_model
        assert call.decision == decision.by


async def test_deny_rules_and_plan_mode_refuse_without_an_approval(ctx: ToolContext) -> None:
    async def nobody(request: AskRequest) -> Decision:
        raise AssertionError("asked")

    call, result, _ = await run_call(
        "run_command",
        ctx,
        nobody,
        Permissions("auto", deny=["run(rm *)"]),
        parameters={"command": "ls; rm x"},
    )
    assert result.denied
    assert "The rule run(rm *) forbids it" in result.for_model
    assert (call.approved, call.decision) == (False, "rule")
    call, result, _ = await run_call(
        "write_file", ctx, nobody, Permissions("plan"), parameters={"path": "a", "content": ""}
    )
    assert result.denied
    assert "Plan mode is read-only" in result.for_model
    assert call.decision == "mode"


async def test_an_approval_for_the_session_covers_only_the_same_command(ctx: ToolContext) -> None:
    asked: list[AskRequest] = []

    async def session(request: AskRequest) -> Decision:
        asked.append(request)
        return Decision(True, scope="session")

    permissions = Permissions()
    for _ in range(2):
        await run_call(
            "run_command", ctx, session, permissions, parameters={"command": "A=1 echo *"}
        )
    await run_call("run_command", ctx, session, permissions, parameters={"command": "A=1 echo x"})
    assert [request.session_rules for request in asked] == [
        ("run(A=1 echo [*])",),
        ("run(A=1 echo x)",),
    ]
    for path in ("a", "b"):
        await run_call(
            "write_file", ctx, session, permissions, parameters={"path": path, "content": "x"}
        )
    assert [request.session_mode for request in asked[2:]] == ["edits"]
    assert permissions.mode == "edits", "what is shown as the mode is what is allowed"
    assert "edit(**)" not in [rule.text for rule in permissions.session]
    for _ in range(2):
        await run_call(
            "write_file", ctx, session, permissions, parameters={"path": ".bashrc", "content": "x"}
        )
    assert [(r.session_rules, r.session_label) for r in asked[3:]] == [
        (("edit(/.bashrc)",), ".bashrc")
    ]
    assert asked[3].session_mode is None, "no mode allows a protected file"
    assert "can steer the assistant" in asked[3].why


async def test_an_approval_for_the_project_is_saved_and_applies_in_later_sessions(
    ctx: ToolContext, tmp_path: Path
) -> None:
    file = tmp_path / "permissions.toml"
    asked: list[AskRequest] = []

    async def project(request: AskRequest) -> Decision:
        asked.append(request)
        return Decision(True, scope="project")

    for name in ("a", "b"):  # each time as in a new session
        permissions = Permissions(project=ProjectRules(file, ctx.root))
        await run_call(
            "run_command", ctx, project, permissions, parameters={"command": f"mkdir {name}"}
        )
    assert [(r.session_rules, r.session_label, r.project_file) for r in asked] == [
        (("run(mkdir *)",), "mkdir *", str(file))
    ]
    assert permissions.last == "Run mkdir b: allowed (by run(mkdir *))"
    assert sorted(path.name for path in ctx.root.iterdir()) == ["a", "b"]


async def test_approval_for_the_project_is_not_offered_where_only_the_exact_call_may_be_allowed(
    ctx: ToolContext,
) -> None:
    asked: list[AskRequest] = []

    async def project(request: AskRequest) -> Decision:
        asked.append(request)
        return Decision(True, scope="project")

    permissions = Permissions(
        ask=["run(make*)"], project=ProjectRules(ctx.root.parent / "p.toml", ctx.root)
    )
    await run_call("run_command", ctx, project, permissions, parameters={"command": "make -v"})
    await run_call(
        "write_file", ctx, project, permissions, parameters={"path": "AGENTS.md", "content": "x"}
    )
    assert [request.project_file for request in asked] == ["", ""]


async def test_a_project_rule_that_cannot_be_saved_applies_for_the_session_and_is_reported(
    ctx: ToolContext,
) -> None:
    async def project(request: AskRequest) -> Decision:
        (ctx.root.parent / "p.toml").mkdir()
        return Decision(True, scope="project")

    permissions = Permissions(project=ProjectRules(ctx.root.parent / "p.toml", ctx.root))
    _, result, _ = await run_call(
        "run_command", ctx, project, permissions, parameters={"command": "mkdir a"}
    )
    assert result.ok
    assert "run(mkdir *) could not be saved" in permissions.last
    assert [rule.text for rule in permissions.session] == ["run(mkdir *)"]


async def test_the_approval_and_the_last_decision_name_the_reason(ctx: ToolContext) -> None:
    asked: list[AskRequest] = []

    async def no(request: AskRequest) -> Decision:
        asked.append(request)
        return Decision(False)

    permissions = Permissions()
    await run_call("run_command", ctx, no, permissions, parameters={"command": "find . -delete"})
    assert asked[0].why == "find -delete may change files"
    assert permissions.last == "Run find . -delete: asked (find -delete may change files)"
    await run_call("run_command", ctx, no, permissions, parameters={"command": "ls"})
    assert permissions.last == "Run ls: allowed (read-only)"
    await run_call("list_files", ctx, no, permissions)
    assert permissions.last == "Run ls: allowed (read-only)"


async def test_reading_a_secret_file_requires_approval(ctx: ToolContext) -> None:
    (ctx.root / ".env").write_text("KEY=1\n")
    asked: list[str] = []

    async def no(request: AskRequest) -> Decision:
        asked.append(f"{request.summary}: {request.why}")
        return Decision(False)

    _, result, _ = await run_call(
        "read_file", ctx, no, Permissions("auto"), parameters={"path": ".env"}
    )
    assert "KEY" not in result.for_model
    assert asked == ["Read .env: .env may contain secrets"]


async def test_a_search_skips_files_that_may_not_be_read(ctx: ToolContext) -> None:
    (ctx.root / "private").mkdir()
    for name in ("private/a.txt", "b.txt", ".env"):
        (ctx.root / name).write_text("needle\n")
    permissions = Permissions(deny=["read(private/**)"])
    _, result, _ = await run_call(
        "search_files", ctx, approve, permissions, parameters={"pattern": "needle"}
    )
    assert result.for_model == "1 match in 1 file:\nb.txt:1: needle"


async def test_an_exception_in_a_tool_becomes_a_failed_result(ctx: ToolContext) -> None:
    registry = ToolRegistry(
        [
            make_tool("bad_run", ZeroDivisionError("oops")),
            make_tool("bad_plan", ZeroDivisionError("oops"), at="plan"),
            make_tool("told", ToolError("no such thing")),
        ]
    )
    for name in ("bad_run", "bad_plan"):
        call, result, _ = await run_call(name, ctx, registry=registry)
        assert not result.ok
        assert "failed with an internal error (ZeroDivisionError: oops)" in result.for_model
        assert call.error == result.for_model
    _, result, summary = await run_call("told", ctx, registry=registry)
    assert (result.for_model, summary) == ("no such thing", "Do told")


async def test_a_call_cancelled_during_the_approval_does_not_run(ctx: ToolContext) -> None:
    async def leave(request: AskRequest) -> Decision:
        raise asyncio.CancelledError

    call = ToolCall("c1", "run_command", {"command": "touch made"})
    with pytest.raises(asyncio.CancelledError):
        await execute(call, ToolRegistry.discover(), ctx, Permissions(), leave)
    assert call.status is CallStatus.CANCELLED
    assert call.result is not None
    assert "before it ran" in call.result
    assert list(ctx.root.iterdir()) == []


async def test_a_call_whose_approval_fails_does_not_run(ctx: ToolContext) -> None:
    async def broken(request: AskRequest) -> Decision:
        raise OSError("the terminal is gone")

    call, result, _ = await run_call(
        "run_command", ctx, broken, parameters={"command": "touch made"}
    )
    assert (call.status, call.approved) == (CallStatus.REFUSED, None)
    assert "the terminal is gone" in result.for_model
    assert list(ctx.root.iterdir()) == []


async def test_cancelling_a_running_call_ends_the_command_and_records_it(
    ctx: ToolContext, root: Path
) -> None:
    ready = asyncio.Event()
    call = ToolCall("c1", "run_command", {"command": "echo $$ > pid; echo ready; sleep 300"})
    watching = replace(ctx, progress=Progress(report=lambda text: ready.set()))
    task = asyncio.create_task(
        execute(call, ToolRegistry.discover(), watching, Permissions("auto"), approve)
    )
    await ready.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert call.status is CallStatus.CANCELLED
    assert call.result is not None
    assert re.search(r"Stopped by the user after \d+ s\.", call.result)
    assert call.duration_ms is not None
    pid = int((root / "pid").read_text())
    status = Path(f"/proc/{pid}/stat")
    assert not status.exists() or status.read_text().rsplit(")", 1)[1].split()[0] == "Z"


async def test_summaries_are_one_line_with_hidden_characters_escaped(ctx: ToolContext) -> None:
    _, _, summary = await run_call(
        "run_command", ctx, parameters={"command": "echo \x1b[2K\u202e\necho b"}
    )
    assert summary == "Run echo \\x1b[2K\\u202e ⏎ echo b"
    _, _, summary = await run_call("read_file", ctx, parameters={"path": "no\nfile"})
    assert summary == "Read no ⏎ file"


@pytest.mark.parametrize("where", ["plan", "run"])
async def test_a_tool_for_another_version_is_refused_in_one_line(
    ctx: ToolContext, where: str
) -> None:
    def plan(params: Params, ctx: ToolContext) -> ToolPlan:
        if where == "plan":
            ctx.timeout  # type: ignore[attr-defined]  # as in version 0.1  # noqa: B018
        return ToolPlan("Count")

    async def run(params: Params, ctx: ToolContext, plan: ToolPlan) -> ToolResult:
        return ToolResult(True, str(ctx.timeout))  # type: ignore[attr-defined]  # as in version 0.1

    count = Tool("count", "Counts.", Params, READ, run, plan)
    _, result, _ = await run_call("count", ctx, registry=ToolRegistry([count]))
    assert not result.ok
    assert result.for_model == (
        "This tool is made for another version of swecli: its context has no 'timeout'."
        " Update its package."
    )
