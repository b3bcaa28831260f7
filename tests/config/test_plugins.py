"""Test which plug-ins are used: copies that are what the user approved."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from swecli.config.plugin_places import may_have_plugins, plugins_folder
from swecli.config.plugins import read_plugins
from swecli.config.trust import TrustLedger
from tests.support.plugins import add, agent_plugin, claude_plugin, servers, write_files
from tests.support.runtime import make_start

ROOT = Path(__file__).parents[2]


def test_without_plug_ins_nothing_of_them_is_loaded() -> None:
    code = (
        "import asyncio, sys\n"
        "from tests.support.runtime import make_runtime, run_turn, calls, make_start\n"
        "from swecli.repl.commands.registry import CommandTable\n"
        "async def main():\n"
        "    runtime = make_runtime([calls(('run_command', {'command': 'true'})), 'done'], mode='auto')\n"
        "    CommandTable.discover(runtime.start.read_trust(), runtime.start.paths)\n"
        "    await runtime.agent.admit('do it')\n"
        "    await run_turn(runtime, 'do it', learn=False)\n"
        "    runtime.close()\n"
        "asyncio.run(main())\n"
        "print([name for name in sys.modules if name.startswith('swecli') and 'plugin' in name])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT
    )
    # the declared actions, whose names complete, and whether there are plug-ins
    expected = ["swecli.config.plugin_places", "swecli.actions.builtin.plugin"]
    assert done.stdout.splitlines()[-1] == str(expected)


async def test_the_copy_is_used_whatever_becomes_of_the_folder() -> None:
    start = make_start()
    folder = claude_plugin(files={"commands/commit.md": "Commit."})
    await add(start, folder)
    write_files(folder, {"commands/commit.md": "Push all.", "commands/more.md": "More."})
    [plugin] = read_plugins(start.paths).plugins
    assert [file.read_text() for file in plugin.folder.commands] == ["Commit."]
    folder.rename(folder.with_name("elsewhere"))
    assert read_plugins(start.paths).plugins == (plugin,)


def _in_new_process() -> list[str]:
    """Return the problems that another run sees: each hashes a copy once."""
    code = (
        "import json; from tests.support.runtime import make_start\n"
        "from swecli.config.plugins import read_plugins\n"
        "known = read_plugins(make_start().paths)\n"
        "print(json.dumps([[*known.problems], [one.name for one in known.plugins]]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT
    )
    problems, names = json.loads(done.stdout)
    assert names == ["other"]
    return list(problems)


async def test_a_copy_that_was_changed_or_removed_is_not_used() -> None:
    start = make_start()
    plugin = await add(start, claude_plugin(files={"commands/commit.md": "Commit."}))
    await add(start, claude_plugin("other", {"commands/other.md": "Other."}))
    (plugin.root / "commands" / "commit.md").write_text("Push all.")
    [problem] = _in_new_process()
    assert problem.startswith("the plug-in tools is not used: its copy ")
    assert "is not what you approved. `swecli plugin add` with its folder" in problem
    plugin.root.rename(plugin.root.with_name("moved"))
    assert "is gone." in _in_new_process()[0]


async def test_a_damaged_record_uses_nothing() -> None:
    start = make_start()
    await add(start, claude_plugin(files={"commands/commit.md": "Commit."}))
    TrustLedger.find(start.paths).approve_plugin(plugins_folder(start.paths), "tools", "{}")
    known = read_plugins(start.paths)
    assert known.plugins == ()
    assert "the record of your approval is damaged" in known.problems[0]


async def test_the_copy_is_called_like_the_plug_in() -> None:
    folder = claude_plugin("tools", {"commands/commit.md": "Commit."})
    plugin = await add(make_start(), folder.rename(folder.with_name("clone")))
    assert plugin.root.name == "tools"


async def test_a_server_is_told_where_the_plug_in_lies_by_its_format_and_nothing_else() -> None:
    start = make_start()
    entry = {
        "type": "stdio",
        "command": "server",
        "args": ["${PLUGIN_ROOT}/x", "${HOME}", "${CLAUDE_PLUGIN_ROOT}"],
        "env": {"PLACE": "${PLUGIN_DATA}/${PLUGIN_DATA}"},
        "cwd": "./sub",
    }
    plugin = await add(start, agent_plugin("one", {"mcp.json": servers(local=entry)}))
    local = plugin.servers()["local"]
    assert local.args == (f"{plugin.root}/x", "${HOME}", "${CLAUDE_PLUGIN_ROOT}")
    assert local.env == {"PLACE": f"{plugin.data}/{plugin.data}"}
    assert local.cwd == f"{plugin.root}/sub"
    entry = {"command": "${CLAUDE_PLUGIN_ROOT}/x", "args": ["${CLAUDE_PLUGIN_DATA}", "${HOME}"]}
    plugin = await add(start, claude_plugin("two", {".mcp.json": {"mcpServers": {"a": entry}}}))
    assert plugin.servers()["a"].command == f"{plugin.root}/x"
    assert plugin.servers()["a"].args == (str(plugin.data), "${HOME}")
    assert plugin.servers()["a"].cwd == ""


async def test_what_the_user_let_its_programs_do_is_in_their_entries() -> None:
    start = make_start()
    folder = claude_plugin(files={".mcp.json": {"mcpServers": {"a": {"command": "x"}}}})
    entry = (await add(start, folder)).servers()["a"]
    assert (entry.network, entry.sandbox) == (False, True)
    entry = (await add(start, folder, "--network", "--outside")).servers()["a"]
    assert (entry.network, entry.sandbox) == (True, False)


def test_there_are_none_before_one_was_added() -> None:
    assert not may_have_plugins(make_start().paths)
    assert read_plugins(make_start().paths).plugins == ()
