"""The MCP servers that a file names: `.mcp.json` of a project, or the user's own `mcp.json`."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import field, replace
from pathlib import Path

from swecli.config.private_files import write_file
from swecli.models.errors import BadInput, ConfigError
from swecli.models.json_value import Json, JsonObject
from swecli.regular_files import read_regular
from swecli.text import one_line
from swecli.values import dataclass

_SERVERS = "mcpServers"
# No `__`, which ends the server in the name of a tool: a rule for all tools of `a` must not cover those of `a__b`. Not
# longer than half of the 64 characters that OpenAI allows for the whole name.
_NAME = re.compile(r"(?=.{1,32}\Z)[A-Za-z0-9-]+(?:_[A-Za-z0-9-]+)*")
_VARIABLE = re.compile(r"\$\{([A-Za-z_]\w*)(?::-([^}]*))?\}")
_STDIO = ("", "stdio")
_HTTP = ("", "http", "streamable-http", "streamable_http")


@dataclass(frozen=True, slots=True)
class RegisteredClient:
    """The identity for logins that a service gave out by hand. `secret` is "" if it has none, `port` that of the
    address on this machine to which the service may send the browser back, 0 for any."""

    client_id: str
    secret: str = ""
    port: int = 0

    def to_json(self) -> JsonObject:
        value: JsonObject = {"clientId": self.client_id}
        if self.secret:
            value["clientSecret"] = self.secret
        if self.port:
            value["callbackPort"] = self.port
        return value


@dataclass(frozen=True, slots=True)
class ServerEntry:
    """A server as it is written, with its variables: a program with `command`, or a service with `url`.

    Attributes:
        env: Variables of the program's environment beside those that every command gets.
        headers: Of each request to the service.
        client: As whom a login at the service is asked for; None if the service registers anybody.
        network: Whether the program reaches the network from the sandbox.
        sandbox: False for a program that runs outside of it, as the user would start it.
        cwd: The folder that a plug-in's program starts in; "" for the workspace.
    """

    name: str
    command: str = ""
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    url: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    client: RegisteredClient | None = None
    network: bool = False
    sandbox: bool = True
    cwd: str = ""

    def to_json(self) -> JsonObject:
        """Return the entry as a file has it, without what is as usual."""
        if self.url:
            entry: JsonObject = {"type": "http", "url": self.url}
            if self.headers:
                entry["headers"] = dict(self.headers)
            if self.client is not None:
                entry["oauth"] = self.client.to_json()
            return entry
        entry = {"command": self.command, "args": [*self.args]}
        if self.env:
            entry["env"] = dict(self.env)
        if self.network:
            entry["network"] = True
        if not self.sandbox:
            entry["sandbox"] = False
        if self.cwd:
            entry["cwd"] = self.cwd
        return entry

    def fill_in(self, environ: Mapping[str, str]) -> ServerEntry:
        """Return the entry with the values of its variables. Raises ConfigError if one is not set."""
        return self.map(
            lambda text: _VARIABLE.sub(lambda match: _value_of(self.name, match, environ), text)
        )

    def map(self, fill: Callable[[str], str]) -> ServerEntry:
        """Return the entry with each text in which variables may stand replaced by what `fill` returns for it."""
        client = self.client
        if client is not None:
            client = replace(client, client_id=fill(client.client_id), secret=fill(client.secret))
        return replace(
            self,
            client=client,
            command=fill(self.command),
            args=tuple(map(fill, self.args)),
            env={name: fill(value) for name, value in self.env.items()},
            url=fill(self.url),
            headers={name: fill(value) for name, value in self.headers.items()},
        )


@dataclass(frozen=True, slots=True)
class McpFile:
    """The usable servers of a file by name, and a line for each that is not."""

    servers: Mapping[str, ServerEntry] = field(default_factory=dict)
    problems: tuple[str, ...] = ()


def _value_of(server: str, match: re.Match[str], environ: Mapping[str, str]) -> str:
    variable, default = match.groups()
    value = environ.get(variable, default)
    if value is None:
        raise ConfigError(
            f"The MCP server {server} needs the variable {variable}, which is not set or not for servers.",
            f"Set it before swecli starts, or write ${{{variable}:-default}}.",
        )
    return str(value)


def parse_servers(data: bytes, file: str) -> McpFile:
    """Return what a file's bytes say; `file` names it in problems. Never raises."""
    try:
        value = json.loads(data)
    except (ValueError, RecursionError) as error:
        return McpFile(problems=(f"{file} is not valid JSON: {one_line(str(error), 120)}",))
    entries = value.get(_SERVERS) if isinstance(value, dict) else None
    if not isinstance(entries, dict):
        return McpFile(problems=(f'{file} has no object "{_SERVERS}"',))
    servers: dict[str, ServerEntry] = {}
    problems: list[str] = []
    for name, entry in entries.items():
        try:
            servers[name] = read_entry(name, entry)
        except ConfigError as error:
            problems.append(f"{file}: {error}")
    return McpFile(servers, tuple(problems))


def read_entry(name: str, entry: Json) -> ServerEntry:
    """Return a server that is written as JSON. Raises ConfigError."""
    if not _NAME.fullmatch(name):
        raise ConfigError(
            f"the name {one_line(name, 40)!r} of an MCP server is invalid",
            "Use at most 32 letters, digits, - and single _",
        )
    if not isinstance(entry, dict):
        raise ConfigError(f"the MCP server {name} is not an object")
    is_program = "command" in entry
    if is_program == ("url" in entry):
        raise ConfigError(f"the MCP server {name} needs either command or url")
    if entry.get("type", "") not in (_STDIO if is_program else _HTTP):
        raise ConfigError(
            f"the MCP server {name} has the type {one_line(str(entry['type']), 40)!r}",
            "Types: stdio (with command), http (with url)",
        )
    reader = _Reader(name, entry)
    if is_program:
        return ServerEntry(
            name,
            command=reader.text("command"),
            args=reader.texts("args"),
            env=reader.pairs("env"),
            network=reader.flag("network", default=False),
            sandbox=reader.flag("sandbox", default=True),
        )
    url = reader.text("url")
    if not url.startswith(("http://", "https://", "${")):
        raise ConfigError(f"the MCP server {name} has no http or https address as its url")
    return ServerEntry(
        name, url=url, headers=reader.pairs("headers"), client=_read_client(name, entry)
    )


def _read_client(name: str, entry: JsonObject) -> RegisteredClient | None:
    """Return the identity for logins in an entry; None if it names none. Raises ConfigError."""
    if "oauth" not in entry:
        return None
    value = entry["oauth"]
    if not isinstance(value, dict):
        raise ConfigError(f"the MCP server {name}: oauth is not an object")
    reader = _Reader(f"{name}: oauth", value)
    secret = reader.text("clientSecret") if "clientSecret" in value else ""
    return RegisteredClient(reader.text("clientId"), secret, reader.port("callbackPort"))


class _Reader:
    """Reads the fields of an entry. Raises ConfigError for one of another type."""

    def __init__(self, name: str, entry: JsonObject) -> None:
        self._name = name
        self._entry = entry

    def text(self, key: str) -> str:
        value = self._entry.get(key)
        return str(self._checked(key, value, lambda text: _is_text(text) and text != "", "a text"))

    def texts(self, key: str) -> tuple[str, ...]:
        value = self._entry.get(key, [])
        return tuple(self._checked(key, value, _are_texts, "a list of texts"))

    def pairs(self, key: str) -> Mapping[str, str]:
        value = self._entry.get(key, {})
        return dict(self._checked(key, value, _are_pairs, "an object of texts"))

    def flag(self, key: str, *, default: bool) -> bool:
        value = self._entry.get(key, default)
        return bool(self._checked(key, value, lambda flag: isinstance(flag, bool), "true or false"))

    def port(self, key: str) -> int:
        value = self._entry.get(key, 0)
        return int(self._checked(key, value, _is_port, "a port from 1 to 65535"))

    def _checked(self, key: str, value: Json, is_right: Callable[[Json], bool], kind: str) -> Json:
        if not is_right(value):
            raise ConfigError(f"the MCP server {self._name}: {key} is not {kind}")
        return value


def _is_text(value: Json) -> bool:
    return isinstance(value, str) and "\0" not in value


def _is_port(value: Json) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= 65_535


def _are_texts(value: Json) -> bool:
    return isinstance(value, list) and all(map(_is_text, value))


def _are_pairs(value: Json) -> bool:
    return isinstance(value, dict) and all(map(_is_text, (*value, *value.values())))


def add_server(file: Path, entry: ServerEntry) -> None:
    """Write a server into a file, beside what else it has. Raises BadInput if the file has it already or is invalid."""
    value = _read_whole(file)
    servers = value.setdefault(_SERVERS, {})
    if not isinstance(servers, dict):
        raise BadInput(f'{file}: "{_SERVERS}" is not an object.', "Correct the file first.")
    if entry.name in servers:
        raise BadInput(
            f"{file} has an MCP server {entry.name} already.",
            "Remove that one first, or choose another name.",
        )
    servers[entry.name] = entry.to_json()
    _write_whole(file, value)


def remove_server(file: Path, name: str) -> bool:
    """Take a server out of a file. Returns False if it is not in it. Raises BadInput if the file is invalid."""
    value = _read_whole(file)
    servers = value.get(_SERVERS)
    if not isinstance(servers, dict) or name not in servers:
        return False
    del servers[name]
    _write_whole(file, value)
    return True


def _read_whole(file: Path) -> JsonObject:
    try:
        value = json.loads(read_regular(file))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, RecursionError) as error:
        raise BadInput(
            f"{file} cannot be read: {one_line(str(error), 120)}.", "Correct the file first."
        ) from error
    if not isinstance(value, dict):
        raise BadInput(f"{file} is not a JSON object.", "Correct the file first.")
    return value


def _write_whole(file: Path, value: JsonObject) -> None:
    try:
        write_file(file, json.dumps(value, indent=2, ensure_ascii=False) + "\n")
    except OSError as error:
        raise BadInput(f"{file} cannot be written: {error.strerror}.") from error
