"""The plug-ins that the user added: copies of their folders, which are used as long as they are what he approved."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import field, replace
from functools import lru_cache
from pathlib import Path

from swecli.config.mcp_file import ServerEntry
from swecli.config.paths import Paths
from swecli.config.plugin_folder import PluginFolder, PluginFormat, read_plugin
from swecli.config.plugin_places import fill_in, may_have_plugins, plugins_folder
from swecli.config.plugin_tree import PluginTree, read_tree
from swecli.config.trust import ApprovedFile, TrustLedger
from swecli.models.errors import BadInput
from swecli.models.json_value import JsonObject
from swecli.values import dataclass

_FOLDER_LENGTH = 16  # of the digest, in the name of a copy's folder
_OF_AGENT_PLUGINS = ("PLUGIN_ROOT", "PLUGIN_DATA")


@dataclass(frozen=True, slots=True)
class PluginApproval:
    """What the user approved of a plug-in.

    Attributes:
        source: The folder that it was copied from.
        entries: Its files, as `PluginTree` has them.
        network: Whether its programs reach the network from the sandbox.
        outside: Whether they run outside of it, as the user would start them.
    """

    source: Path
    entries: Mapping[str, str]
    network: bool = False
    outside: bool = False

    def to_text(self) -> str:
        """Return the approval as the ledger keeps it."""
        value: JsonObject = {
            "source": str(self.source),
            "network": self.network,
            "outside": self.outside,
            "files": dict(sorted(self.entries.items())),
        }
        return json.dumps(value, indent=1)

    @classmethod
    def from_text(cls, text: str) -> PluginApproval:
        """Return what the ledger kept. Raises ValueError, TypeError and KeyError."""
        value = json.loads(text)
        return cls(
            Path(value["source"]),
            dict(value["files"]),
            bool(value["network"]),
            bool(value["outside"]),
        )


@dataclass(frozen=True, slots=True)
class Plugin:
    """A plug-in that is used: what its copy brings, and what was approved."""

    folder: PluginFolder
    approval: PluginApproval
    data: Path  # its programs may keep files there, also when the plug-in is updated

    @property
    def name(self) -> str:
        return self.folder.name

    @property
    def root(self) -> Path:
        """The copy of its folder."""
        return self.folder.root

    @property
    def variables(self) -> dict[str, str]:
        """What its texts and programs may name: where it lies, by the names of both formats."""
        places = {"ROOT": str(self.root), "DATA": str(self.data)}
        return {
            f"{prefix}PLUGIN_{name}": place
            for prefix in ("", "CLAUDE_")
            for name, place in places.items()
        }

    @property
    def environment(self) -> dict[str, str]:
        """The variables that its programs get. Python keeps no compiled files: in the copy they would be a change."""
        return {**self.variables, "PYTHONDONTWRITEBYTECODE": "1"}

    @property
    def is_literal(self) -> bool:
        """Whether its servers' entries have no variables but those of the format, and others are text."""
        return self.folder.format is PluginFormat.AGENT_PLUGINS

    def servers(self) -> dict[str, ServerEntry]:
        """Return its servers by name, with its own places filled in."""
        return {name: self._place(entry) for name, entry in self.folder.servers.servers.items()}

    def _place(self, entry: ServerEntry) -> ServerEntry:
        network = entry.network or self.approval.network
        entry = replace(entry, network=network, sandbox=entry.sandbox and not self.approval.outside)
        if not self.is_literal:
            return entry.map(lambda text: fill_in(text, self.variables))
        variables = {name: self.variables[name] for name in _OF_AGENT_PLUGINS}
        # a program, an address and its headers have no variables in this format
        return replace(
            entry,
            args=tuple(fill_in(text, variables) for text in entry.args),
            env={name: fill_in(text, variables) for name, text in entry.env.items()},
            cwd=str(self.root / fill_in(entry.cwd, variables)) if entry.cwd else "",
        )


@dataclass(frozen=True, slots=True)
class Plugins:
    """The plug-ins that are used, and by the name of each that is not a line that says why."""

    plugins: tuple[Plugin, ...] = ()
    unusable: Mapping[str, str] = field(default_factory=dict)

    @property
    def problems(self) -> tuple[str, ...]:
        return tuple(self.unusable.values())

    def find(self, name: str) -> Plugin | None:
        """Return the plug-in of this name, if it is used."""
        return next((plugin for plugin in self.plugins if plugin.name == name), None)


NO_PLUGINS = Plugins()


def copy_of(paths: Paths, name: str, tree: PluginTree) -> Path:
    """Return the folder of a plug-in's copy: another one for each state of its files. It is called like the plug-in:
    some in Python import themselves by that name."""
    return plugins_folder(paths) / name / tree.digest[:_FOLDER_LENGTH] / name


def data_of(paths: Paths, name: str) -> Path:
    """Return the folder that a plug-in's programs may write to."""
    return plugins_folder(paths) / name / "data"


def read_plugins(paths: Paths) -> Plugins:
    """Return the plug-ins that are used. A copy is hashed once in a run. Never raises for a file."""
    if not may_have_plugins(paths):
        return NO_PLUGINS
    approved = TrustLedger.find(paths).trust_in(plugins_folder(paths)).plugins
    plugins: list[Plugin] = []
    unusable: dict[str, str] = {}
    for name, file in sorted(approved.items()):
        try:
            plugins.append(_read(paths, name, file))
        except BadInput as error:
            hint = "`swecli plugin add` with its folder copies it again"
            unusable[name] = f"the plug-in {name} is not used: {error.message} {hint}"
    return Plugins(tuple(plugins), unusable)


@lru_cache(maxsize=256)
def _read(paths: Paths, name: str, file: ApprovedFile) -> Plugin:
    """Return a plug-in if its copy is what the user approved. Raises BadInput."""
    approval = read_approval(file)
    approved = PluginTree(approval.entries)
    root = copy_of(paths, name, approved)
    if not root.is_dir():
        raise BadInput(f"its copy {root} is gone.")
    if read_tree(root).digest != approved.digest:
        raise BadInput(f"its copy {root} is not what you approved.")
    return Plugin(read_plugin(root, name), approval, data_of(paths, name))


def read_approval(file: ApprovedFile) -> PluginApproval:
    """Return what the ledger has of a plug-in. Raises BadInput if it is damaged."""
    if ApprovedFile.from_bytes(file.text.encode("utf-8")).digest == file.digest:
        try:
            return PluginApproval.from_text(file.text)
        except (ValueError, TypeError, KeyError):
            pass
    raise BadInput("the record of your approval is damaged.")
