"""Test `swecli sessions export` and `/export`, which write a session in one of three formats."""

from __future__ import annotations

import json
from pathlib import Path

from tests.support.shell import HELLO, Run


def test_a_shell_prints_a_session_as_json_or_in_a_format_or_writes_a_file(run: Run) -> None:
    run("-p", "hello", "-m", HELLO)
    session = run("sessions", "list", "--json").json[0]["id"]
    assert json.loads(run("sessions", "export", session).out)["id"] == session
    page = run("sessions", "export", session, "--format", "html").out
    assert page.startswith("<!doctype html>")
    assert run("sessions", "export", session, "html").out == page
    written = run("sessions", "export", session, "md", "out.md", "--json").json
    assert Path(written["path"]).read_text().startswith("# hello")
    refused = run("sessions", "export", session, "md", "out.md")
    assert "exists already" in refused.complaint
    assert "Unknown format 'pdf'" in run("sessions", "export", session, "pdf").complaint
