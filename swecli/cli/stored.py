"""`swecli db`, `sql`, `stats`, `report`, `doctor` and `config`: the database, the installation and the settings."""

from __future__ import annotations

import argparse
import os
import shutil
import sys
from datetime import date
from pathlib import Path

from swecli.actions.settings import change_setting, show_settings, write_settings
from swecli.cli.flags import Parser, subcommand
from swecli.cli.subcommands import configuration_of, named_file, open_sessions, positive_int
from swecli.cli.workspace import process_folder
from swecli.config.paths import Paths
from swecli.config.settings import load_settings, render_template
from swecli.headless.plain import complaint
from swecli.models.action import ActionResult
from swecli.models.errors import SwecliError, UsageError


@subcommand
def _db(parser: Parser) -> None:
    """Show where the database is, check it for damage, and back it up."""
    parser.action("path", _path, "print where the database is")
    parser.action("check", _check, "check for damage; exit 1 if there is any")
    backup = parser.action(
        "backup", _backup, "make a consistent copy, also while the database is in use"
    )
    backup.add_argument(
        "to", nargs="?", default="", help="the copy's path (default: beside it, with the time)"
    )


def _path(args: argparse.Namespace) -> ActionResult:
    # late: --help and usage errors need no database
    from swecli.store.sqlite.files import locate

    location = configuration_of(args).database
    path = locate(location)
    place = str(path or location)
    return ActionResult({"path": place, "exists": bool(path and path.exists())}, (place,))


def _check(args: argparse.Namespace) -> ActionResult:
    with open_sessions(args) as sessions:
        database, place = (
            sessions.database,
            sessions.database.path or configuration_of(args).database,
        )
        problems = [*database.notices, *database.check()]
    return ActionResult(
        {"problems": problems}, tuple(problems) or (f"{place}: ok",), code=1 if problems else 0
    )


def _backup(args: argparse.Namespace) -> ActionResult:
    with open_sessions(args) as sessions:
        copy = sessions.database.backup(named_file(args, args.to) if args.to else None)
    return ActionResult({"backup": str(copy)}, (str(copy),))


@subcommand
def _sql(parser: Parser) -> None:
    """Query the database of sessions in SQL: read-only, through views whose names and columns are stable."""
    add = parser.add_argument
    add(
        "query", nargs="?", default="", metavar="QUERY", help="one SELECT (without: list the views)"
    )
    add(
        "--limit",
        type=positive_int,
        default=1_000,
        metavar="N",
        help="print at most N rows (default 1000)",
    )
    add(
        "--copy",
        metavar="FILE",
        help="copy the database and the views into FILE, for other programs",
    )
    parser.set_defaults(run=_run_query)


def _run_query(args: argparse.Namespace) -> ActionResult:
    # late: --help and usage errors need no database
    from swecli.actions.query import query
    from swecli.store.views import copy_with_views

    if args.copy and args.query:
        raise UsageError("--copy takes no query.", "Make the copy first, then ask.")
    with open_sessions(args) as sessions:
        if args.copy:
            copy = str(copy_with_views(sessions.database, named_file(args, args.copy)))
            return ActionResult({"copy": copy}, (copy,))
        found = query(sessions.database, args.query, args.limit)
    if found.note and args.json:
        sys.stderr.write(complaint(found.note, "") + "\n")
    return found


@subcommand
def _stats(parser: Parser) -> None:
    """Show tokens and cost of the last days by day, model, cause and tool."""
    parser.add_argument(
        "days",
        nargs="?",
        type=positive_int,
        default=30,
        metavar="DAYS",
        help="how many (default 30)",
    )
    parser.set_defaults(run=_show_stats)


def _show_stats(args: argparse.Namespace) -> ActionResult:
    # late: --help and usage errors need no database
    from swecli.actions.spending import format_stats

    with open_sessions(args) as sessions:
        return format_stats(sessions.database, args.days, shutil.get_terminal_size().columns)


@subcommand
def _report(parser: Parser) -> None:
    """Write the statistics of `swecli stats` as one HTML page."""
    parser.add_argument(
        "file", nargs="?", default="", metavar="FILE", help="default: swecli-report-DATE.html"
    )
    parser.add_argument(
        "--days", type=positive_int, default=30, metavar="N", help="how many (default 30)"
    )
    parser.set_defaults(run=_write_report)


def _write_report(args: argparse.Namespace) -> ActionResult:
    # late: --help and usage errors need neither database nor templates
    from swecli.pages.page import render_report, write_new_file
    from swecli.store.views import daily_spending

    today = date.today()
    with open_sessions(args) as sessions:
        found = daily_spending(sessions.database, args.days, today)
    path = named_file(args, args.file or f"swecli-report-{today}.html")
    write_new_file(path, render_report(found), "Name another file: swecli report FILE")
    return ActionResult({"file": str(path)} | found, (f"Written to {path}.",))


@subcommand
def _doctor(parser: Parser) -> None:
    """Check this installation, one line a check; exit 1 if something needs attention."""
    parser.set_defaults(run=_run_checks)


def _run_checks(args: argparse.Namespace) -> ActionResult:
    # late: --help needs neither models nor a database
    from swecli.actions.doctor import diagnose

    try:
        return diagnose(configuration_of(args))
    except SwecliError as error:
        return diagnose(error)


@subcommand
def _config(parser: Parser) -> None:
    """Show and change the settings, and where each value comes from."""
    get = parser.action("get", _get, "print one setting, or all of them")
    get.add_argument("name", nargs="?", metavar="NAME")
    get.add_argument("--origin", action="store_true", help="also show where each value comes from")
    change = parser.action("set", _set, "change one setting in your file")
    change.add_argument("name", metavar="NAME")
    change.add_argument(
        "value", nargs="*", metavar="VALUE", help="allow, ask and deny take several rules"
    )
    change.add_argument("--unset", action="store_true", help="remove the setting from your file")
    parser.action("path", _config_path, "print where your settings file is")
    parser.action("edit", _edit, "open your settings file in $VISUAL or $EDITOR")


def _settings_file(args: argparse.Namespace) -> Path:
    """Return the path of the user's settings file, without reading it, so that an invalid one can be repaired."""
    return process_folder() / args.config if args.config else Paths.find(os.environ).config_file


def _config_path(args: argparse.Namespace) -> ActionResult:
    path = _settings_file(args)
    return ActionResult({"path": str(path), "exists": path.is_file()}, (str(path),))


def _get(args: argparse.Namespace) -> ActionResult:
    return show_settings(configuration_of(args).settings, args.name or "", origin=args.origin)


def _set(args: argparse.Namespace) -> ActionResult:
    if args.unset == bool(args.value):
        raise UsageError(
            "Give a value, or --unset.", f"For example: swecli config set {args.name} VALUE"
        )
    return change_setting(_settings_file(args), args.name, args.value)


def _edit(args: argparse.Namespace) -> ActionResult:
    # late: imports prompt_toolkit
    from swecli.repl.input.keys import run_editor

    path = _settings_file(args)
    if not path.exists():
        write_settings(path, render_template())
    if code := run_editor(os.environ, path):
        raise SwecliError(f"The editor exited with code {code}.", f"The file is {path}.")
    load_settings(
        user_file=path, project_file=None, environ={}, flags={}
    )  # raises if it is invalid
    return ActionResult({"path": str(path)}, (f"{path}: ok",))
