"""The servers that a project and its user name: which of them the user approved, and with which tools."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field, replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from swecli.config.mcp_file import McpFile, ServerEntry, parse_servers
from swecli.config.paths import project_root
from swecli.config.plugin_places import may_have_plugins, plugins_folder
from swecli.config.project_files import MCP_SERVERS, is_inside
from swecli.config.settings import Start
from swecli.config.trust import ApprovedFile, FolderTrust, TrustLedger
from swecli.regular_files import read_regular
from swecli.tools.environment import child_environment
from swecli.tools.mcp.files import project_file, user_file
from swecli.tools.mcp.record import ServerRecord
from swecli.values import dataclass

if TYPE_CHECKING:
    from swecli.config.plugins import Plugin

Scope = Literal["project", "user", "plug-in"]


class ServerState(StrEnum):
    """Whether the tools of a server are offered. The value says it to the user."""

    APPROVED = "approved"
    NEW = "its tools are not approved yet"
    CHANGED = "its entry has changed since you approved it"


@dataclass(frozen=True, slots=True)
class Server:
    """A server of a file that may be used. `approved` is what the user approved of it last, also if the entry has
    changed since; None if nothing is. `plugin` is the one that it comes with, None for another one."""

    entry: ServerEntry
    scope: Scope
    root: Path  # the folder in whose record of trust the approval stands
    approved: ServerRecord | None = None
    plugin: Plugin | None = None

    @property
    def name(self) -> str:
        return self.entry.name

    def filled_entry(self, start: Start) -> ServerEntry:
        """Return the entry with the values of its variables. In a project's file keys of models are none: its server
        would get them. Raises ConfigError if one is not set."""
        is_users = self.scope == "user"
        if self.plugin is not None:
            if self.plugin.is_literal:
                return self.entry
            project = {"CLAUDE_PROJECT_DIR": str(project_root(start.cwd))}
            return self.entry.fill_in(child_environment(start.environ) | project)
        return self.entry.fill_in(start.environ if is_users else child_environment(start.environ))

    @property
    def state(self) -> ServerState:
        if self.approved is None:
            return ServerState.NEW
        is_same = self.approved.entry == self.entry.to_json()
        return ServerState.APPROVED if is_same else ServerState.CHANGED


@dataclass(frozen=True, slots=True)
class Servers:
    """The servers of a run by name, and a line for each thing that cannot be used."""

    by_name: dict[str, Server] = field(default_factory=dict)
    problems: tuple[str, ...] = ()


def read_servers(start: Start) -> Servers:
    """Return the servers of the user, his plug-ins, and the project, if its file is trusted as it is. A name that
    several have is the first's: permission rules of the user name his server. Never raises for a file."""
    user_entries = _read_user_file(start)
    shared = _read_project_file(start)
    ledger = TrustLedger.find(start.paths)
    by_name = dict(_approved(user_entries, "user", ledger.trust_in(start.paths.config)))
    problems = [*user_entries.problems, *shared.problems]
    in_plugins = ledger.trust_in(plugins_folder(start.paths))
    for plugin in _read_plugins(start):
        problems += [f"{plugin.name}: {line}" for line in plugin.folder.servers.problems]
        file = McpFile(plugin.servers())
        for name, server in _approved(file, "plug-in", in_plugins):
            if name in by_name:
                problems.append(
                    f"{plugin.name}: the MCP server {name} is not used: there is one of this name"
                )
            else:
                by_name[name] = replace(server, plugin=plugin)
    if shared.servers:
        trust = ledger.trust_in(project_root(start.cwd))
        for name, server in _approved(shared, "project", trust):
            if name in by_name:
                problems.append(
                    f"{MCP_SERVERS}: the MCP server {name} is not used: you have one of this name"
                )
            else:
                by_name[name] = server
    return Servers(dict(sorted(by_name.items())), tuple(problems))


def _read_plugins(start: Start) -> tuple[Plugin, ...]:
    if not may_have_plugins(start.paths):
        return ()
    # late: only needed by who has plug-ins
    from swecli.config.plugins import read_plugins

    return tuple(read_plugins(start.paths).plugins)


def _read_user_file(start: Start) -> McpFile:
    file = user_file(start)
    try:
        return parse_servers(read_regular(file), str(file))
    except FileNotFoundError:
        return McpFile()
    except OSError as error:
        return McpFile(problems=(f"{file} cannot be read: {error.strerror}",))


def _read_project_file(start: Start) -> McpFile:
    file = project_file(start)
    try:
        data = read_regular(file)
    except FileNotFoundError:
        return McpFile()
    except OSError as error:
        return McpFile(problems=(f"{MCP_SERVERS} cannot be read: {error.strerror}",))
    if not is_inside(file, file.parent):
        return McpFile(problems=(f"{MCP_SERVERS} is a link that leads out of the project",))
    if problem := start.read_trust().objection(file, data):
        return McpFile(problems=(f"{MCP_SERVERS} is not used: {problem}",))
    return parse_servers(data, MCP_SERVERS)


def _approved(file: McpFile, scope: Scope, trust: FolderTrust) -> Iterator[tuple[str, Server]]:
    for name, entry in file.servers.items():
        record = _read_record(trust.servers.get(name))
        yield name, Server(entry, scope, trust.root, record)


def _read_record(file: ApprovedFile | None) -> ServerRecord | None:
    """Return an approved record; None if there is none, or if it is not what was approved."""
    if file is None or ApprovedFile.from_bytes(file.text.encode("utf-8")).digest != file.digest:
        return None
    try:
        return ServerRecord.from_text(file.text)
    except (ValueError, TypeError, KeyError):
        return None
