"""The settings: what each is, and which layer said so."""

from __future__ import annotations

import argparse

from swecli.cli.admin import common, say, say_json, settings_of, table
from swecli.config.settings import described
from swecli.models.errors import BadInput


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Actions and their arguments."""
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    get = actions.add_parser("get", help="one setting, or all of them")
    get.add_argument("name", nargs="?")
    get.add_argument("--origin", action="store_true", help="also say which layer won")
    actions.add_parser("path", help="print where the settings file is")
    for action in actions.choices.values():
        common(action)


def run(args: argparse.Namespace) -> int:
    """Do it. Raises BadInput for an unknown setting."""
    settings, paths = settings_of(args)
    if args.action == "path":
        say_json({"path": str(paths.config_file)}) if args.json else say(str(paths.config_file))
        return 0
    names = [row[0] for row in described()]
    if args.name and args.name not in names:
        raise BadInput(f"there is no setting {args.name!r}", f"There are: {', '.join(names)}")
    rows = [
        (name, _plain(getattr(settings, name)), settings.origins.get(name, "default"))
        for name in names
        if args.name in (None, name)
    ]
    if args.json:
        say_json({name: {"value": value, "origin": origin} for name, value, origin in rows})
    elif args.name and not args.origin:
        say(str(rows[0][1]))
    else:
        table([(name, origin, value) for name, value, origin in rows], ("setting", "from", "value"))
    return 0


def _plain(value: object) -> object:
    return list(value) if isinstance(value, tuple) else value if isinstance(value, (bool, int, float)) else str(value)
