"""`/mcp` and `swecli mcp`: the MCP servers of the user and the project, and this program as a server of others."""

from __future__ import annotations

from typing import TYPE_CHECKING

from swecli.models.action import Action, ActionResult, Family, Flag, Invocation, Need, Words
from swecli.models.errors import UsageError

if TYPE_CHECKING:  # the prompt completes the names of the actions before these are loaded
    from swecli.config.settings import Start

_SCOPES = ("user", "project")
_SCOPE = Flag("--scope", "whose file: yours (default) or .mcp.json of the project", choices=_SCOPES)
_NAME = Words("NAME", "of a server", "?")


@Action(Need.SETTINGS)
def list_(start: Start, invocation: Invocation) -> ActionResult:
    """The servers, and whether their tools are offered; none is started"""
    # late: not needed to declare an action
    from swecli.actions.servers import list_servers

    return list_servers(start, invocation.prefix)


@Action(Need.SETTINGS, _NAME)
def get(start: Start, invocation: Invocation) -> ActionResult:
    """One server: how it is started or reached, and the tools that you approved; it is not started"""
    # late: as above
    from swecli.actions.servers import show_server

    return show_server(start, _required_name(invocation), invocation)


@Action(
    Need.SETTINGS,
    Words(
        "NAME COMMAND [ARG ...]",
        "or the address of a service in place of a command",
        is_quoted=True,
    ),
    (
        _SCOPE,
        Flag(
            "--env", "a variable of the program, also NAME=${NAME}", "NAME=VALUE", is_repeated=True
        ),
        Flag("--header", "a header of each request to the service", "NAME=VALUE", is_repeated=True),
        Flag("--client-id", "of a service that gave you one for logins", "ID"),
        Flag("--client-secret", "that belongs to it, as ${NAME} of a variable", "SECRET"),
        Flag("--callback-port", "where its login may return to on this machine", "PORT"),
        Flag("--network", "let the program reach the network from the sandbox"),
        Flag("--outside", "run the program outside the sandbox, as you"),
    ),
)
def add(start: Start, invocation: Invocation) -> ActionResult:
    """Add a server to your file, or the project's; it is not started"""
    # late: as above
    from swecli.actions.servers import add_to_file

    return add_to_file(start, invocation)


@Action(Need.SETTINGS, _NAME, (Flag("--yes", "approve without a question", in_session=False),))
async def approve(start: Start, invocation: Invocation) -> ActionResult:
    """Start a server, read what it says of its tools, and offer them from then on"""
    # late: as above
    from swecli.actions.servers import approve_tools

    return await approve_tools(start, _required_name(invocation), invocation)


@Action(Need.SETTINGS, _NAME, (_SCOPE,))
def remove(start: Start, invocation: Invocation) -> ActionResult:
    """Remove a server from your file, or the project's, and withdraw its approval"""
    # late: as above
    from swecli.actions.servers import remove_from_file

    return remove_from_file(start, _required_name(invocation), invocation)


@Action(Need.SETTINGS, _NAME)
async def login(start: Start, invocation: Invocation) -> ActionResult:
    """Log in at a service, in the browser"""
    # late: as above
    from swecli.actions.servers import log_in

    return await log_in(start, _required_name(invocation), invocation)


@Action(Need.SETTINGS, in_session=False)
async def serve(start: Start, invocation: Invocation) -> ActionResult:
    """Serve what was learned in this folder to another assistant, which starts this and speaks to it"""
    # late: the library of the protocol takes half a second
    from swecli.actions.serving import serve as serve_playbook

    await serve_playbook(start)
    return ActionResult(None)


def _required_name(invocation: Invocation) -> str:
    if not invocation.text:
        raise UsageError("Give the name of a server.", f"See `{invocation.prefix}mcp list`.")
    return invocation.text


mcp = Family(
    "mcp",
    "The MCP servers of you and the project, whose tools the model may call after you approved them",
    (list_, get, add, approve, remove, login, serve),
    default="list",
    default_in_shell="list",
)
