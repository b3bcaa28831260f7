"""Test the tool `report_findings`."""

from __future__ import annotations

from swecli.review.read.report_tool import review_tools
from swecli.tools.registry import ToolRegistry


def test_a_review_has_only_tools_that_read_and_report_findings() -> None:
    tools = review_tools(ToolRegistry.discover())
    assert {"read_file", "search_files", "list_files", "report_findings"} <= tools.keys()
    assert not {"write_file", "edit_file", "run_command", "todo"} & tools.keys()


def test_an_invalid_entry_does_not_discard_the_others() -> None:
    tool = review_tools(ToolRegistry.discover()).get("report_findings")
    assert tool is not None
    tool.params.model_validate({"findings": [{"path": "a.py"}, 7, "x"]})
    assert tool.spec().parameters["properties"]["findings"]["items"]["required"][:2] == [
        "path",
        "line",
    ]
