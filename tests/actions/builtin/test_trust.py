"""Test `swecli trust`: list, show and remove."""

from __future__ import annotations

import json
from pathlib import Path

from swecli.config.trust import TrustLedger
from tests.support.runtime import make_start, trust_everything
from tests.support.shell import Run


def test_without_a_trusted_folder_the_list_says_how_to_trust_one(run: Run) -> None:
    assert "No folder is trusted. Run /trust" in run("trust").out


def test_a_trusted_folder_is_listed_with_the_number_of_its_files(run: Run) -> None:
    Path("AGENTS.md").write_text("be brief\n")
    trust_everything(make_start())
    printed = run("trust", "list").out
    assert str(Path.cwd()) in printed
    assert " 1" in printed


def test_show_prints_what_changed_since_a_file_was_trusted(run: Run) -> None:
    Path("AGENTS.md").write_text("be brief\n")
    Path("CLAUDE.md").write_text("not read beside AGENTS.md\n")
    trust_everything(make_start())
    Path("AGENTS.md").write_text("be long\n")
    Path(".agents/commands").mkdir(parents=True)
    Path(".agents/commands/fix.md").write_text("Fix it.")
    printed = run("trust", "show").out
    assert "AGENTS.md: changed since then, not used" in printed
    assert "-be brief" in printed
    assert "+be long" in printed
    assert ".agents/commands/fix.md: new since then, not used" in printed


def test_show_of_an_untrusted_folder_ends_with_one(run: Run) -> None:
    shown = run("trust", "show")
    assert shown.code == 1
    assert "is not trusted" in shown.out


def test_remove_withdraws_the_trust(run: Run) -> None:
    start = make_start()
    trust_everything(start)
    run("trust", "remove")
    assert not TrustLedger.find(start.paths).trust_in(Path.cwd()).is_trusted
    again = run("trust", "remove")
    assert again.code == 42
    assert "is not trusted" in again.err


def test_a_damaged_record_is_named_with_what_to_do(run: Run) -> None:
    start = make_start()
    trust_everything(start)
    record = next((start.paths.state / "trust").iterdir())
    record.write_text("{")
    assert f"{record} is damaged" in run("trust", "list").out
    shown = run("trust", "show")
    assert shown.code == 42
    assert "Remove the file" in shown.err


def test_approved_servers_are_in_the_same_ledger(run: Run) -> None:
    start = make_start()
    Path("AGENTS.md").write_text("be brief\n")
    trust_everything(start)
    TrustLedger.find(start.paths).approve_server(Path.cwd(), "time", "{}")
    assert "MCP server time: " in run("trust", "show").out
    assert json.loads(run("trust", "list", "--json").out)[0]["servers"].keys() == {"time"}
