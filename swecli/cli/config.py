"""The settings: what each is, which layer it comes from, and how to change them."""

from __future__ import annotations

import argparse
import os
import shlex
import subprocess
from pathlib import Path
from typing import Any

from swecli.cli.subcommands import Actions, configuration_of
from swecli.config.edit import from_words, set_in, template, toml_value, unset_in, write_settings
from swecli.config.load import load_settings, read_toml
from swecli.config.paths import find_paths
from swecli.config.settings import SETTINGS, unknown_setting
from swecli.models.errors import BadInput, ConfigError, SwecliError, UsageError
from swecli.models.window import WindowSpec
from swecli.playbook.action import ActionResult

_SET_EDITOR = "Set EDITOR to one of yours."


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Actions and their arguments."""
    actions = Actions(parser)
    get = actions.add("get", _get, "print one setting, or all of them")
    get.add_argument("name", nargs="?", metavar="NAME")
    get.add_argument("--origin", action="store_true", help="also show where each value comes from")
    change = actions.add("set", _set, "change one setting in your file")
    change.add_argument("name", metavar="NAME")
    change.add_argument("value", nargs="*", metavar="VALUE", help="allow, ask and deny take several rules")
    change.add_argument("--unset", action="store_true", help="remove the setting from your file")
    actions.add("path", _path, "print where your settings file is")
    actions.add("edit", _edit, "open your settings file in $VISUAL or $EDITOR")


def _settings_file(args: argparse.Namespace) -> Path:
    """The user's settings file; unlike `configuration_of` this does not read it, so that a broken one can be mended."""
    return Path(args.config).absolute() if args.config else find_paths(os.environ).config_file


def _path(args: argparse.Namespace) -> ActionResult:
    path = _settings_file(args)
    return ActionResult({"path": str(path), "exists": path.is_file()}, (str(path),))


def _get(args: argparse.Namespace) -> ActionResult:
    if args.name and args.name not in SETTINGS:
        raise unknown_setting(args.name)
    settings = configuration_of(args).settings
    wanted = [args.name] if args.name else list(SETTINGS)
    values = {name: getattr(settings, name) for name in wanted}
    origins = {name: settings.origins.get(name, "default") for name in wanted}
    plain = {name: {"value": _plain(value), "origin": origins[name]} for name, value in values.items()}
    if args.name and not args.origin:
        value = values[args.name]
        return ActionResult(plain, (value if isinstance(value, str) else _shown(value),))
    rows = tuple((name, *([origins[name]] if args.origin else []), _shown(value)) for name, value in values.items())
    return ActionResult(plain, head=("setting", "from", "value") if args.origin else ("setting", "value"), rows=rows)


def _shown(value: Any) -> str:
    return "" if value is None else toml_value(value)


def _plain(value: Any) -> Any:
    if isinstance(value, WindowSpec):
        return str(value)
    return [str(one) for one in value] if isinstance(value, tuple) else value


def _set(args: argparse.Namespace) -> ActionResult:
    if args.unset == bool(args.value):
        raise UsageError("Give a value, or --unset.", f"For example: swecli config set {args.name} VALUE")
    path = _settings_file(args)
    if args.unset:
        if args.name not in SETTINGS:
            raise unknown_setting(args.name)
        changed = unset_in(_text(path), args.name)
    else:
        value = from_words(args.name, args.value)
        if args.name in ("allow", "ask", "deny"):
            # late: the other settings do not need the tools
            from swecli.tools.permissions import PermissionRule  # noqa: PLC0415

            for rule in value:
                PermissionRule.parse(rule)
        changed = set_in(_text(path), args.name, value)
    _write(path, changed)
    done = "is no longer set" if args.unset else f"= {_shown(value)}"
    return ActionResult({"path": str(path), "name": args.name}, (f"{args.name} {done} in {path}",))


def _text(path: Path) -> str:
    read_toml(path)  # says what is wrong with it
    return path.read_bytes().decode("utf-8-sig") if path.exists() else ""


def _write(path: Path, text: str) -> None:
    try:
        write_settings(path, text)
    except OSError as error:
        raise ConfigError(
            f"{path} cannot be written: {error.strerror}.", "Check its permissions, or set SWECLI_HOME."
        ) from error


def _edit(args: argparse.Namespace) -> ActionResult:
    # late: the prompt's keys, for the editor that they would open
    from swecli.repl.input.keys import editor  # noqa: PLC0415

    path = _settings_file(args)
    try:
        command = shlex.split(editor(os.environ) or "")
    except ValueError as error:
        raise BadInput(f"$VISUAL or $EDITOR cannot be read: {error}.", _SET_EDITOR) from error
    if not command:
        raise BadInput("No editor was found.", _SET_EDITOR)
    if not path.exists():
        _write(path, template())
    try:
        done = subprocess.run([*command, str(path)], check=False)
    except OSError as error:
        raise BadInput(f"The editor {command[0]!r} cannot be started: {error.strerror}.", _SET_EDITOR) from error
    if done.returncode:
        raise SwecliError(f"The editor exited with code {done.returncode}.", f"The file is {path}.")
    load_settings(user_file=path, project_file=None, environ={}, flags={})  # raises what is wrong with it now
    return ActionResult({"path": str(path)}, (f"{path}: ok",))
