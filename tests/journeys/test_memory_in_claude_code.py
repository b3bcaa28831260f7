"""Test the memory in Claude Code itself, offline: it connects, recalls, reports and proposes, and the user sees it."""

from __future__ import annotations

import json

import pytest

from tests.support.claude_code import PROGRAM, claude, scripted
from tests.support.shell import COMMAND, swecli
from tests.support.strict_provider.script import Call, Reply

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(PROGRAM is None, reason="Claude Code (claude) is not installed"),
]

REPORT = {
    "strategy": "P-1",
    "effect": "helped",
    "command": "make check",
    "exit_code": 0,
    "why": "all pass",
}


def test_claude_code_recalls_reports_and_proposes() -> None:
    assert swecli("playbook", "add", "Run the tests with make check.").code == 0
    proposal = {"text": "The suite needs the variable TZ set to UTC.", "why": "it failed without"}
    replies = (
        Reply(calls=(Call("WaitForMcpServers", {}),)),
        Reply(calls=(Call("mcp__swecli__recall", {"query": "run the tests"}),)),
        Reply(calls=(Call("mcp__swecli__report", REPORT),)),
        Reply(calls=(Call("mcp__swecli__remember", proposal),)),
        Reply("All done."),
    )
    with scripted(*replies) as service:
        added = claude(service, "mcp", "add", "swecli", "--", *COMMAND, "mcp", "serve")
        assert added.returncode == 0, added.stderr
        assert "Connected" in claude(service, "mcp", "list").stdout
        done = claude(service, "-p", "run the tests", "--allowedTools", "mcp__swecli")
    assert done.stdout.strip() == "All done.", done.stderr
    sent = json.dumps(service.requests[-1]["messages"])
    assert "- [P-1] Run the tests with make check." in sent
    assert "Noted that P-1 helped. In all: helped 1." in sent
    shown = swecli("playbook", "show", "P-1").out
    assert "helped: make check ended with exit code 0: all pass (mcp:claude-code)" in shown
    review = swecli("playbook", "review").out
    assert "P-2 The suite needs the variable TZ set to UTC." in review
    assert 'quoted by mcp:claude-code, not taken as your words: "it failed without"' in (
        swecli("playbook", "show", "P-2").out
    )
