"""What only `swecli config` does: open the settings file in an editor."""

from __future__ import annotations

import argparse
import os

from swecli.actions.builtin.config import shell_family
from swecli.actions.settings import write_settings
from swecli.cli.actions import add_actions, find_settings_file
from swecli.cli.flags import Parser, subcommand
from swecli.config.settings import load_settings, render_template
from swecli.models.action import ActionResult
from swecli.models.errors import SwecliError


@subcommand
def _config(parser: Parser) -> None:
    """Add the actions on the settings, and the editor."""
    add_actions(parser, shell_family)
    parser.action("edit", _edit, "open your settings file in $VISUAL or $EDITOR")


def _edit(args: argparse.Namespace) -> ActionResult:
    # late: imports prompt_toolkit
    from swecli.repl.input.editor import run_editor

    path = find_settings_file(args)
    if not path.exists():
        write_settings(path, render_template())
    if code := run_editor(os.environ, path):
        raise SwecliError(f"The editor exited with code {code}.", f"The file is {path}.")
    load_settings(
        user_file=path, project_file=None, environ={}, flags={}
    )  # raises if it is invalid
    return ActionResult({"path": str(path)}, (f"{path}: ok",))
