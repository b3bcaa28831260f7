"""Test the programs of plug-ins: hooks and servers find their files, and write to a folder of their own."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from swecli.config.plugin_tree import read_tree
from swecli.models.errors import ToolError
from swecli.tools.guard import Guard
from swecli.tools.mcp.connections import Connections
from swecli.tools.mcp.results import to_result
from swecli.tools.mcp.servers import read_servers
from swecli.tools.sandbox import Sandbox
from tests.support.mcp_servers import RAW, approve
from tests.support.plugins import add, agent_plugin, claude_plugin, servers
from tests.support.runtime import calls, make_runtime, make_start, run_turn

_GUARD = 'echo "$CLAUDE_PLUGIN_ROOT" >> "$CLAUDE_PLUGIN_DATA/asked"; echo not here >&2; exit 2\n'


def _hooks(command: str, **more: Any) -> dict[str, Any]:
    hook = {"type": "command", "command": command, **more}
    return {"hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": [hook]}]}}


@pytest.fixture(params=["elsewhere", "in the workspace"])
def home(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep the program's folders, which commands do not see, in one place or the other."""
    if request.param == "in the workspace":
        monkeypatch.setenv("SWECLI_HOME", str(Path.cwd() / "kept"))


@pytest.mark.usefixtures("home")
@pytest.mark.parametrize("flags", [(), ("--outside",)])
@pytest.mark.parametrize(
    "hook",
    [
        _hooks('sh "${CLAUDE_PLUGIN_ROOT}/guard.sh"'),
        _hooks("sh", args=["${CLAUDE_PLUGIN_ROOT}/guard.sh"]),
    ],
    ids=["shell", "words"],
)
async def test_a_hook_refuses_a_call_and_keeps_a_file(
    flags: tuple[str, ...], hook: dict[str, Any]
) -> None:
    start = make_start()
    folder = claude_plugin(files={"hooks/hooks.json": hook, "guard.sh": _GUARD})
    plugin = await add(start, folder, *flags)
    call = calls(("run_command", {"command": "touch ran", "access": "write"}))
    runtime = make_runtime([call, "done"], mode="auto")
    await runtime.agent.admit("do it")
    await run_turn(runtime, "do it", learn=False)
    [result] = [c.result for m in runtime.session.messages for c in m.tool_calls]
    assert "not here" in (result or "")
    assert not Path("ran").exists()
    assert (plugin.data / "asked").read_text() == f"{plugin.root}\n"


async def test_a_hook_of_an_update_that_nobody_approved_does_not_run() -> None:
    start = make_start()
    files = {
        "hooks/hooks.json": _hooks('sh "${CLAUDE_PLUGIN_ROOT}/guard.sh"'),
        "guard.sh": "exit 0",
    }
    folder = claude_plugin(files=files)
    await add(start, folder)
    (folder / "guard.sh").write_text(_GUARD)
    call = calls(("run_command", {"command": "touch ran", "access": "write"}))
    runtime = make_runtime([call, "done"], mode="auto")
    await runtime.agent.admit("do it")
    await run_turn(runtime, "do it", learn=False)
    assert Path("ran").exists()


async def _call(server_name: str, **arguments: Any) -> str:
    start = make_start()
    tools = (await approve(start, server_name)).tools
    run = Connections(start, Sandbox.of(start))
    server = read_servers(start).by_name[server_name]
    result = await run.call(server, tools["act"], arguments, Guard(start.cwd))
    return to_result(server_name, "act", result).for_model


@pytest.mark.usefixtures("home")
async def test_a_server_of_agent_plugins_starts_in_its_folder_and_writes_to_its_own() -> None:
    entry = {"type": "stdio", "command": "python3", "args": ["${PLUGIN_ROOT}/raw.py", "write"]}
    files = {"mcp.json": servers(own=entry), "raw.py": RAW.read_text()}
    plugin = await add(make_start(), agent_plugin(files=files))
    assert "written" in await _call("own", path=str(plugin.data / "note.txt"))
    assert (plugin.data / "note.txt").read_text() == "a"
    if Sandbox.of(make_start()).problem:
        return
    await _call("own", path="note.txt")  # in its folder, which it may only read
    assert not (plugin.root / "note.txt").exists()
    assert not Path("note.txt").exists()


@pytest.mark.parametrize("name", ["PLUGIN_ROOT", "CLAUDE_PLUGIN_DATA"])
async def test_a_server_of_claude_code_starts_in_the_workspace_with_both_names(name: str) -> None:
    entry = {"command": "python3", "args": ["${CLAUDE_PLUGIN_ROOT}/raw.py", "variable"]}
    files = {".mcp.json": {"mcpServers": {"own": entry}}, "raw.py": RAW.read_text()}
    plugin = await add(make_start(), claude_plugin(files=files))
    assert plugin.variables[name] in await _call("own", name=name)


async def test_a_python_program_outside_the_sandbox_leaves_the_copy_as_it_is(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("PYTHONDONTWRITEBYTECODE", raising=False)
    start = make_start()
    hook = _hooks('python3 "${CLAUDE_PLUGIN_ROOT}/hook.py"')
    files = {"hooks/hooks.json": hook, "hook.py": "import rules\n", "rules.py": "x = 1\n"}
    plugin = await add(start, claude_plugin(files=files), "--outside")
    call = calls(("run_command", {"command": "touch ran", "access": "write"}))
    runtime = make_runtime([call, "done"], mode="auto")
    await runtime.agent.admit("do it")
    await run_turn(runtime, "do it", learn=False)
    assert Path("ran").exists()
    assert read_tree(plugin.root).entries == plugin.approval.entries


async def test_after_an_update_its_tools_are_asked_about_again() -> None:
    entry = {"command": "python3", "args": ["${CLAUDE_PLUGIN_ROOT}/raw.py"]}
    files = {".mcp.json": {"mcpServers": {"own": entry}}, "raw.py": RAW.read_text()}
    start = make_start()
    folder = claude_plugin(files=files)
    await add(start, folder)
    await approve(start, "own")
    assert read_servers(start).by_name["own"].state == "approved"
    (folder / "raw.py").write_text(RAW.read_text() + "# new\n")
    await add(start, folder)
    assert read_servers(start).by_name["own"].state != "approved"


async def test_a_server_of_the_user_keeps_its_name() -> None:
    start = make_start()
    (start.paths.config / "mcp.json").write_text('{"mcpServers": {"own": {"command": "mine"}}}')
    files = {".mcp.json": {"mcpServers": {"own": {"command": "theirs"}}}}
    await add(start, claude_plugin(files=files))
    known = read_servers(start)
    assert known.by_name["own"].entry.command == "mine"
    assert known.problems == ("tools: the MCP server own is not used: there is one of this name",)


async def test_without_a_folder_to_write_to_a_server_is_not_started() -> None:
    start = make_start()
    files = {".mcp.json": {"mcpServers": {"own": {"command": "true"}}}}
    plugin = await add(start, claude_plugin(files=files))
    plugin.data.write_text("in the way")
    with pytest.raises(ToolError, match="cannot be made"):
        await approve(start, "own")


@pytest.mark.usefixtures("home")
async def test_commands_in_the_sandbox_read_it_but_nothing_else_of_ours() -> None:
    if Sandbox.of(make_start()).problem:
        pytest.skip("no sandbox on this machine")
    plugin = await add(make_start(), claude_plugin(files={"go.sh": "echo gone\n"}))
    plugin.data.mkdir()
    secret = Path(os.environ["SWECLI_HOME"], "permissions.toml")
    secret.write_text("hunter2")
    command = f"sh {plugin.root}/go.sh; cat {secret}; touch {plugin.root}/x {plugin.data}/x; true"
    call = calls(("run_command", {"command": command, "access": "write"}))
    runtime = make_runtime([call, "done"], mode="auto")
    await run_turn(runtime, "do it", learn=False)
    [result] = [c.result or "" for m in runtime.session.messages for c in m.tool_calls]
    assert "gone" in result
    assert "hunter2" not in result
    assert not (plugin.root / "x").exists()
    assert not (plugin.data / "x").exists()
