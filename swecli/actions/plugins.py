"""What users do with plug-ins: add, list, look at and remove them."""

from __future__ import annotations

import shlex
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import suppress
from difflib import unified_diff
from enum import StrEnum
from pathlib import Path

from swecli.actions.approving import in_pieces, is_agreed, not_recorded, show
from swecli.config.front_matter import front_matter
from swecli.config.mcp_file import ServerEntry
from swecli.config.plugin_folder import PluginFolder, read_plugin
from swecli.config.plugin_places import may_have_plugins, plugins_folder
from swecli.config.plugin_tree import PluginTree, read_tree
from swecli.config.plugins import (
    Plugin,
    PluginApproval,
    copy_of,
    data_of,
    read_approval,
    read_plugins,
)
from swecli.config.settings import Start
from swecli.config.trust import TrustLedger
from swecli.folders import remove_tree
from swecli.models.action import ActionResult, Invocation
from swecli.models.counts import pluralize
from swecli.models.errors import BadInput, StoreError, UsageError
from swecli.models.json_value import JsonObject
from swecli.redact import redact
from swecli.regular_files import read_regular
from swecli.text import decode_text, escape_hidden
from swecli.tools.hooks.declared import HookFile, parse_hooks
from swecli.tools.limits import one_line

_MEMORY = Path(__file__).parent / "memory_plugin"


class SourceState(StrEnum):
    """Whether the folder that a plug-in was copied from is still the same. The value says it to the user."""

    SAME = "as you approved it"
    CHANGED = "changed since; the copy that you approved is used"
    UNREADABLE = "cannot be copied any more; the copy is used"
    GONE = "gone; the copy is used"


def list_plugins(start: Start, prefix: str) -> ActionResult:
    """List all plug-ins, without running anything of them."""
    plugins = read_plugins(start.paths)
    rows: list[tuple[str, ...]] = []
    value: list[JsonObject] = []
    states: set[SourceState] = set()
    for plugin in plugins.plugins:
        state = _state_of(plugin)
        source = escape_hidden(str(plugin.approval.source), keep="")
        states.add(state)
        brings = _summary(plugin.folder)
        rows.append((plugin.name, plugin.folder.version, brings, source, str(state)))
        value.append({**_to_json(plugin), "state": str(state)})
    lines = [*plugins.problems]
    if not rows and not lines:
        lines.append("There are no plug-ins. `swecli plugin add FOLDER` adds one.")
    head = ("plug-in", "version", "brings", "from", "its folder")
    has_changed = SourceState.CHANGED in states
    note = f"{prefix}plugin show NAME shows what changed" if has_changed else ""
    return ActionResult(value, tuple(lines), head=head if rows else (), rows=tuple(rows), note=note)


def show_plugin(start: Start, invocation: Invocation) -> ActionResult:
    """Show a plug-in. Raises UsageError and BadInput."""
    name = _required_name(invocation)
    plugins = read_plugins(start.paths)
    plugin = plugins.find(name)
    if plugin is None:
        problem = plugins.unusable.get(name, f"There is no plug-in {name!r:.70}.")
        raise BadInput(problem, _see_list(invocation))
    lines = [*_describe(plugin.folder, plugin.approval)]
    state = _state_of(plugin)
    lines.append(f"  its folder: {state}")
    if state in (SourceState.CHANGED, SourceState.UNREADABLE):
        approval = plugin.approval
        try:
            now = read_tree(approval.source)
            lines += _differences(plugin.root, approval.entries, approval.source, now)
        except BadInput as error:
            lines.append(f"  {error.message}")
    value = {**_to_json(plugin), "state": str(state)}
    return ActionResult(value, tuple(in_pieces(lines)))


async def add_plugin(start: Start, invocation: Invocation) -> ActionResult:
    """Show what a folder brings, or what changed in it, and use a copy of it if the user agrees. Raises UsageError,
    BadInput and StoreError."""
    if not invocation.text:
        raise UsageError("Give the folder of a plug-in.", "For example: swecli plugin add ~/src/x")
    source = (invocation.folder / Path(invocation.text).expanduser()).resolve()
    if not source.is_dir():
        raise BadInput(f"There is no folder {source}.", "Clone or unpack the plug-in first.")
    place = plugins_folder(start.paths)
    was_there = may_have_plugins(start.paths)
    try:
        place.mkdir(mode=0o700, parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".new-", dir=place) as new:
            return await _add_copy(start, invocation, source, Path(new))
    except OSError as error:
        raise StoreError(f"The plug-in cannot be copied to {place}: {error.strerror}.") from error
    finally:
        if not was_there:
            _remove_if_empty(place)


async def _add_copy(start: Start, invocation: Invocation, source: Path, new: Path) -> ActionResult:
    """Copy a folder into the folder `new`, show the copy, and use it if the user agrees. Raises BadInput, StoreError
    and OSError."""
    copy = new / "copy"
    copy.mkdir(mode=0o700)
    tree = read_tree(source, copy)
    folder = read_plugin(copy, source.name)
    approval = PluginApproval(
        source,
        tree.entries,
        network="--network" in invocation.flags,
        outside="--outside" in invocation.flags,
    )
    previous = _previous(start, folder.name, source, invocation.prefix)
    if previous == approval and read_plugins(start.paths).find(folder.name) is not None:
        line = f"{folder.name} is added already, and its folder is {SourceState.SAME}"
        return ActionResult({"added": folder.name, "changed": False}, (line,))
    description = [*_describe(folder, approval), *(f"  {line}" for line in tree.problems)]
    if previous is not None:
        before = copy_of(start.paths, folder.name, PluginTree(previous.entries))
        description += [*_differences(before, previous.entries, copy, tree)]
    pieces = show(invocation.face, description)
    if not await is_agreed(invocation, f"Use the plug-in {folder.name}, as it is now?"):
        verdict = f"nothing was added{invocation.face.how_to_agree}"
        return ActionResult(None, (*pieces, verdict), code=1)
    _use(start, folder.name, approval, copy)
    lines = [f"{folder.name} is added: what it brings is used from the next start on"]
    lines += [
        f"{invocation.prefix}mcp approve {name} shows the tools of its MCP server and offers them"
        for name in folder.servers.servers
    ]
    return ActionResult({"added": folder.name, "changed": True}, (*pieces, *lines))


def _previous(start: Start, name: str, source: Path, prefix: str) -> PluginApproval | None:
    """Return what was approved of a plug-in before; None if nothing was. Raises BadInput if the name is that of one
    from another folder."""
    approved = TrustLedger.find(start.paths).trust_in(plugins_folder(start.paths)).plugins
    if name not in approved:
        return None
    try:
        previous = read_approval(approved[name])
    except BadInput:  # it is to be replaced
        return None
    if previous.source != source:
        raise BadInput(
            f"There is a plug-in {name} already, from {previous.source}.",
            f"`{prefix}plugin remove {name}` removes that one.",
        )
    return previous


def _use(start: Start, name: str, approval: PluginApproval, copy: Path) -> None:
    """Record the approval, and put the copy where it is looked for, in place of earlier ones. Raises StoreError and
    OSError."""
    place = copy_of(start.paths, name, PluginTree(approval.entries))
    _approve(start, name, approval)
    place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    for other in place.parent.parent.iterdir():
        if other not in (place.parent, data_of(start.paths, name)):
            remove_tree(str(other))
    remove_tree(str(place))  # it is there if it is not what was approved
    copy.rename(place)


def _approve(start: Start, name: str, approval: PluginApproval) -> None:
    place = plugins_folder(start.paths)
    try:
        TrustLedger.find(start.paths).approve_plugin(place, name, approval.to_text())
    except OSError as error:
        raise not_recorded(error) from error


def remove_plugin(start: Start, invocation: Invocation) -> ActionResult:
    """Remove a plug-in. Raises UsageError, BadInput and StoreError."""
    name = _required_name(invocation)
    place = plugins_folder(start.paths)
    ledger = TrustLedger.find(start.paths)
    if name not in ledger.trust_in(place).plugins:
        raise BadInput(f"There is no plug-in {name!r:.70}.", _see_list(invocation))
    servers = [
        server
        for plugin in read_plugins(start.paths).plugins
        if plugin.name == name
        for server in plugin.servers()
    ]
    try:
        ledger.forget_plugin(place, name)
        for server in servers:
            ledger.forget_server(place, server)
    except OSError as error:
        raise not_recorded(error) from error
    is_last = not ledger.trust_in(place).plugins
    remove_tree(str(place if is_last else place / name))
    return ActionResult({"removed": name}, (f"{name} is removed",))


def find_memory_plugin() -> ActionResult:
    """Return the folder of our own plug-in for other assistants."""
    return ActionResult({"folder": str(_MEMORY)}, (str(_MEMORY),), exact=f"{_MEMORY}\n")


def _remove_if_empty(folder: Path) -> None:
    with suppress(OSError):
        folder.rmdir()


def _state_of(plugin: Plugin) -> SourceState:
    source = plugin.approval.source
    if not source.is_dir():
        return SourceState.GONE
    try:
        tree = read_tree(source)
    except BadInput:
        return SourceState.UNREADABLE
    is_same = tree.digest == PluginTree(plugin.approval.entries).digest
    return SourceState.SAME if is_same else SourceState.CHANGED


def _hooks_of(folder: PluginFolder) -> HookFile:
    files = [parse_hooks(data, name) for name, data in folder.hooks]
    hooks = tuple(hook for file in files for hook in file.hooks)
    return HookFile(hooks, tuple(line for file in files for line in file.problems))


def _summary(folder: PluginFolder) -> str:
    counts = (
        (len(folder.skills), "skill"),
        (len(folder.commands), "command"),
        (len(_hooks_of(folder).hooks), "hook"),
        (len(folder.servers.servers), "MCP server"),
    )
    return ", ".join(pluralize(count, kind) for count, kind in counts if count) or "nothing"


def _describe(folder: PluginFolder, approval: PluginApproval) -> Iterator[str]:
    """Yield all that a plug-in brings, each word of what it runs, and what of it is not used."""
    tree = PluginTree(approval.entries)
    version = f" {folder.version}" if folder.version else ""
    yield f"{folder.name}{escape_hidden(version, keep='')}, a plug-in in the format of {folder.format}"
    if folder.description:
        yield f"  {escape_hidden(one_line(folder.description), keep='')}"
    yield f"  {pluralize(len(tree.entries), 'file')}, SHA-256 {tree.digest[:12]}, from {approval.source}"
    for kind, files in (("skill", folder.skills), ("command", folder.commands)):
        for file in files:
            yield f"  {kind} {_describe_text(kind, file)}"
    hooks = _hooks_of(folder)
    for hook in hooks.hooks:
        words = shlex.join([hook.command, *hook.args]) if hook.args else hook.command
        matcher = f" for {hook.matcher}" if hook.matcher else ""
        yield f"  hook on {hook.event}{matcher}: {escape_hidden(redact(words), keep='')}"
    for entry in folder.servers.servers.values():
        yield f"  MCP server {entry.name}: {_describe_server(entry)}"
    if hooks.hooks or any(entry.command for entry in folder.servers.servers.values()):
        yield f"  its programs run {_describe_place(approval)}"
    problems = (*folder.unused, *folder.problems, *folder.servers.problems, *hooks.problems)
    for line in problems:
        yield f"  not used: {escape_hidden(line, keep='')}"


def _describe_text(kind: str, file: Path) -> str:
    """Return the name and the description of a skill or a command."""
    fields: dict[str, str] = {}
    with suppress(OSError):
        fields, _ = front_matter(decode_text(read_regular(file)))
    name = fields.get("name", file.parent.name) if kind == "skill" else file.stem.lower()
    description = fields.get("description", "")
    text = f"{name}: {description}" if description else name
    return escape_hidden(one_line(text), keep="")


def _describe_server(entry: ServerEntry) -> str:
    target = entry.url or shlex.join([entry.command, *entry.args])
    names = ", ".join([*entry.env, *entry.headers])
    variables_note = f" (given: {names})" if names else ""
    return escape_hidden(redact(target) + variables_note, keep="")


def _describe_place(approval: PluginApproval) -> str:
    if approval.outside:
        return "outside the sandbox, as you"
    network = "with network" if approval.network else "without network"
    return f"in the sandbox, where there is one, {network}; they write in the workspace and a folder of their own"


def _differences(
    before: Path, old: Mapping[str, str], now: Path, tree: PluginTree
) -> Iterator[str]:
    """Yield what is different in a folder now: each line of texts."""
    for name in sorted({*old, *tree.entries}):
        if old.get(name) == tree.entries.get(name):
            continue
        shown_name = escape_hidden(name, keep="")
        if name not in old or name not in tree.entries:
            yield f"  {shown_name}: {'new' if name not in old else 'gone'}"
            if name not in tree.entries:
                continue
        else:
            yield f"  {shown_name}: changed"
        lines = unified_diff(
            _lines(before / name), _lines(now / name), "approved", "now", "", "", 2
        )
        yield from (f"    {line}" for line in lines)


def _lines(path: Path) -> list[str]:
    """Return the lines of a text as they can be shown; of another file, or none, nothing."""
    if path.is_symlink():
        return []
    try:
        data = read_regular(path)
    except OSError:
        return []
    text = data.decode("utf-8", "replace")
    if "\0" in text or text.encode() != data:
        return []
    return [escape_hidden(redact(line), keep="") for line in text.splitlines()]


def _to_json(plugin: Plugin) -> JsonObject:
    folder = plugin.folder
    hooks = _hooks_of(folder)
    return {
        "name": folder.name,
        "format": str(folder.format),
        "version": folder.version,
        "source": str(plugin.approval.source),
        "folder": str(plugin.root),
        "digest": PluginTree(plugin.approval.entries).digest,
        "network": plugin.approval.network,
        "outside": plugin.approval.outside,
        "skills": [file.parent.name for file in folder.skills],
        "commands": [file.stem.lower() for file in folder.commands],
        "hooks": [redact(hook.command) for hook in hooks.hooks],
        "servers": [*folder.servers.servers],
        "unused": [*folder.unused, *folder.problems, *folder.servers.problems, *hooks.problems],
    }


def _required_name(invocation: Invocation) -> str:
    if not invocation.text:
        raise UsageError("Give the name of a plug-in.", _see_list(invocation))
    return invocation.text


def _see_list(invocation: Invocation) -> str:
    return f"See `{invocation.prefix}plugin list`."
