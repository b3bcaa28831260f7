"""`swecli trust`: list, show and withdraw what you trust of folders."""

from __future__ import annotations

import argparse
import os
from datetime import datetime
from difflib import unified_diff
from pathlib import Path

from swecli.cli.flags import Parser, subcommand
from swecli.cli.workspace import working_folder
from swecli.config.paths import Paths, project_root
from swecli.config.project_files import find_project_files
from swecli.config.trust import FolderTrust, TrustLedger
from swecli.models.action import ActionResult
from swecli.models.errors import BadInput, StoreError
from swecli.regular_files import read_regular


@subcommand
def _trust(parser: Parser) -> None:
    """List, show or withdraw trust in the files of folders. /trust in a session gives it, for the files as they are."""
    parser.action("list", _list, "the trusted folders")
    show = parser.action("show", _show, "the trusted files of a folder, and what changed since")
    remove = parser.action("remove", _remove, "withdraw the trust in a folder")
    for action in (show, remove):
        action.add_argument(
            "place", nargs="?", default=".", metavar="FOLDER", help="default: this project"
        )
    parser.set_defaults(default_action="list")


def _ledger() -> TrustLedger:
    return TrustLedger.of(Paths.find(os.environ))


def _root(args: argparse.Namespace) -> Path:
    return project_root(working_folder(args.cwd) / args.place)


def _list(args: argparse.Namespace) -> ActionResult:
    folders, problems = _ledger().list()
    rows: list[tuple[str, ...]] = []
    for trust in folders:
        there = "" if trust.root.is_dir() else "folder is gone"
        rows.append((str(trust.root), _when(trust), str(len(trust.approved)), there))
    nothing = () if rows else ("No folder is trusted. Run /trust in a session to trust one.",)
    value = [_as_json(trust) for trust in folders]
    head = ("folder", "since", "files", "")
    return ActionResult(value, (*nothing, *problems), head, tuple(rows))


def _show(args: argparse.Namespace) -> ActionResult:
    root = _root(args)
    ledger = _ledger()
    if problem := ledger.problem_of(root):
        raise BadInput(problem)
    trust = ledger.open(root)
    if not trust.is_trusted:
        return ActionResult(None, (f"{root} is not trusted.",), code=1)
    lines = [f"{root}, trusted since {_when(trust)}"]
    for name in sorted(trust.approved):
        lines += _compare(trust, name)
    new = [path for path in find_project_files(root) if trust.name_of(path) not in trust.approved]
    lines += [f"  {trust.name_of(path)}: new since then, not used" for path in new]
    return ActionResult(_as_json(trust), tuple(lines))


def _compare(trust: FolderTrust, name: str) -> list[str]:
    """Return a line for a trusted file, and its differences if it has changed."""
    known = trust.approved[name]
    try:
        data = read_regular(trust.root / name)
    except OSError:
        return [f"  {name}: gone"]
    if trust.judge(trust.root / name, data) == "approved":
        return [f"  {name}: {known.digest[:12]}"]
    now = data.decode("utf-8", "replace")
    differences = unified_diff(
        known.text.splitlines(), now.splitlines(), "trusted", "now", "", "", 2
    )
    return [f"  {name}: changed since then, not used", *(f"    {line}" for line in differences)]


def _remove(args: argparse.Namespace) -> ActionResult:
    root = _root(args)
    try:
        removed = _ledger().remove(root)
    except OSError as error:
        raise StoreError(f"The trust in {root} cannot be withdrawn: {error.strerror}.") from error
    if not removed:
        raise BadInput(f"{root} is not trusted.", "See `swecli trust list`.")
    return ActionResult({"removed": str(root)}, (f"{root} is no longer trusted.",))


def _when(trust: FolderTrust) -> str:
    return f"{datetime.fromtimestamp(trust.since or 0):%Y-%m-%d %H:%M}"


def _as_json(trust: FolderTrust) -> dict[str, object]:
    files = {name: known.digest for name, known in trust.approved.items()}
    return {"folder": str(trust.root), "since": trust.since, "files": files}
