"""Test `/playbook promote`: a strategy becomes a line of AGENTS.md, by an edit that the user sees and can undo."""

from __future__ import annotations

from pathlib import Path

import pytest

from swecli.app import Runtime
from swecli.config.trust import TrustLedger
from swecli.models.errors import BadInput
from tests.support.command_context import ScriptedContext
from tests.support.playbook import perform
from tests.support.runtime import make_runtime, run_turn

RULE = "Run the tests with `make check`."


async def begin(*, trusted: bool = True, agents: str | None = None) -> Runtime:
    """Return a runtime with one strategy and one turn, in a folder whose instructions are trusted."""
    file = Path("AGENTS.md")
    if agents is not None:
        file.write_text(agents, encoding="utf-8")
    runtime = make_runtime(lambda request: "Done.", mode="ask")
    if trusted:
        files = {file.resolve(): file.read_bytes()} if file.exists() else {}
        TrustLedger.find(runtime.start.paths).approve(runtime.cwd, files)
    perform(runtime, "add", [RULE])
    await run_turn(runtime, "hello", learn=False)
    return runtime


def system_prompt(runtime: Runtime) -> str:
    return str(runtime.agent.prepare("x").messages[0]["content"])


async def test_after_a_yes_the_rule_is_in_the_instructions_and_no_longer_in_the_playbook() -> None:
    runtime = await begin(agents="# Project\n\nBe kind.\n")
    ctx = ScriptedContext(runtime, "1")
    printed = await ctx.type("/playbook promote P-1")
    assert f"+ - {RULE}" in printed
    assert Path("AGENTS.md").read_text() == f"# Project\n\nBe kind.\n\n## Conventions\n\n- {RULE}\n"
    assert runtime.session.playbook.bullets["P-1"].state == "disabled"
    assert "P-1 is in AGENTS.md now" in printed
    sent = system_prompt(runtime)
    assert f"- {RULE}" in sent, "it is read with the next request, and trusted as it is now"
    assert f"[P-1] {RULE}" not in sent


async def test_a_no_changes_nothing() -> None:
    runtime = await begin()
    printed = await ScriptedContext(runtime, "3").type("/playbook promote P-1")
    assert "nothing was changed" in printed
    assert not Path("AGENTS.md").exists()
    assert runtime.session.playbook.bullets["P-1"].state == "active"


async def test_without_a_file_one_is_written_and_the_next_rule_joins_the_first() -> None:
    runtime = await begin()
    await ScriptedContext(runtime, "1").type("/playbook promote P-1")
    perform(runtime, "add", ["Answers are short."])
    await ScriptedContext(runtime, "1").type("/playbook promote P-2")
    assert Path("AGENTS.md").read_text() == f"## Conventions\n\n- {RULE}\n- Answers are short.\n"


async def test_undo_takes_file_and_strategy_back() -> None:
    runtime = await begin(agents="Be kind.\n")
    await ScriptedContext(runtime, "1").type("/playbook promote P-1")
    perform(runtime, "undo", [])
    assert runtime.session.playbook.bullets["P-1"].state == "active"
    await ScriptedContext(runtime, "1").type("/undo")
    assert Path("AGENTS.md").read_text() == "Be kind.\n"


async def test_what_no_instruction_file_can_stand_for_is_refused_with_what_to_do() -> None:
    runtime = await begin()
    perform(runtime, "edit", ["P-1", "--scope", "user"])
    with pytest.raises(BadInput, match="applies to all your projects") as caught:
        await ScriptedContext(runtime).type("/playbook promote P-1")
    assert "--scope project" in caught.value.hint
    perform(runtime, "edit", ["P-1", "--scope", "project"])
    perform(runtime, "edit", ["P-1", "--off"])
    with pytest.raises(BadInput, match="only what is in prompts"):
        await ScriptedContext(runtime).type("/playbook promote P-1")
    with pytest.raises(BadInput, match="no strategy P-9"):
        await ScriptedContext(runtime).type("/playbook promote P-9")


async def test_a_file_that_is_not_read_gets_no_rule() -> None:
    runtime = await begin(trusted=False)
    with pytest.raises(BadInput, match="not trusted"):
        await ScriptedContext(runtime).type("/playbook promote P-1")


async def test_a_file_that_was_changed_since_it_was_trusted_gets_no_rule() -> None:
    runtime = await begin(agents="Be kind.\n")
    Path("AGENTS.md").write_text("Be unkind.\n", encoding="utf-8")
    with pytest.raises(BadInput, match="not trusted it as it is"):
        await ScriptedContext(runtime).type("/playbook promote P-1")
