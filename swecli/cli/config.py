"""`swecli config`: show and change the settings, and where each value comes from."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from swecli.actions.settings import change_setting, show_settings, write_settings
from swecli.cli.flags import Parser, subcommand
from swecli.cli.subcommands import configuration_of
from swecli.cli.workspace import process_folder
from swecli.config.paths import Paths
from swecli.config.settings import load_settings, render_template
from swecli.models.action import ActionResult
from swecli.models.errors import SwecliError, UsageError


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
