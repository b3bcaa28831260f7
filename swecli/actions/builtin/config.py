"""`/config` and `swecli config`: show and change the settings, and where each value comes from."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from swecli.config.settings import SETTINGS, Start
from swecli.models.action import Action, ActionResult, Family, Flag, Invocation, Need, Words
from swecli.models.errors import UsageError


@Action(
    Need.SETTINGS,
    Words("[NAME]", count="?"),
    (Flag("--origin", "also show where each value comes from"),),
    in_session=False,
)
def get(start: Start, invocation: Invocation) -> ActionResult:
    """Print one setting, or all of them"""
    # late: not needed to declare an action
    from swecli.actions.settings import show_settings

    return show_settings(start.settings, invocation.text, origin="--origin" in invocation.flags)


@Action(
    Need.SETTINGS_FILE,
    Words("NAME [VALUE ...]", "allow, ask and deny take several rules"),
    (Flag("--unset", "remove the setting from your file"),),
    in_session=False,
)
def set_(file: Path, invocation: Invocation) -> ActionResult:
    """Change one setting in your file"""
    # late: as above
    from swecli.actions.settings import change_setting

    name, *values = invocation.words or ("NAME",)
    if not invocation.words or ("--unset" in invocation.flags) == bool(values):
        raise UsageError(
            "Give a value, or --unset.", f"For example: swecli config set {name} VALUE"
        )
    return change_setting(file, name, values)


@Action(Need.SETTINGS_FILE, in_session=False)
def path(file: Path, invocation: Invocation) -> ActionResult:
    """Print where your settings file is"""
    return ActionResult({"path": str(file), "exists": file.is_file()}, (str(file),))


@Action(Need.SETTINGS_FILE, in_session=False)
def edit(file: Path, invocation: Invocation) -> ActionResult:
    """Open your settings file in $VISUAL or $EDITOR"""
    # late: as above
    from swecli.actions.settings import edit_settings

    return edit_settings(file)


shell_family = Family(
    "config",
    "Show and change the settings, and where each value comes from",
    (get, set_, path, edit),
    default="get",
)


@Action(
    Need.SETTINGS,
    Words("[NAME [VALUE]]", is_quoted=True),
    complete=lambda runtime: [(setting.name, setting.doc) for setting in SETTINGS.values()],
    in_shell=False,
    during_turn=True,
)
def config(start: Start, invocation: Invocation) -> ActionResult:
    """Show the settings and where each comes from, or set one from the next start on"""
    # late: as above
    from swecli.actions.settings import change_setting, show_settings

    name, *values = invocation.words or ("",)
    if not values:
        result = show_settings(start.settings, name, origin=True)
        hint = "/config NAME VALUE sets one in your file · swecli config edit opens it"
        return replace(result, note=hint)
    result = change_setting(start.settings_file, name, values)
    layer = start.settings.origins.get(name, "")
    stronger = f"; {layer} wins where it is set" if layer in ("environment", "flags") else ""
    return replace(result, note=f"from the next start on{stronger}")
