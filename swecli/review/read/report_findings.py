"""The tool a review reports by. What it is given is read before it runs, and leniently: it only says what is left."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from pydantic import Field

from swecli.models.finding import KINDS, SEVERITIES
from swecli.models.message import Display, ToolResult
from swecli.review.read.extract import TOOL
from swecli.tools.base import Params, Tool, ToolContext, ToolPlan
from swecli.tools.kinds import READ
from swecli.tools.registry import ToolRegistry

_ITEM: dict[str, Any] = {
    "type": "object",
    "properties": {
        "path": {"type": "string", "description": "File, relative to the workspace."},
        "line": {"type": "integer", "description": "First line, from 1."},
        "end_line": {"type": "integer", "description": "Last line."},
        "severity": {"type": "string", "enum": list(SEVERITIES)},
        "kind": {"type": "string", "enum": list(KINDS)},
        "code_smell_type": {
            "type": "string",
            "description": "One of the eleven smells, or the rule's or check's name.",
        },
        "message": {"type": "string", "description": "What is wrong, and why it matters."},
        "improvement": {"type": "string", "description": "What to do."},
        "suggestion": {"type": "string", "description": "Literal replacement of these lines, only where certain."},
        "evidence": {"type": "string", "description": "The code at that line, quoted exactly."},
        "same_as": {"type": "string", "description": "The id of a known finding that this one is, F-3."},
    },
    "required": ["path", "line", "code_smell_type", "message"],
}
LEFT_OUT = frozenset({"todo", "search_session"})  # a review is of the code, not of what was said


class ReportParams(Params):
    """Parameters of report_findings; the entries are not checked here, so that one bad entry costs no other."""

    part: Any = Field(None, description="The number of the part this is about.", json_schema_extra={"type": "integer"})
    done: Any = Field(None, description="Whether the part is read to its end.", json_schema_extra={"type": "boolean"})
    findings: Any = Field(description="The findings.", json_schema_extra={"type": "array", "items": _ITEM})
    withdraw: Any = Field(
        None,
        description="Ids of findings that were wrong.",
        json_schema_extra={"type": "array", "items": {"type": "string"}},
    )


def report_tool(answer: Callable[[], str]) -> Tool:
    """The tool; `answer` gives what the model reads once its findings are stored."""

    def plan(params: ReportParams, ctx: ToolContext) -> ToolPlan:
        count = len(params.findings) if isinstance(params.findings, list) else 1
        return ToolPlan(f"Report {count} finding{'' if count == 1 else 's'}")

    async def run(params: ReportParams, ctx: ToolContext, plan: ToolPlan) -> ToolResult:
        text = answer()
        return ToolResult(True, text, Display(title="Findings", body=text))

    text = Path(__file__).with_suffix(".md").read_text(encoding="utf-8").strip()
    return Tool(TOOL, text, ReportParams, READ, run, plan)


def read_only(tools: ToolRegistry, answer: Callable[[], str]) -> ToolRegistry:
    """The tools of a review: those that only read, and the one that reports."""
    kept = [tool for tool in tools if tool.kind.reads and tool.name not in LEFT_OUT]
    return ToolRegistry([*kept, report_tool(answer)])
