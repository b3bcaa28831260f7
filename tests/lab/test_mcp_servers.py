"""Test the client with which reference servers and the conformance suite are tried, and that their page is whole."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from lab.assurance.measurements.conforming_client import arguments_for
from swecli.tools.mcp.record import RemoteTool
from tests.support.mcp_servers import USEFUL
from tests.tools.mcp.test_service import free_port, served

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "reference" / "mcp.md"
CLIENT = ROOT / "lab" / "assurance" / "measurements" / "conforming_client.py"


def test_each_required_argument_gets_a_value_of_its_type() -> None:
    properties = {
        "count": {"type": "integer"},
        "way": {"enum": ["up", "down"]},
        "text": {"type": "string"},
        "more": {"type": "string"},
    }
    schema = {"type": "object", "properties": properties, "required": ["count", "way", "text"]}
    assert arguments_for(RemoteTool("t", "", schema)) == {"count": 5, "way": "up", "text": "word"}


@pytest.mark.slow
def test_the_client_calls_each_tool_of_a_service() -> None:
    port = free_port()
    with served(USEFUL, "http", str(port), port=port) as url:
        done = subprocess.run(
            [sys.executable, str(CLIENT), url],
            env={"PYTHONPATH": str(ROOT), "PATH": ""},
            capture_output=True,
            text=True,
            check=False,
        )
    assert done.returncode == 0, done.stderr
    assert "[one, add: 3 characters." in done.stdout
    assert "it does not work" in done.stdout


def test_what_does_not_hold_is_explained_on_the_page() -> None:
    page = PAGE.read_text(encoding="utf-8")
    for line in page.splitlines():
        if not line.startswith("| `"):
            continue
        _, _, checks, reason, _ = (cell.strip() for cell in line.split("|"))
        passed, _, made = checks.partition(" of ")
        assert reason or passed == made, line
    assert "**" not in page
