"""`swecli config`: show and change settings."""

from __future__ import annotations

import argparse
import os
import subprocess
from pathlib import Path

from swecli.cli.flags import Parser
from swecli.cli.subcommands import configuration_of
from swecli.config.edit import render_template
from swecli.config.paths import find_paths
from swecli.config.settings import load_settings
from swecli.models.errors import BadInput, SwecliError, UsageError
from swecli.playbook.action import ActionResult
from swecli.repl.actions.settings import change_setting, show_settings, write_settings


def config(parser: Parser) -> None:
    """Show and change the settings, and where each value comes from."""
    get = parser.action("get", _get, "print one setting, or all of them")
    get.add_argument("name", nargs="?", metavar="NAME")
    get.add_argument("--origin", action="store_true", help="also show where each value comes from")
    change = parser.action("set", _set, "change one setting in your file")
    change.add_argument("name", metavar="NAME")
    change.add_argument("value", nargs="*", metavar="VALUE", help="allow, ask and deny take several rules")
    change.add_argument("--unset", action="store_true", help="remove the setting from your file")
    parser.action("path", _path, "print where your settings file is")
    parser.action("edit", _edit, "open your settings file in $VISUAL or $EDITOR")


def _settings_file(args: argparse.Namespace) -> Path:
    """Return the path of the user's settings file, without reading it, so that an invalid one can be repaired."""
    return Path(args.config).absolute() if args.config else find_paths(os.environ).config_file


def _path(args: argparse.Namespace) -> ActionResult:
    path = _settings_file(args)
    return ActionResult({"path": str(path), "exists": path.is_file()}, (str(path),))


def _get(args: argparse.Namespace) -> ActionResult:
    return show_settings(configuration_of(args).settings, args.name or "", origin=args.origin)


def _set(args: argparse.Namespace) -> ActionResult:
    if args.unset == bool(args.value):
        raise UsageError("Give a value, or --unset.", f"For example: swecli config set {args.name} VALUE")
    return change_setting(_settings_file(args), args.name, args.value)


def _edit(args: argparse.Namespace) -> ActionResult:
    # late: imports prompt_toolkit
    from swecli.repl.input.keys import editor_command  # noqa: PLC0415

    path, command = _settings_file(args), editor_command(os.environ)
    if not path.exists():
        write_settings(path, render_template())
    try:
        done = subprocess.run([*command, str(path)], check=False)
    except OSError as error:
        raise BadInput(f"The editor {command[0]!r} cannot be started: {error.strerror}.", "Set EDITOR.") from error
    if done.returncode:
        raise SwecliError(f"The editor exited with code {done.returncode}.", f"The file is {path}.")
    load_settings(user_file=path, project_file=None, environ={}, flags={})  # raises if it is invalid
    return ActionResult({"path": str(path)}, (f"{path}: ok",))
