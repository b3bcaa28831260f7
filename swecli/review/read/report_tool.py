"""The tool by which a reviewer reports its findings."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pydantic import Field

from swecli.context.reported_findings import FINDING_SCHEMA, parse_finding
from swecli.models.counts import pluralize
from swecli.models.json_value import Json
from swecli.models.message import Display, ToolResult
from swecli.tools.base import READ, Tool, ToolContext, ToolPlan
from swecli.tools.params import Params
from swecli.tools.registry import ToolRegistry

REPORT_TOOL = "report_findings"
_STORED_NOTE = "The findings are stored."


class _ReportParams(Params):
    """Parameters of report_findings; entries are not validated here, so that a bad one does not reject the others."""

    part: Any = Field(
        None,
        description="The number of the part this is about.",
        json_schema_extra={"type": "integer"},
    )
    done: Any = Field(
        None,
        description="Whether the part is read to its end.",
        json_schema_extra={"type": "boolean"},
    )
    findings: Any = Field(
        description="The findings.", json_schema_extra={"type": "array", "items": FINDING_SCHEMA}
    )


def review_tools(tools: ToolRegistry) -> ToolRegistry:
    """Return the read-only tools and the one that reports. Findings are extracted and stored before that one runs."""

    def plan(params: _ReportParams, ctx: ToolContext) -> ToolPlan:
        count = len(params.findings) if isinstance(params.findings, list) else 1
        return ToolPlan(f"Report {pluralize(count, 'finding')}")

    async def run(params: _ReportParams, ctx: ToolContext, plan: ToolPlan) -> ToolResult:
        faults = _find_faults(params.findings)
        text = (
            "\n".join(["These are not stored; report them again:", *faults])
            if faults
            else _STORED_NOTE
        )
        return ToolResult(not faults, text, Display(title="Findings", body=text))

    text = Path(__file__).with_name(f"{REPORT_TOOL}.md").read_text(encoding="utf-8").strip()
    reading_tools = [
        tool for tool in tools.values() if tool.kind.is_read_only and tool.offer.in_reviews
    ]
    return ToolRegistry([*reading_tools, Tool(REPORT_TOOL, text, _ReportParams, READ, run, plan)])


def _find_faults(findings: Json) -> list[str]:
    """Return a line for each entry that cannot be used."""
    if not isinstance(findings, list):
        return ["`findings` is no list"]
    faults: list[str] = []
    for entry in findings:
        parse_finding(entry, 0, faults)
    return faults
