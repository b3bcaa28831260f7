"""Test the memory in Claude Code and codex themselves, offline: they recall, report, propose, and the user sees it."""

from __future__ import annotations

import json
import os
import shlex
from pathlib import Path

import pytest

from tests.support.other_agents import CLAUDE, CODEX, ScriptedService, claude, codex, scripted
from tests.support.shell import COMMAND, ON_PATH, swecli
from tests.support.strict_provider.script import Call, Reply

pytestmark = pytest.mark.slow

RECALL = Call("mcp__swecli__recall", {"query": "run the tests"})
REPORT = Call(
    "mcp__swecli__report",
    {
        "strategy": "P-1",
        "effect": "helped",
        "command": "make check",
        "exit_code": 0,
        "why": "all pass",
    },
)
REMEMBER = Call(
    "mcp__swecli__remember",
    {"text": "The suite needs the variable TZ set to UTC.", "why": "it failed without"},
)
TASK = (*(Reply(calls=(call,)) for call in (RECALL, REPORT, REMEMBER)), Reply("All done."))


def teach() -> None:
    assert swecli("playbook", "add", "Run the tests with make check.").code == 0


def assert_was_told(service: ScriptedService) -> None:
    """Check that the model was told what it asked for."""
    sent = json.dumps(service.requests[-1])
    assert "- [P-1] Run the tests with make check." in sent
    assert "Noted that P-1 helped. In all: helped 1." in sent
    assert "Kept as P-2." in sent


def assert_user_sees(author: str) -> None:
    """Check what the user is shown of a report and a proposal of this author."""
    shown = swecli("playbook", "show", "P-1").out
    assert f"helped: make check ended with exit code 0: all pass ({author})" in shown
    review = swecli("playbook", "review").out
    assert "P-2 The suite needs the variable TZ set to UTC." in review
    proposal = swecli("playbook", "show", "P-2").out
    assert f'quoted by {author}, not taken as your words: "it failed without"' in proposal


@pytest.mark.skipif(CLAUDE is None, reason="Claude Code (claude) is not installed")
def test_claude_code_recalls_reports_and_proposes() -> None:
    teach()
    waiting = Reply(calls=(Call("WaitForMcpServers", {}),))
    with scripted(*TASK, first=RECALL.name, waiting=waiting) as service:
        claude(service, "mcp", "add", "swecli", "--", *COMMAND, "mcp", "serve")
        assert "Connected" in claude(service, "mcp", "list")
        answer = claude(service, "-p", "run the tests", "--allowedTools", "mcp__swecli")
    assert answer.strip() == "All done."
    assert_was_told(service)
    assert_user_sees("mcp:claude-code")


@pytest.mark.skipif(CLAUDE is None, reason="Claude Code (claude) is not installed")
def test_claude_code_recalls_by_our_plug_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    teach()
    program = tmp_path / "bin" / "swecli"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec {shlex.join(COMMAND)} "$@"\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    folder = swecli("plugin", "memory").out.strip()
    recall = Call("mcp__plugin_swecli-memory_swecli__recall", RECALL.arguments)
    waiting = Reply(calls=(Call("WaitForMcpServers", {}),))
    replies = (Reply(calls=(recall,)), Reply("All done."))
    with scripted(*replies, first=recall.name, waiting=waiting) as service:
        words = ("--plugin-dir", folder, "-p", "run the tests", "--allowedTools", recall.name)
        answer = claude(service, *words)
    assert answer.strip() == "All done."
    assert "- [P-1] Run the tests with make check." in json.dumps(service.requests[-1])
    assert "recall-first" in json.dumps(service.requests[0])


@pytest.mark.skipif(CODEX is None, reason="codex is not installed")
def test_codex_recalls_reports_and_proposes() -> None:
    teach()
    program, *words = COMMAND
    settings = Path(os.environ["HOME"], ".codex", "config.toml")
    settings.parent.mkdir()
    settings.write_text(
        "[mcp_servers.swecli]\n"
        f"command = {json.dumps(program)}\n"
        f"args = {json.dumps([*words, 'mcp', 'serve'])}\n"
        "required = true\n"
        "[mcp_servers.swecli.env]\n"
        f"PYTHONPATH = {json.dumps(ON_PATH)}\n"
        f"SWECLI_HOME = {json.dumps(os.environ['SWECLI_HOME'])}\n"
    )
    with scripted(*TASK) as service:
        answer = codex(service, "-m", "gpt-5", "exec", "--skip-git-repo-check", "run the tests")
    assert answer.strip() == "All done."
    assert_was_told(service)
    assert_user_sees("mcp:codex-mcp-client")
