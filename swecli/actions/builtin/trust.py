"""`/trust` and `swecli trust`: give, show and withdraw trust in the files of a folder."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

from swecli.config.paths import project_root
from swecli.config.project_files import find_project_files
from swecli.config.trust import ApprovedFile, FolderTrust, TrustLedger
from swecli.models.action import Action, ActionResult, Family, Invocation, Need, Words
from swecli.models.errors import BadInput, StoreError
from swecli.regular_files import read_regular

_FOLDER = Words("[FOLDER]", "default: this project", "?")


@Action(Need.TRUST)
def list_(ledger: TrustLedger, invocation: Invocation) -> ActionResult:
    """The trusted folders"""
    folders, problems = ledger.list()
    rows: list[tuple[str, ...]] = []
    for trust in folders:
        remark = "" if trust.root.is_dir() else "folder is gone"
        kinds = (trust.approved, trust.servers, trust.hooks, trust.plugins)
        counts = tuple(str(len(kind)) for kind in kinds)
        rows.append((str(trust.root), _format_since(trust), *counts, remark))
    empty = () if rows else ("No folder is trusted. Run /trust in a session to trust one.",)
    value = [_as_json(trust) for trust in folders]
    head = ("folder", "since", "files", "MCP servers", "hooks", "plug-ins", "")
    return ActionResult(value, (*empty, *problems), head=head, rows=tuple(rows))


@Action(Need.TRUST, _FOLDER)
def show(ledger: TrustLedger, invocation: Invocation) -> ActionResult:
    """The trusted files of a folder, and what changed since"""
    root = _find_root(invocation)
    if problem := ledger.problem_of(root):
        raise BadInput(problem)
    trust = ledger.trust_in(root)
    if not trust.is_trusted and not trust.hooks and not trust.plugins:
        return ActionResult(None, (f"{root} is not trusted.",), code=1)
    since = f"trusted since {_format_since(trust)}" if trust.is_trusted else "not trusted"
    lines = [f"{root}, {since}"]
    for name in sorted(trust.approved):
        lines += _compare(trust, name)
    # late: as for `_compare`
    from swecli.tools.nested_instructions import find_nested_instructions

    files = find_project_files(root, find_nested_instructions(root, None))
    new = [path for path in files if trust.name_of(path) not in trust.approved]
    lines += [f"  {trust.name_of(path)}: new since then, not used" for path in new]
    lines += [
        f"  MCP server {name}: {trust.servers[name].digest[:12]}; its tools: /mcp get {name}"
        for name in sorted(trust.servers)
    ]
    lines += [_describe_hook(name, trust.hooks[name]) for name in sorted(trust.hooks)]
    lines += [_describe_plugin(name, trust.plugins[name]) for name in sorted(trust.plugins)]
    return ActionResult(_as_json(trust), tuple(lines))


def _describe_hook(name: str, hook: ApprovedFile) -> str:
    since = f", approved {_format_time(hook.since)}" if hook.since is not None else ""
    return f"  hook {name}: {hook.digest[:12]}{since}; what changed since: /hooks"


def _describe_plugin(name: str, plugin: ApprovedFile) -> str:
    since = f", approved {_format_time(plugin.since)}" if plugin.since is not None else ""
    return f"  plug-in {name}: {plugin.digest[:12]}{since}; what changed since: swecli plugin show {name}"


def _compare(trust: FolderTrust, name: str) -> list[str]:
    """Return a line for a trusted file, and its differences if it has changed."""
    # late: not needed to declare an action
    from difflib import unified_diff

    approved = trust.approved[name]
    try:
        data = read_regular(trust.root / name)
    except OSError:
        return [f"  {name}: gone"]
    if trust.judge(trust.root / name, data) == "approved":
        return [f"  {name}: {approved.digest[:12]}"]
    current = data.decode("utf-8", "replace")
    differences = unified_diff(
        approved.text.splitlines(), current.splitlines(), "trusted", "now", "", "", 2
    )
    return [f"  {name}: changed since then, not used", *(f"    {line}" for line in differences)]


@Action(Need.TRUST, _FOLDER, in_session=False)
def remove(ledger: TrustLedger, invocation: Invocation) -> ActionResult:
    """Withdraw the trust in a folder"""
    root = _find_root(invocation)
    try:
        removed = ledger.remove(root)
    except OSError as error:
        raise StoreError(f"The trust in {root} cannot be withdrawn: {error.strerror}.") from error
    if not removed:
        raise BadInput(f"{root} is not trusted.", "See `swecli trust list`.")
    return ActionResult({"removed": str(root)}, (f"{root} is no longer trusted.",))


give = Action(
    Need.TRUST,
    in_shell=False,
    name="give",
    help="Trust this folder, after a look at its files",
)
trust = Family(
    "trust",
    "Trust this folder: use its instructions, settings, skills and commands as they are now; list or withdraw that",
    (list_, show, remove, give),
    default="give",
    default_in_shell="list",
)


def _find_root(invocation: Invocation) -> Path:
    return project_root(invocation.folder / invocation.text)


def _format_since(trust: FolderTrust) -> str:
    if trust.since is None:  # of other things than its files
        return ""
    return _format_time(trust.since)


def _format_time(seconds: float) -> str:
    return f"{datetime.fromtimestamp(seconds):%Y-%m-%d %H:%M}"


def _as_json(trust: FolderTrust) -> dict[str, object]:
    files = {name: file.digest for name, file in trust.approved.items()}
    servers = {name: server.digest for name, server in trust.servers.items()}
    hooks = {name: hook.digest for name, hook in trust.hooks.items()}
    plugins = {name: plugin.digest for name, plugin in trust.plugins.items()}
    return {
        "folder": str(trust.root),
        "since": trust.since,
        "files": files,
        "servers": servers,
        "hooks": hooks,
        "plugins": plugins,
    }
