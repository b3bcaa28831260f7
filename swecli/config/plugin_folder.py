"""What a plug-in's folder brings, in either of two formats: that of Agent Plugins 1.0.0, and that of Claude Code."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path

from swecli.config.agent_plugin import agent_servers, check_manifest
from swecli.config.mcp_file import McpFile, parse_servers
from swecli.config.project_files import command_files_in, is_inside, skill_files_in
from swecli.models.errors import BadInput
from swecli.models.json_value import Json, JsonObject
from swecli.regular_files import read_regular
from swecli.text import one_line
from swecli.values import dataclass

MANIFEST = "plugin.json"
CLAUDE_MANIFEST = ".claude-plugin/plugin.json"
# That of Agent Plugins, section 5.5, to which names of Claude Code's plug-ins keep too.
_NAME = re.compile(r"(?=.{1,64}\Z)(?!.*(?:--|\.\.))[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?")
_COMMAND = re.compile(r"[A-Za-z][\w.-]*")
_SAYS_NOTHING = frozenset(
    {"$schema", "name", "version", "description", "author", "homepage", "repository", "license"}
    | {"keywords", "displayName", "strict", "defaultEnabled"}
)
_READ_FIELDS = frozenset({"skills", "commands", "hooks", "mcpServers"})
_AGENTS = "agents"


class PluginFormat(StrEnum):
    """In which format a plug-in is written. The value says it to the user."""

    AGENT_PLUGINS = "Agent Plugins 1.0.0"
    CLAUDE_CODE = "Claude Code"


@dataclass(frozen=True, slots=True)
class PluginFolder:
    """A plug-in as its folder declares it.

    Attributes:
        skills: The SKILL.md of each.
        commands: The Markdown file of each.
        hooks: Files with hooks, as bytes by the names that problems call them.
        servers: The MCP servers, with `${PLUGIN_ROOT}` and its like as they are written.
        unused: A line for each thing that it has and nobody here reads.
        problems: A line for each thing that is not as it should be, and not used.
    """

    root: Path
    format: PluginFormat
    name: str
    version: str
    description: str
    skills: tuple[Path, ...] = ()
    commands: tuple[Path, ...] = ()
    hooks: tuple[tuple[str, bytes], ...] = ()
    servers: McpFile = McpFile()
    unused: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()


def read_plugin(root: Path, fallback_name: str) -> PluginFolder:
    """Return what a folder brings. A folder without a manifest is one of Claude Code's, with the `fallback_name`. One
    with both manifests too: that format has more parts. Raises BadInput for a folder that is no plug-in."""
    root = root.resolve()
    if (root / MANIFEST).exists() and not (root / CLAUDE_MANIFEST).exists():
        return _read_agent_plugin(root)
    return _ClaudeReader(root).read(fallback_name)


def _read_agent_plugin(root: Path) -> PluginFolder:
    manifest = _read_object(root, MANIFEST)
    unused = check_manifest(manifest)
    name = _name_of(manifest["name"], MANIFEST)
    servers = McpFile()
    if (root / "mcp.json").exists():
        servers = agent_servers(root)
    return PluginFolder(
        root,
        PluginFormat.AGENT_PLUGINS,
        name,
        str(manifest.get("version", "")),
        str(manifest.get("description", "")),
        skills=tuple(_inside(skill_files_in(root / "skills"), root)),
        servers=servers,
        unused=tuple(unused),
    )


class _ClaudeReader:
    """Reads a folder in Claude Code's format. Its manifest may name further places beside the usual ones."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._manifest: JsonObject = {}
        self._unused: list[str] = []
        self._problems: list[str] = []

    def read(self, fallback_name: str) -> PluginFolder:
        """Return what the folder brings. Raises BadInput."""
        given_name: Json = fallback_name
        if (self._root / CLAUDE_MANIFEST).exists():
            self._manifest = _read_object(self._root, CLAUDE_MANIFEST)
            given_name = self._manifest.get("name")
        name = _name_of(given_name, CLAUDE_MANIFEST)
        skills = [file for folder in self._places("skills") for file in _skills_at(folder)]
        commands = tuple(self._commands())
        hooks = tuple(self._hooks())
        servers = self._servers()
        self._find_unused()
        folder = PluginFolder(
            self._root,
            PluginFormat.CLAUDE_CODE,
            name,
            _text(self._manifest.get("version")),
            _text(self._manifest.get("description")),
            tuple(dict.fromkeys(_inside(skills, self._root))),
            commands,
            hooks,
            servers,
            tuple(self._unused),
            tuple(self._problems),
        )
        brings = (folder.skills, folder.commands, hooks, servers.servers, servers.problems)
        if not self._manifest and not any((*brings, self._unused)):
            raise BadInput(
                f"{self._root} is no plug-in: it has neither {MANIFEST} nor {CLAUDE_MANIFEST}.",
                "Name the folder with that file, not the one of a marketplace.",
            )
        return folder

    def _commands(self) -> Iterator[Path]:
        """Yield the commands whose names can be typed, the first of each name."""
        files = [file for place in self._places("commands") for file in _commands_at(place)]
        names: set[str] = set()
        for file in dict.fromkeys(_inside(files, self._root)):
            place = file.relative_to(self._root).as_posix()
            if not _COMMAND.fullmatch(file.stem):
                self._problems.append(f"{place} is not used: its name cannot be typed")
            elif file.stem.lower() in names:
                self._problems.append(f"{place} is not used: there is a command of this name")
            else:
                names.add(file.stem.lower())
                yield file

    def _places(self, field: str) -> Iterator[Path]:
        """Yield the usual place of a field and those that the manifest adds."""
        yield self._root / field
        for value in _listed(self._manifest.get(field)):
            if path := self._named_path(field, value):
                yield path

    def _named_path(self, field: str, value: Json) -> Path | None:
        """Return a path in the folder that the manifest names; None, with a line on it, if that is none."""
        value_text = one_line(json.dumps(value), 80)
        if not isinstance(value, str) or not value.startswith("./"):
            self._problems.append(
                f"{field} {value_text} is not used: it is no path that begins with ./"
            )
            return None
        path = self._root / value
        if not is_inside(path, self._root):
            self._problems.append(f"{field} {value_text} is not used: it leads out of the folder")
            return None
        if not path.exists():
            self._problems.append(f"{field} {value_text} is not used: there is no such file")
            return None
        return path

    def _hooks(self) -> Iterator[tuple[str, bytes]]:
        usual = "hooks/hooks.json"
        yield from self._file(usual)
        for value in _listed(self._manifest.get("hooks")):
            if isinstance(value, dict):
                whole = value if "hooks" in value else {"hooks": value}
                yield CLAUDE_MANIFEST, json.dumps(whole).encode()
            elif path := self._named_path("hooks", value):
                name = path.relative_to(self._root).as_posix()
                if name != usual:
                    yield from self._file(name)

    def _servers(self) -> McpFile:
        """Return the servers of all places. One of two with the same name is the first."""
        usual = ".mcp.json"
        files = [parse_servers(_with_key(data), name) for name, data in self._file(usual)]
        for value in _listed(self._manifest.get("mcpServers")):
            if isinstance(value, dict):
                data = json.dumps({"mcpServers": value}).encode()
                files.append(parse_servers(data, CLAUDE_MANIFEST))
            elif path := self._named_path("mcpServers", value):
                name = path.relative_to(self._root).as_posix()
                if name != usual:
                    files += [
                        parse_servers(_with_key(data), name) for name, data in self._file(name)
                    ]
        servers = {name: entry for file in reversed(files) for name, entry in file.servers.items()}
        return McpFile(servers, tuple(line for file in files for line in file.problems))

    def _file(self, name: str) -> Iterator[tuple[str, bytes]]:
        """Yield the bytes of a file if there is one."""
        path = self._root / name
        if not path.exists():
            return
        try:
            if not is_inside(path, self._root):
                raise OSError(0, "it leads out of the folder")
            yield name, read_regular(path)
        except OSError as error:
            self._problems.append(f"{name} is not used: {error.strerror}")

    def _find_unused(self) -> None:
        agents = sorted(path.stem for path in (self._root / _AGENTS).glob("*.md"))
        if agents:
            names = one_line(", ".join(agents), 300)
            self._unused.append(f"agents are not carried: {names}")
        known_fields = _SAYS_NOTHING | _READ_FIELDS | ({_AGENTS} if agents else set())
        unknown = [field for field in self._manifest if field not in known_fields]
        if unknown:
            names = one_line(", ".join(unknown), 300)
            self._unused.append(f"fields of {CLAUDE_MANIFEST} that say nothing here: {names}")


def _with_key(data: bytes) -> bytes:
    """Return the bytes of a file with servers, which a plug-in may write without the key around them."""
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        return data
    is_bare = isinstance(value, dict) and "mcpServers" not in value
    return json.dumps({"mcpServers": value}).encode() if is_bare else data


def _skills_at(place: Path) -> list[Path]:
    """Return the skills in a folder, or the one that it is itself."""
    skill_file = place / "SKILL.md"
    return [skill_file] if skill_file.exists() else skill_files_in(place)


def _commands_at(place: Path) -> list[Path]:
    return [place] if place.is_file() else command_files_in(place)


def _inside(files: list[Path], root: Path) -> Iterator[Path]:
    """Yield the files that lie in the folder; others are links that were left out of its copy."""
    return (file for file in files if is_inside(file, root))


def _listed(value: Json) -> list[Json]:
    if value is None:
        return []
    return value if isinstance(value, list) else [value]


def _text(value: Json) -> str:
    """Return a field that only people read; "" if it is no text."""
    return value if isinstance(value, str) else ""


def _read_object(root: Path, name: str) -> JsonObject:
    """Return the manifest. Raises BadInput."""
    path = root / name
    try:
        if not is_inside(path, root):
            raise OSError(0, "it is a link that leads out of the folder")
        value = json.loads(read_regular(path))
    except (ValueError, RecursionError) as error:
        raise BadInput(f"{name} is not valid JSON: {one_line(str(error), 120)}.") from error
    except OSError as error:
        raise BadInput(f"{name} cannot be read: {error.strerror}.") from error
    if not isinstance(value, dict):
        raise BadInput(f"{name} is not a JSON object.")
    return value


def _name_of(value: Json, file: str) -> str:
    """Return a valid name. Raises BadInput."""
    if isinstance(value, str) and _NAME.fullmatch(value):
        return value
    value_text = one_line(json.dumps(value), 80)
    raise BadInput(
        f"{file}: the name {value_text} of the plug-in is invalid.",
        "Use at most 64 lower-case letters, digits, single - and single dots.",
    )
