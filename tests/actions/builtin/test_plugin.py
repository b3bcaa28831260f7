"""Test `swecli plugin` and `/plugins`: what a user sees before he adds a plug-in, and what becomes of it."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from swecli.app import Runtime
from swecli.config import plugins
from swecli.config.plugin_folder import read_plugin
from swecli.context.project import find_skills
from swecli.repl.commands.registry import CommandTable
from swecli.tools.hooks.declared import parse_hooks
from tests.support.command_context import ScriptedContext
from tests.support.plugins import SKILL, add, agent_plugin, claude_plugin, servers, write_files
from tests.support.runtime import make_start
from tests.support.shell import Run

_HOOK = {"type": "command", "command": "python3 ${CLAUDE_PLUGIN_ROOT}/hook.py"}
_FILES = {
    "skills/deploy/SKILL.md": SKILL.format(name="deploy", text="Run ${CLAUDE_PLUGIN_ROOT}/go."),
    "commands/ship.md": "---\ndescription: Ship it.\n---\nShip $ARGUMENTS by ${CLAUDE_PLUGIN_ROOT}/x.",
    "commands/help.md": "Help with tools.",
    "hooks/hooks.json": {"hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": [_HOOK]}]}},
    "hook.py": "print('hook')\n",
    "agents/reviewer.md": "Review.",
    ".mcp.json": {"mcpServers": {"time": {"command": "uvx", "args": ["time"], "env": {"TZ": "x"}}}},
}


@pytest.fixture
def folder() -> Path:
    return claude_plugin("tools", _FILES, version="1.0", description="All of it.")


def test_without_plug_ins_the_list_says_how_to_add_one(run: Run) -> None:
    assert "There are no plug-ins. `swecli plugin add FOLDER` adds one." in run("plugin").out


def test_all_that_it_brings_is_shown_before_it_is_added(run: Run, folder: Path) -> None:
    shown = run("plugin", "add", str(folder))
    assert shown.code == 1
    for line in (
        "tools 1.0, a plug-in in the format of Claude Code",
        "  All of it.",
        "  skill deploy: About deploy.",
        "  command ship: Ship it.",
        "  hook on PreToolUse for Bash: python3 ${CLAUDE_PLUGIN_ROOT}/hook.py",
        "  MCP server time: uvx time (given: TZ)",
        "  not used: agents are not carried: reviewer",
        "nothing was added: add --yes",
    ):
        assert line in shown.out
    assert not (Path(os.environ["SWECLI_HOME"]) / "plugins").exists()


def test_it_is_added_listed_shown_and_removed(run: Run, folder: Path) -> None:
    added = run("plugin", "add", str(folder), "--yes")
    assert "tools is added: what it brings is used from the next start on" in added.out
    assert "swecli mcp approve time shows the tools" in added.out
    [listed] = json.loads(run("plugin", "list", "--json").out)
    assert (listed["name"], listed["state"]) == ("tools", "as you approved it")
    assert (listed["skills"], listed["commands"]) == (["deploy"], ["help", "ship"])
    assert "1 skill, 2 commands, 1 hook, 1 MCP server" in run("plugin").out
    assert "hook on PreToolUse" in run("plugin", "show", "tools").out
    assert "plug-in" in run("hooks").out
    assert "its tools are not approved yet" in run("mcp").out
    again = run("plugin", "add", str(folder), "--yes").out
    assert "tools is added already, and its folder is as you approved it" in again
    assert "tools is removed" in run("plugin", "remove", "tools").out
    assert "There are no plug-ins." in run("plugin").out
    assert "There are no hooks." in run("hooks").out
    assert not (Path(os.environ["SWECLI_HOME"]) / "plugins").exists()


def test_an_update_waits_with_its_differences_until_it_is_added(run: Run, folder: Path) -> None:
    run("plugin", "add", str(folder), "--yes")
    write_files(folder, {"hook.py": "print('other')\n", "new.md": "New\u202e text.\n"})
    (folder / "agents" / "reviewer.md").unlink()
    assert "changed since; the copy that you approved is used" in run("plugin").out
    for shown in (run("plugin", "show", "tools").out, run("plugin", "add", str(folder)).out):
        assert "  hook.py: changed\n" in shown
        assert "-print('hook')" in shown
        assert "+print('other')" in shown
        assert "  agents/reviewer.md: gone" in shown
        assert "  new.md: new\n" in shown
        assert "New\\u202e text." in shown
    assert run("plugin", "add", str(folder), "--yes").code == 0
    assert "as you approved it" in run("plugin").out
    copies = Path(os.environ["SWECLI_HOME"], "plugins", "tools")
    assert len([*copies.iterdir()]) == 1


def test_a_folder_that_is_gone_is_said_and_its_copy_used(run: Run, folder: Path) -> None:
    run("plugin", "add", str(folder), "--yes")
    folder.rename(folder.with_name("elsewhere"))
    assert "gone; the copy is used" in run("plugin").out
    assert "hook.py: gone" not in run("plugin", "show", "tools").out
    assert "There is no folder" in run("plugin", "add", str(folder)).err


def test_a_folder_that_became_too_large_is_said_and_its_copy_used(run: Run, folder: Path) -> None:
    run("plugin", "add", str(folder), "--yes")
    with (folder / "model.bin").open("wb") as file:
        file.truncate(100_000_000)
    assert "cannot be copied any more; the copy is used" in run("plugin").out
    assert "with model.bin of 100,000,000." in run("plugin", "show", "tools").out
    refused = run("plugin", "add", str(folder), "--yes")
    assert refused.code == 42
    assert "more than 20,000,000 bytes" in refused.err


def test_a_copy_that_was_changed_is_made_again(run: Run, folder: Path) -> None:
    run("plugin", "add", str(folder), "--yes")
    [record] = json.loads(run("plugin", "list", "--json").out)
    Path(record["folder"], "hook.py").write_text("print('other')\n")
    plugins._read.cache_clear()  # as in a new process
    assert "is not what you approved" in run("plugin").out
    assert "tools is added: what" in run("plugin", "add", str(folder), "--yes").out
    assert Path(record["folder"], "hook.py").read_text() == "print('hook')\n"
    assert "as you approved it" in run("plugin").out


def test_a_second_one_of_the_same_name_is_refused(run: Run, folder: Path) -> None:
    run("plugin", "add", str(folder), "--yes")
    other = folder.rename(folder.with_name("elsewhere"))
    refused = run("plugin", "add", str(other), "--yes")
    assert refused.code == 42
    assert f"There is a plug-in tools already, from {folder}." in refused.err
    assert "`swecli plugin remove tools` removes that one." in refused.err


def test_the_ledger_of_trust_shows_it(run: Run, folder: Path) -> None:
    run("plugin", "add", str(folder), "--yes")
    [record] = json.loads(run("trust", "list", "--json").out)
    assert [*record["plugins"]] == ["tools"]
    shown = run("trust", "show", record["folder"]).out
    assert "plug-in tools: " in shown
    assert "what changed since: swecli plugin show tools" in shown
    assert run("trust", "remove", record["folder"]).code == 0
    assert "There are no plug-ins." in run("plugin").out


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (("add",), "Give the folder of a plug-in."),
        (("add", "nowhere"), "There is no folder"),
        (("add", "."), "is no plug-in"),
        (("show",), "Give the name of a plug-in."),
        (("show", "x"), "There is no plug-in 'x'"),
        (("remove", "x"), "There is no plug-in 'x'"),
    ],
)
def test_bad_input_gets_one_clear_line(run: Run, words: tuple[str, ...], error: str) -> None:
    done = run("plugin", *words)
    assert done.code in (2, 42)
    assert error in done.err


def test_links_out_of_it_are_named_and_not_followed(run: Run, folder: Path) -> None:
    Path("secret.md").write_text("---\nname: leak\ndescription: Leak.\n---\nkey")
    (folder / "skills" / "leak").mkdir()
    (folder / "skills" / "leak" / "SKILL.md").symlink_to(Path("secret.md").resolve())
    shown = run("plugin", "add", str(folder), "--yes").out
    assert "skills/leak/SKILL.md is left out: it is a link that leads out of the folder" in shown
    assert "Leak" not in shown


def test_hidden_letters_in_what_it_says_are_shown_as_escapes(run: Run) -> None:
    folder = claude_plugin("odd", {"commands/x.md": "x"}, description="Nice\u202e\x1b[2J")
    shown = run("plugin", "add", str(folder)).out
    assert "\u202e" not in shown
    assert "\x1b" not in shown


async def test_a_session_has_its_skills_and_commands(
    ctx: ScriptedContext, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    start = make_start()
    plugin = await add(start, folder)
    skills = find_skills(start, start.read_trust())
    assert "- deploy: About deploy." in skills.text
    assert skills.skills["deploy"].variables["CLAUDE_PLUGIN_ROOT"] == str(plugin.root)
    table = CommandTable.discover(start.read_trust(), start.paths)
    ship = table.find("ship")
    assert ship is not None
    sent: list[str] = []
    monkeypatch.setattr(ctx, "steer", sent.append, raising=False)
    await ship.run(ctx, "now")
    assert sent == [f"Ship now by {plugin.root}/x."]
    assert table.find("tools:help") is not None
    assert table.find("help") is not table.find("tools:help")


async def test_a_skill_whose_name_is_none_goes_by_its_folder() -> None:
    start = make_start()
    text = SKILL.format(name="Writing Rules", text="Do it.")
    await add(start, claude_plugin(files={"skills/writing-rules/SKILL.md": text}))
    assert [*find_skills(start, start.read_trust()).skills] == ["writing-rules"]


async def test_a_session_lists_them(ctx: ScriptedContext, runtime: Runtime, folder: Path) -> None:
    await add(runtime.start, folder)
    assert "1 skill, 2 commands, 1 hook" in await ctx.type("/plugins")
    assert "skill deploy: About deploy." in await ctx.type("/plugin show tools")


def test_our_memory_is_such_a_plug_in(run: Run) -> None:
    folder = Path(run("plugin", "memory").out.strip())
    plugin = read_plugin(folder, "x")
    assert (plugin.name, plugin.problems, plugin.unused) == ("swecli-memory", (), ())
    assert [file.parent.name for file in plugin.skills] == ["recall-first"]
    assert plugin.servers.servers["swecli"].args == ("mcp", "serve")
    shown = run("plugin", "add", str(folder), "--yes").out
    assert "skill recall-first: Before any task in this project" in shown


def test_one_of_agent_plugins_is_added_too(run: Run) -> None:
    files = {"mcp.json": servers(api={"type": "sse", "url": "https://e.org"})}
    shown = run("plugin", "add", str(agent_plugin("small", files)), "--yes").out
    assert "small, a plug-in in the format of Agent Plugins 1.0.0" in shown
    assert "not used: mcp.json: the MCP server api is not used: its transport sse" in shown


def test_the_hooks_in_its_files_are_those_of_the_one_reader(folder: Path) -> None:
    [(name, data)] = read_plugin(folder, "x").hooks
    assert [hook.matcher for hook in parse_hooks(data, name).hooks] == ["Bash"]
