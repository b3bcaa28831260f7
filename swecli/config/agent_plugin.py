"""The two JSON files of the format Agent Plugins 1.0.0: `plugin.json` and `mcp.json`.

Sections are those of its specification, https://agent-plugins.org.
"""

from __future__ import annotations

import ipaddress
import json
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlsplit

from swecli.config.mcp_file import McpFile, ServerEntry, read_entry
from swecli.config.project_files import is_inside
from swecli.models.errors import BadInput, ConfigError
from swecli.models.json_value import Json, JsonObject
from swecli.regular_files import read_regular
from swecli.text import one_line

_SCHEMAS = "https://agent-plugins.org/schemas/1.0.0/"
SCHEMA = f"{_SCHEMAS}plugin.schema.json"
_MCP_SCHEMA = f"{_SCHEMAS}mcp.schema.json"
_MCP = "mcp.json"
_TEXTS = ("version", "description", "homepage", "repository", "license")
_KNOWN_FIELDS = frozenset({"$schema", "name", "author", "keywords", "extensions", *_TEXTS})
_OF_AUTHOR = frozenset({"name", "email", "url"})
_OF_PROGRAM = frozenset({"type", "command", "args", "env", "cwd"})
_OF_SERVICE = frozenset({"type", "url", "headers"})
_RESERVED = ("PLUGIN_ROOT", "PLUGIN_DATA")
_PLACE = re.compile(r"\./|\$\{PLUGIN_(?:ROOT|DATA)\}(?:/|\Z)")  # how a cwd begins


def check_manifest(manifest: JsonObject) -> list[str]:
    """Check a manifest but for its name, and return a line for each field that says nothing here (5.2, 8.1). Raises
    BadInput for another version, and for a field of another type."""
    schema = manifest.get("$schema")
    if schema != SCHEMA:
        schema_text = one_line(json.dumps(schema), 120)
        raise BadInput(
            f"plugin.json is for {schema_text}, which is not known.",
            f"Known: {json.dumps(SCHEMA)}.",
        )
    for field in _TEXTS:
        if not isinstance(manifest.get(field, ""), str):
            raise BadInput(f"plugin.json: {field} is not a text.")
    keywords = manifest.get("keywords", [])
    if not isinstance(keywords, list) or not all(isinstance(item, str) for item in keywords):
        raise BadInput("plugin.json: keywords is not a list of texts.")
    author = manifest.get("author", {})
    if not _are_texts(author) or not _OF_AUTHOR.issuperset(author):
        raise BadInput("plugin.json: author is not an object with the texts name, email and url.")
    unused: list[str] = []
    if unknown := [field for field in manifest if field not in _KNOWN_FIELDS]:
        names = one_line(", ".join(unknown), 300)
        unused.append(f"fields of plugin.json that its format does not have: {names}")
    extensions = manifest.get("extensions", {})
    if not isinstance(extensions, dict):
        unused.append("extensions of plugin.json is not an object")
    elif extensions:
        names = one_line(", ".join(extensions), 300)
        unused.append(f"extensions of other programs: {names}")
    return unused


def agent_servers(root: Path) -> McpFile:
    """Return the servers of `mcp.json` (7.2). A file that is not as it should be has none, and a server that is not is
    left out."""
    path = root / _MCP
    try:
        if not is_inside(path, root):
            raise ValueError("it leads out of the folder")
        value = json.loads(read_regular(path))
        entries = _entries_of(value)
    except (OSError, ValueError, RecursionError) as error:
        reason = getattr(error, "strerror", None) or error
        return McpFile(problems=(f"{_MCP} is not used: {one_line(str(reason), 200)}",))
    servers: dict[str, ServerEntry] = {}
    problems: list[str] = []
    for name, entry in entries.items():
        try:
            servers[name] = _read_server(name, entry, root)
        except ConfigError as error:
            problems.append(f"{_MCP}: {error}")
        except ValueError as error:
            problems.append(f"{_MCP}: the MCP server {one_line(name, 40)} is not used: {error}")
    return McpFile(servers, tuple(problems))


def _entries_of(value: Json) -> Mapping[str, Json]:
    """Return the entries of the file. Raises ValueError."""
    if not isinstance(value, dict) or value.keys() != {"$schema", "mcpServers"}:
        raise ValueError("it is not an object with exactly $schema and mcpServers")
    if value["$schema"] != _MCP_SCHEMA:
        schema_text = one_line(json.dumps(value["$schema"]), 120)
        raise ValueError(f"it is for {schema_text}, and plugin.json for 1.0.0")
    servers = value["mcpServers"]
    if not isinstance(servers, dict):
        raise ValueError("mcpServers is not an object")
    return servers


def _read_server(name: str, entry: Json, root: Path) -> ServerEntry:
    """Return a server of the file. Raises ValueError, and ConfigError for what no file may have."""
    if not isinstance(entry, dict):
        raise ValueError("it is not an object")
    match entry.get("type"):
        case "stdio":
            _require_only(entry, _OF_PROGRAM)
            _check_program(entry)
            place = entry.get("cwd", "${PLUGIN_ROOT}")
            command = _command(entry.get("command"), root)
            return replace(read_entry(name, {**entry, "command": command}), cwd=place)
        case "streamable-http":
            _require_only(entry, _OF_SERVICE)
            _check_address(entry.get("url"))
            server = read_entry(name, entry)
            if len({header.lower() for header in server.headers}) < len(server.headers):
                raise ValueError("its headers have a name twice")
            return server
        case "sse":
            raise ValueError("its transport sse is not spoken here")
        case other:
            raise ValueError(f"its type is {one_line(json.dumps(other), 40)}")


def _require_only(entry: JsonObject, fields: frozenset[str]) -> None:
    if unknown := [field for field in entry if field not in fields]:
        raise ValueError(f"it has the unknown field {one_line(unknown[0], 40)}")


def _check_program(entry: JsonObject) -> None:
    env = entry.get("env", {})
    if isinstance(env, dict) and any(name in env for name in _RESERVED):
        raise ValueError("its env sets PLUGIN_ROOT or PLUGIN_DATA")
    place = entry.get("cwd", "./")
    if not isinstance(place, str) or not _PLACE.match(place):
        raise ValueError("its cwd begins with neither ./ nor ${PLUGIN_ROOT} nor ${PLUGIN_DATA}")
    if ".." in Path(place).parts:
        raise ValueError("its cwd leads out of the folder")


def _command(command: Json, root: Path) -> Json:
    """Return the program: a name on the PATH, or the path of a file in the folder."""
    if not isinstance(command, str) or "/" not in command:
        return command
    if not command.startswith("./"):
        raise ValueError("its command is neither a name nor a path that begins with ./")
    path = root / command
    if not is_inside(path, root):
        raise ValueError("its command leads out of the folder")
    return str(path)


def _check_address(url: Json) -> None:
    """Raise ValueError for an address that is not allowed."""
    parts = urlsplit(url) if isinstance(url, str) else urlsplit("")
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError("its url is no http or https address")
    if parts.username is not None or parts.password is not None or parts.fragment:
        raise ValueError("its url has a user or a fragment")
    if parts.scheme == "http" and not _is_loopback(parts.hostname):
        raise ValueError("its url is not https")


def _is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _are_texts(value: Json) -> bool:
    return isinstance(value, dict) and all(isinstance(item, str) for item in value.values())
