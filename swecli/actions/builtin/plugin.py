"""`/plugins` and `swecli plugin`: folders with skills, commands, hooks and MCP servers that the user added."""

from __future__ import annotations

from typing import TYPE_CHECKING

from swecli.models.action import Action, ActionResult, Family, Flag, Invocation, Need, Words

if TYPE_CHECKING:  # the prompt completes the names of the actions before these are loaded
    from swecli.config.settings import Start


@Action(Need.SETTINGS)
def list_(start: Start, invocation: Invocation) -> ActionResult:
    """The plug-ins, what they bring, and whether their folders are as you approved them"""
    # late: not needed to declare an action
    from swecli.actions.plugins import list_plugins

    return list_plugins(start, invocation.prefix)


@Action(Need.SETTINGS, Words("NAME", "of a plug-in", "?"))
def show(start: Start, invocation: Invocation) -> ActionResult:
    """One plug-in: all that it brings and runs, and what changed in its folder since you approved it"""
    # late: as above
    from swecli.actions.plugins import show_plugin

    return show_plugin(start, invocation)


@Action(
    Need.SETTINGS,
    Words("FOLDER", "of a plug-in, of Claude Code's format or that of Agent Plugins", "?"),
    (
        Flag("--network", "let its programs reach the network from the sandbox"),
        Flag("--outside", "run its programs outside the sandbox, as you"),
        Flag("--yes", "approve without a question", in_session=False),
    ),
    in_session=False,
)
async def add(start: Start, invocation: Invocation) -> ActionResult:
    """Show what a plug-in brings, or what changed in it, and use a copy of it from the next start on"""
    # late: as above
    from swecli.actions.plugins import add_plugin

    return await add_plugin(start, invocation)


@Action(Need.SETTINGS, Words("NAME", "of a plug-in", "?"), in_session=False)
def remove(start: Start, invocation: Invocation) -> ActionResult:
    """Remove a plug-in, with the files that its programs keep"""
    # late: as above
    from swecli.actions.plugins import remove_plugin

    return remove_plugin(start, invocation)


@Action(Need.ANY_CONFIGURATION, in_session=False)
def memory(start: object, invocation: Invocation) -> ActionResult:
    """Print the folder of the plug-in that brings the memory to other assistants"""
    # late: as above
    from swecli.actions.plugins import find_memory_plugin

    return find_memory_plugin()


plugin = Family(
    "plugin",
    "Folders that bring skills, commands, hooks and MCP servers, used as copies that you approved",
    (list_, show, add, remove, memory),
    default="list",
    default_in_shell="list",
    aliases=("plugins",),
)
