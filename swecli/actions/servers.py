"""What users do with MCP servers: list, add, approve and remove them, and log in."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from difflib import unified_diff
from pathlib import Path

from swecli.actions.approving import is_agreed, not_recorded, place_without_sandbox, show
from swecli.config.mcp_file import ServerEntry, add_server, read_entry, remove_server
from swecli.config.paths import project_root
from swecli.config.settings import Start
from swecli.config.trust import FolderTrust, TrustLedger
from swecli.models.action import ActionResult, Face, Invocation
from swecli.models.counts import pluralize
from swecli.models.errors import BadInput, UsageError
from swecli.models.json_value import JsonObject
from swecli.redact import redact, redact_value
from swecli.regular_files import read_regular
from swecli.text import escape_hidden
from swecli.tools.base import estimate_tokens
from swecli.tools.limits import one_line
from swecli.tools.mcp.connections import list_tools, shown_to
from swecli.tools.mcp.files import project_file, user_file
from swecli.tools.mcp.login import forget_login, log_in_at
from swecli.tools.mcp.names import describe_renamed, name_tools
from swecli.tools.mcp.record import RemoteTool, ServerRecord
from swecli.tools.mcp.servers import Server, ServerState, read_servers
from swecli.tools.permissions import Permissions
from swecli.tools.registry import ToolRegistry
from swecli.tools.sandbox import Sandbox


def list_servers(start: Start, prefix: str) -> ActionResult:
    """List all servers, without starting any."""
    servers = read_servers(start)
    rows: list[tuple[str, ...]] = []
    value: list[JsonObject] = []
    for server in servers.by_name.values():
        tools = len(server.approved.tools) if server.approved else 0
        rows.append(
            (
                server.name,
                server.scope,
                str(tools),
                str(server.state),
                one_line(redact(_describe_target(server)), 80),
            )
        )
        value.append(
            {
                "name": server.name,
                "scope": server.scope,
                "tools": tools,
                "state": str(server.state),
                "entry": redact_value(server.entry.to_json()),
            }
        )
    lines = list(servers.problems)
    if not rows and not lines:
        lines.append(f"There are no MCP servers. {prefix}mcp add NAME COMMAND adds one.")
    unapproved = [
        server for server in servers.by_name.values() if server.state is not ServerState.APPROVED
    ]
    note = f"{prefix}mcp approve NAME shows the tools of one and offers them" if unapproved else ""
    head = ("server", "file", "tools", "state", "how")
    return ActionResult(value, tuple(lines), head=head if rows else (), rows=tuple(rows), note=note)


def show_server(start: Start, name: str, invocation: Invocation) -> ActionResult:
    """Show a server and its approved tools, without starting it. Raises BadInput."""
    server = _find(start, name, invocation.prefix)
    tools = list(server.approved.tools.values()) if server.approved else []
    lines = [f"{name}, in the file of the {server.scope}: {server.state}"]
    lines += [*_describe_entry(server, start), *_describe_tools(server.name, tools)]
    value: JsonObject = {
        "name": name,
        "scope": server.scope,
        "state": str(server.state),
        "entry": redact_value(server.entry.to_json()),
        "tools": [tool.to_json() for tool in tools],
    }
    return ActionResult(value, tuple(lines))


def add_to_file(start: Start, invocation: Invocation) -> ActionResult:
    """Write a server into a file. Raises UsageError and BadInput."""
    name, *words = invocation.words or ("",)
    if words[:1] == ["--"]:
        words = words[1:]
    if not words:
        raise UsageError(
            "Give a name, and a command or an address.",
            f"For example: {invocation.prefix}mcp add time uvx mcp-server-time",
        )
    fields: JsonObject = {
        "command": words[0],
        "args": words[1:],
        "env": _pairs(invocation, "--env"),
    }
    if words[0].startswith(("http://", "https://")):
        fields = {"url": words[0], "headers": _pairs(invocation, "--header"), **_client(invocation)}
    if "--network" in invocation.flags:
        fields["network"] = True
    if "--outside" in invocation.flags:
        fields["sandbox"] = False
    entry = read_entry(name, fields)
    if invocation.value("--scope") == "project":
        lines = [f"{name} is in {project_file(start)}"]
        lines += _change_project(start, lambda file: add_server(file, entry))
    else:
        add_server(user_file(start), entry)
        lines = [f"{name} is in {user_file(start)}"]
    lines.append(f"{invocation.prefix}mcp approve {name} shows its tools and offers them")
    return ActionResult({"added": name, "entry": redact_value(entry.to_json())}, tuple(lines))


def remove_from_file(start: Start, name: str, invocation: Invocation) -> ActionResult:
    """Take a server out of a file, and withdraw its approval. Raises BadInput."""
    is_shared = invocation.value("--scope") == "project"
    file = project_file(start) if is_shared else user_file(start)
    root = project_root(start.cwd) if is_shared else start.paths.config

    def change(path: Path) -> None:
        if not remove_server(path, name):
            hint = f"See `{invocation.prefix}mcp list`."
            raise BadInput(f"{path} has no MCP server {name!r:.40}.", hint)

    lines = _change_project(start, change) if is_shared else []
    if not is_shared:
        change(file)
    try:
        TrustLedger.find(start.paths).forget_server(root, name)
        forget_login(name, start)
    except OSError as error:
        raise not_recorded(error) from error
    return ActionResult({"removed": name}, (f"{name} is removed from {file}", *lines))


async def approve_tools(start: Start, name: str, invocation: Invocation) -> ActionResult:
    """Start a server, show what it says of its tools, or what is different now, and record it if the user agrees.
    Raises BadInput and ToolError."""
    server = _find(start, name, invocation.prefix)
    face = invocation.face
    description = [f"{name}, in the file of the {server.scope}", *_describe_entry(server, start)]
    pieces = show(face, description)
    if face.can_ask and not await _may_start(server, Sandbox.of(start), face):
        return ActionResult(None, ("nothing was started or approved",), code=1)
    with face.working(f"asking {name} for its tools"):
        tools = await _ask_for_tools(server, start)
    usable = [tool for tool in tools if not tool.is_too_long]
    for tool in tools:
        if tool.is_too_long:
            face.warn(f"{one_line(tool.name, 80)} is left out: its description is too long")
    record = ServerRecord.of(server.entry, usable)
    if server.approved == record:
        return ActionResult({"approved": name, "changed": False}, (f"{name} is approved as it is",))
    pieces += show(face, list(_describe_change(server, record)))
    if not await is_agreed(invocation, f"Offer these tools of {name} to the model?"):
        verdict = f"nothing was approved{face.how_to_agree}"
        return ActionResult(None, (*pieces, verdict), code=1)
    try:
        TrustLedger.find(start.paths).approve_server(server.root, name, record.to_text())
    except OSError as error:
        raise not_recorded(error) from error
    count = pluralize(len(usable), "tool")
    line = f"{name}: the model gets {count} from the next request on, and you are asked about each call"
    rule = f"the rule mcp({name}__*) in the setting allow lets it call them without a question"
    value = {"approved": name, "tools": [tool.name for tool in usable]}
    return ActionResult(value, (*pieces, line, rule))


async def _ask_for_tools(server: Server, start: Start) -> list[RemoteTool]:
    """Start or reach a server, and return what it says of its tools. Raises ToolError."""
    root = start.cwd.resolve()
    registry = ToolRegistry.discover()
    permissions, _ = Permissions.load(start, root, registry)
    sandbox = Sandbox.of(start)
    try:
        return await list_tools(server, start, permissions.guard(root, registry), sandbox)
    finally:
        sandbox.close()


async def log_in(start: Start, name: str, invocation: Invocation) -> ActionResult:
    """Log in at a service. Raises BadInput and ToolError."""
    server = _find(start, name, invocation.prefix)
    if not server.entry.url:
        raise BadInput(f"The MCP server {name} is a program: it has no login.")
    await log_in_at(server, start, invocation.face.note)
    return ActionResult({"logged_in": name}, (f"logged in at {name}",))


async def _may_start(server: Server, sandbox: Sandbox, face: Face) -> bool:
    """Ask before a program is started that was never approved as it is."""
    if server.entry.url or server.state is ServerState.APPROVED:
        return True
    is_inside = sandbox.is_active and server.entry.sandbox
    place = "in the sandbox" if is_inside else "outside the sandbox, as you"
    return await face.confirm(f"Start it {place}, to read what it says of its tools?")


def _find(start: Start, name: str, prefix: str) -> Server:
    """Return a server by its name. Raises BadInput."""
    servers = read_servers(start)
    if name in servers.by_name:
        return servers.by_name[name]
    problem = next((line for line in servers.problems if name in line), "")
    hint = problem or next(iter(servers.problems), f"See `{prefix}mcp list`.")
    raise BadInput(f"There is no MCP server {name!r:.40}.", hint)


def _describe_target(server: Server) -> str:
    """Return the command or the address of a server on one line, without the values of its variables."""
    entry = server.entry
    return entry.url or shlex.join([entry.command, *entry.args])


def _describe_entry(server: Server, start: Start) -> list[str]:
    """Return lines on how a server is started or reached. Values of variables and headers may be secrets."""
    entry = server.entry
    if entry.url:
        lines = [f"  address: {escape_hidden(redact(entry.url), keep='')}"]
        if entry.client is not None:
            name = escape_hidden(redact(entry.client.client_id), keep="")
            lines.append(f"  logs in as: {name}")
        return [*lines, *_describe_names("headers", entry.headers)]
    lines = [
        f"  command: {escape_hidden(redact(_describe_target(server)), keep='')}",
        f"  runs {_describe_place(entry, start)}",
    ]
    if entry.sandbox and (readable_paths := shown_to(entry, start)):
        lines.append(f"  reads beside that: {', '.join(readable_paths)}")
    return [*lines, *_describe_names("variables", entry.env)]


def _describe_place(entry: ServerEntry, start: Start) -> str:
    """Return where a program runs, and what it may there."""
    if not entry.sandbox:
        return "outside the sandbox, as you"
    if place := place_without_sandbox(start):
        return place
    network = "with network" if entry.network else "without network"
    return f"in the sandbox, writes only in this folder, {network}"


def _describe_names(label: str, tool_names: Mapping[str, str]) -> list[str]:
    names = ", ".join(escape_hidden(name, keep="") for name in tool_names)
    return [f"  {label}: {names}"] if names else []


def _describe_tools(server: str, tools: Sequence[RemoteTool]) -> Iterator[str]:
    """Yield lines with every word that a server says of its tools, with hidden characters as escapes."""
    if not tools:
        return
    tokens = sum(estimate_tokens(json.dumps(tool.to_json())) for tool in tools)
    yield f"  {pluralize(len(tools), 'tool')}, about {tokens:,} tokens of each request:"
    for tool in tools:
        yield f"  {escape_hidden(tool.name, keep='')}"
        for line in tool.description.splitlines():
            yield f"    {escape_hidden(line, keep='')}"
        yield f"    {json.dumps(tool.schema)}"
    for line in describe_renamed(server, name_tools(server, (tool.name for tool in tools))):
        yield f"  {escape_hidden(line, keep='')}"


def _describe_change(server: Server, record: ServerRecord) -> Iterator[str]:
    """Yield what a server says of its tools; of one that was approved before only what is different."""
    if server.approved is None:
        yield from _describe_tools(server.name, list(record.tools.values()))
        return
    before = redact(server.approved.to_text()).splitlines()
    now = redact(record.to_text()).splitlines()
    for line in unified_diff(before, now, "approved", "now", "", "", 3):
        yield f"  {line}"


def _pairs(invocation: Invocation, flag: str) -> dict[str, str]:
    """Return the values of a flag like NAME=VALUE. Raises UsageError."""
    pairs: dict[str, str] = {}
    for text in invocation.flags.get(flag, ()):
        name, mark, value = text.partition("=")
        if not mark or not name:
            raise UsageError(f"{flag} {text!r:.40} is not NAME=VALUE.")
        pairs[name] = value
    return pairs


def _client(invocation: Invocation) -> JsonObject:
    """Return the identity for logins as an entry has it, nothing if none is given. Raises UsageError."""
    names = {"--client-id": "clientId", "--client-secret": "clientSecret"}
    value: JsonObject = {
        name: invocation.value(flag) for flag, name in names.items() if flag in invocation.flags
    }
    port = invocation.value("--callback-port")
    if port and not (port.isdecimal() and len(port) < 6):
        raise UsageError(f"--callback-port {port!r:.40} is not a number.")
    if port:
        value["callbackPort"] = int(port)
    return {"oauth": value} if value else {}


def _change_project(start: Start, change: Callable[[Path], None]) -> list[str]:
    """Change the project's file. What the user trusted of it he trusts after his own change too. Returns lines for him.
    Raises BadInput."""
    file = project_file(start)
    trust = start.read_trust()
    was_trusted = trust.is_trusted and (not file.exists() or _is_approved(trust, file))
    change(file)
    if trust.everything or not was_trusted:
        return ["/trust in a session shows the file and lets its servers be used"]
    try:
        TrustLedger.find(start.paths).approve(trust.root, {file: read_regular(file)})
    except OSError as error:
        raise not_recorded(error) from error
    return []


def _is_approved(trust: FolderTrust, file: Path) -> bool:
    try:
        return trust.judge(file, read_regular(file)) == "approved"
    except OSError:
        return False
