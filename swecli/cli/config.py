"""The settings: what each is, which layer said so, and how to change them."""

from __future__ import annotations

import argparse
import os
import shlex
import shutil
import subprocess
from pathlib import Path
from typing import Any

from swecli.cli.subcommands import common, ground_of, say, table, tell
from swecli.config.edit import from_words, set_in, template, toml_value, unset_in, write_settings
from swecli.config.load import load_settings, read_toml
from swecli.config.paths import find_paths
from swecli.config.settings import SETTINGS, unknown_setting
from swecli.models.errors import BadInput, ConfigError, SwecliError, UsageError
from swecli.models.window import WindowSpec


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Actions and their arguments."""
    actions = parser.add_subparsers(dest="action", required=True, metavar="get|set|path|edit")
    get = actions.add_parser("get", help="one setting, or all of them")
    get.add_argument("name", nargs="?", metavar="NAME")
    get.add_argument("--origin", action="store_true", help="also say which layer won")
    change = actions.add_parser("set", help="change one setting in your file; rules may be several")
    change.add_argument("name", metavar="NAME")
    change.add_argument("value", nargs="*", metavar="VALUE")
    change.add_argument("--unset", action="store_true", help="take the setting out of your file")
    actions.add_parser("path", help="print where your settings file is")
    actions.add_parser("edit", help="open your settings file in $VISUAL or $EDITOR")
    for action in actions.choices.values():
        common(action)


def run(args: argparse.Namespace) -> int:
    """Do it. Raises SwecliError."""
    return ACTIONS[args.action](args)


def settings_file(args: argparse.Namespace) -> Path:
    """The user's settings file; unlike `ground_of` this does not read it, so that a broken one can be mended."""
    return Path(args.config).absolute() if args.config else find_paths(os.environ).config_file


def _path(args: argparse.Namespace) -> int:
    path = settings_file(args)
    return tell(args, {"path": str(path), "exists": path.is_file()}, str(path))


def _get(args: argparse.Namespace) -> int:
    if args.name and args.name not in SETTINGS:
        raise unknown_setting(args.name)
    settings = ground_of(args).settings
    wanted = [args.name] if args.name else list(SETTINGS)
    values = {name: getattr(settings, name) for name in wanted}
    origins = {name: settings.origins.get(name, "default") for name in wanted}
    if args.json:
        rows = {name: {"value": _plain(value), "origin": origins[name]} for name, value in values.items()}
        return tell(args, rows, "")
    if args.name and not args.origin:
        value = values[args.name]
        say(value if isinstance(value, str) else _shown(value))
        return 0
    columns = ("setting", "from", "value") if args.origin else ("setting", "value")
    table([(n, *([origins[n]] if args.origin else []), _shown(v)) for n, v in values.items()], columns)
    return 0


def _shown(value: Any) -> str:
    return "" if value is None else toml_value(value)


def _plain(value: Any) -> Any:
    return str(value) if isinstance(value, WindowSpec) else value


def _set(args: argparse.Namespace) -> int:
    if args.unset == bool(args.value):
        raise UsageError("Give a value, or --unset.", f"For example: swecli config set {args.name} VALUE")
    path = settings_file(args)
    if args.unset:
        if args.name not in SETTINGS:
            raise unknown_setting(args.name)
        changed = unset_in(_text(path), args.name)
    else:
        value = from_words(args.name, args.value)
        if args.name in ("allow", "ask", "deny"):
            _check_rules(value)
        changed = set_in(_text(path), args.name, value)
    _write(path, changed)
    done = "is no longer set" if args.unset else f"= {_shown(value)}"
    return tell(args, {"path": str(path), "name": args.name}, f"{args.name} {done} in {path}")


def _check_rules(rules: tuple[str, ...]) -> None:
    # late: the other settings do not need the tools
    from swecli.tools.permissions import Rule  # noqa: PLC0415

    for rule in rules:
        Rule.parse(rule)


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


def _edit(args: argparse.Namespace) -> int:
    path = settings_file(args)
    command = _editor()
    if not path.exists():
        _write(path, template())
    try:
        done = subprocess.run([*command, str(path)], check=False)
    except OSError as error:
        raise BadInput(f"The editor {command[0]!r} cannot be started: {error.strerror}.", _SET_EDITOR) from error
    if done.returncode:
        raise SwecliError(f"The editor ended with {done.returncode}.", f"The file is {path}.")
    load_settings(user_file=path, project_file=None, environ={}, flags={})  # raises what is wrong with it now
    return tell(args, {"path": str(path)}, f"{path}: in order")


_SET_EDITOR = "Set EDITOR to one of yours."


def _editor() -> list[str]:
    """The words that start the user's editor. Raises BadInput."""
    try:
        command = shlex.split(os.environ.get("VISUAL") or os.environ.get("EDITOR") or "")
    except ValueError as error:
        raise BadInput(f"The name of the editor cannot be read: {error}.", _SET_EDITOR) from error
    return command or _usual_editor()


def _usual_editor() -> list[str]:
    found = next((path for name in ("editor", "nano", "vi") if (path := shutil.which(name))), None)
    if found is None:
        raise BadInput("No editor was found.", _SET_EDITOR)
    return [found]


ACTIONS = {"get": _get, "set": _set, "path": _path, "edit": _edit}
