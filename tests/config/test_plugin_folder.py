"""Test what is read of a plug-in in Claude Code's format, and what is said of the rest."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from swecli.config.plugin_folder import PluginFormat, read_plugin
from swecli.models.errors import BadInput
from tests.support.plugins import SKILL, agent_plugin, claude_plugin, write_files

_HOOKS = {"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "true"}]}]}}


def test_all_parts_are_found_at_their_usual_places() -> None:
    files = {
        "skills/deploy/SKILL.md": SKILL.format(name="deploy", text="Do it."),
        "commands/commit.md": "Commit.",
        "commands/more/push.md": "Push.",
        "hooks/hooks.json": _HOOKS,
        ".mcp.json": {"mcpServers": {"time": {"command": "server"}}},
    }
    plugin = read_plugin(claude_plugin("tools", files, version="1.0", description="All."), "x")
    assert (plugin.name, plugin.version, plugin.description) == ("tools", "1.0", "All.")
    assert [file.parent.name for file in plugin.skills] == ["deploy"]
    assert [file.stem for file in plugin.commands] == ["commit", "push"]
    assert [name for name, _ in plugin.hooks] == ["hooks/hooks.json"]
    assert [*plugin.servers.servers] == ["time"]
    assert not plugin.problems
    assert not plugin.unused


def test_of_two_commands_of_one_name_the_first_is_used_and_one_that_nobody_can_type_is_named() -> (
    None
):
    files = {"commands/a/x.md": "A.", "commands/b/X.md": "B.", "commands/two words.md": "C."}
    plugin = read_plugin(claude_plugin(files=files), "x")
    assert [file.read_text() for file in plugin.commands] == ["A."]
    assert plugin.problems == (
        "commands/b/X.md is not used: there is a command of this name",
        "commands/two words.md is not used: its name cannot be typed",
    )


def test_the_manifest_adds_places_and_parts_in_itself() -> None:
    files = {
        "own/SKILL.md": SKILL.format(name="own", text="Do it."),
        "more/push.md": "Push.",
        "servers.json": {"bare": {"command": "server"}},
        ".mcp.json": {"mcpServers": {"usual": {"command": "server"}}},
    }
    folder = claude_plugin(
        "tools",
        files,
        skills="./own",
        commands=["./more/push.md"],
        hooks=_HOOKS["hooks"],
        mcpServers=["./servers.json", "./.mcp.json", {"inline": {"command": "server"}}],
    )
    plugin = read_plugin(folder, "x")
    assert [file.parent.name for file in plugin.skills] == ["own"]
    assert [file.stem for file in plugin.commands] == ["push"]
    assert [name for name, _ in plugin.hooks] == [".claude-plugin/plugin.json"]
    assert sorted(plugin.servers.servers) == ["bare", "inline", "usual"]


def test_a_folder_without_a_manifest_goes_by_its_name() -> None:
    folder = write_files(Path("good-tools"), {"commands/commit.md": "Commit."})
    assert read_plugin(folder, "good-tools").name == "good-tools"


def test_what_is_not_carried_is_named() -> None:
    folder = claude_plugin(files={"agents/reviewer.md": "x"}, outputStyles="./styles", agents="./a")
    assert read_plugin(folder, "x").unused == (
        "agents are not carried: reviewer",
        "fields of .claude-plugin/plugin.json that say nothing here: outputStyles",
    )


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"skills": "../other"}, 'skills "../other" is not used: it is no path that begins with'),
        ({"skills": "./../other"}, 'skills "./../other" is not used: it leads out of the folder'),
        ({"commands": "./none"}, 'commands "./none" is not used: there is no such file'),
        ({"hooks": "/etc/passwd"}, 'hooks "/etc/passwd" is not used: it is no path'),
        ({"mcpServers": 3}, "mcpServers 3 is not used: it is no path"),
        ({"hooks": "./big.json"}, "big.json is not used: Larger than 1,000,000 bytes"),
    ],
)
def test_a_place_that_cannot_be_used_is_named(fields: dict[str, Any], problem: str) -> None:
    folder = claude_plugin(
        files={"../other/x/SKILL.md": "x", "big.json": " " * 2_000_000}, **fields
    )
    plugin = read_plugin(folder, "x")
    assert plugin.problems[0].startswith(problem)
    assert not plugin.skills
    assert not plugin.hooks


def test_a_broken_file_with_servers_is_a_problem_of_theirs() -> None:
    plugin = read_plugin(claude_plugin(files={".mcp.json": "{"}), "x")
    assert plugin.servers.problems[0].startswith(".mcp.json is not valid JSON")


@pytest.mark.parametrize("text", ["{", "[]", "3", '{"name": "A B"}', "{}"])
def test_a_broken_manifest_is_refused(text: str) -> None:
    folder = write_files(claude_plugin(), {".claude-plugin/plugin.json": text})
    with pytest.raises(BadInput, match=r"\.claude-plugin/plugin\.json"):
        read_plugin(folder, "x")


def test_a_folder_with_nothing_of_a_plug_in_is_refused() -> None:
    folder = write_files(Path("empty"), {"README.md": "x"})
    with pytest.raises(BadInput, match=r"is no plug-in: it has neither plugin\.json nor"):
        read_plugin(folder, "empty")


def test_one_with_both_manifests_is_read_in_the_format_with_more_parts() -> None:
    folder = agent_plugin(files={".claude-plugin/plugin.json": {"name": "both"}})
    assert read_plugin(folder, "x").format is PluginFormat.CLAUDE_CODE
