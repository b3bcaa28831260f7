"""Prepare a run: folder, configuration, model and log, before anything heavy is imported."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from swecli.cli.logs import log_to
from swecli.cli.workspace import process_folder, require_workspace, working_folder
from swecli.config.configuration import read_configuration
from swecli.config.paths import Paths, project_root
from swecli.config.settings import SETTINGS, Start
from swecli.llm.choosing import choose_model
from swecli.llm.price_table import prepare_environment
from swecli.llm.services import DEMO
from swecli.models.errors import BadInput, StoreError


def make_start(args: argparse.Namespace) -> Start:
    """Return the configuration of a run or of a subcommand that runs turns. Raises ConfigError, UsageError, BadInput,
    NoModel, StoreError."""
    values = vars(args)  # a subcommand has only some of them
    attended = values.get("headless") is False  # a subcommand has nobody to ask
    prompt = values.get("prompt", "")
    _require_utf8(prompt)
    folder = working_folder(args.cwd)
    workspace = project_root(folder) if values.get("whole_project") else folder
    require_workspace(workspace, allow_home=values.get("allow_home", False))
    flags = {name: values.get(name) for name in SETTINGS}
    configured = configure(args, folder, flags, everything=values.get("trust", False))
    make_folders(configured.paths)
    log_to(configured.paths.log, configured.settings.log)
    choice = choose_model(configured.settings, os.environ, or_demo=attended)
    resume = values.get("resume")
    session = "" if values.get("continue_last") else resume or None
    return replace(
        configured,
        choice=choice,
        resume=session,
        pick=resume == "",
        attended=attended,
        prompt=prompt,
        add_dirs=tuple(_absolute(text) for text in values.get("add_dir", ())),
    )


def _absolute(text: str) -> str:
    """Return the path of a flag, which is relative to where the user is, not to the folder of `-C`."""
    return text if text.startswith(("/", "~")) or not text else f"{process_folder()}/{text}"


def offer_model(start: Start) -> Start:
    """Let the first start that found no model ask for one, with a notice about the tutorial."""
    is_first = not start.paths.database.exists()
    if start.choice.name != DEMO or start.settings.model or not is_first:
        return start
    # late: only a first start without a model offers it
    from swecli.config.own_command import own_command

    command = own_command(sys.argv[0], process_folder(), start.environ.get("PATH"))
    offer = f"`{command} tutorial` shows swecli in ten minutes, without a model"
    return replace(start, notices=(*start.notices, offer), asks_for_model=not start.prompt)


def configure(
    args: argparse.Namespace, folder: Path, flags: Mapping[str, Any], *, everything: bool = False
) -> Start:
    """Return the configuration of work in `folder` with the environment of this process. Raises ConfigError,
    BadInput."""
    prepare_environment(os.environ)
    config = process_folder() / args.config if args.config else None
    return read_configuration(folder, os.environ, flags, config=config, everything=everything)


def make_folders(paths: Paths) -> None:
    """Create the program's directories. Raises StoreError."""
    try:
        paths.ensure()
    except OSError as error:
        raise StoreError(
            f"The folder {error.filename} cannot be created: {error.strerror}.",
            "Set SWECLI_HOME to a folder you can write to.",
        ) from error


def _require_utf8(prompt: str) -> None:
    """Raise BadInput for undecodable bytes of an argument, which would be sent as something else."""
    try:
        prompt.encode("utf-8")
    except UnicodeEncodeError as error:
        raise BadInput(
            "The prompt is not UTF-8 text.", "Set the terminal to UTF-8, or pipe the text in."
        ) from error
