"""Show the settings with their origins, and change the user's file."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from swecli.actions.editor import run_editor
from swecli.config.private_files import write_file
from swecli.config.settings import (
    SETTINGS,
    Settings,
    load_settings,
    render_template,
    unknown_setting,
)
from swecli.config.toml_files import edit_setting, format_toml, read_toml
from swecli.models.action import ActionResult
from swecli.models.errors import ConfigError, SwecliError
from swecli.models.window_spec import WindowSpec


def show_settings(settings: Settings, name: str = "", *, origin: bool = False) -> ActionResult:
    """Show one setting or all of them; with `origin` also the layer of each. Raises ConfigError."""
    if name and name not in SETTINGS:
        raise unknown_setting(name)
    plain = {}
    rows: list[tuple[str, ...]] = []
    for setting in [name] if name else SETTINGS:
        value = getattr(settings, setting)
        layer = settings.origins.get(setting, "default")
        plain[setting] = {"value": _to_json(value), "origin": layer}
        if name and not origin:
            text = value if isinstance(value, str) else _format_value(value)
            return ActionResult(plain, (text,))
        layers = (layer,) if origin else ()
        rows.append((setting, *layers, _format_value(value)))
    head = ("setting", "from", "value") if origin else ("setting", "value")
    return ActionResult(plain, head=head, rows=tuple(rows))


def change_setting(path: Path, name: str, words: Sequence[str]) -> ActionResult:
    """Set a setting in this file to the value of the words, or unset it without words. Raises ConfigError."""
    if name not in SETTINGS:
        raise unknown_setting(name)
    read_toml(path)  # raises if it is invalid
    text = path.read_bytes().decode("utf-8-sig") if path.exists() else ""
    value = _parse(name, words)
    write_settings(path, edit_setting(text, name, value))
    change = "is no longer set" if value is None else f"= {_format_value(value)}"
    return ActionResult({"path": str(path), "name": name}, (f"{name} {change} in {path}",))


def edit_settings(path: Path) -> ActionResult:
    """Open the settings file in the user's editor, and check it then; one with all settings is written if there is
    none. Raises ConfigError for what is wrong in it, SwecliError if the editor fails."""
    if not path.exists():
        write_settings(path, render_template())
    # reads the environment: a settings file that cannot be read is edited too, so there is no `Start` that has it
    if code := run_editor(os.environ, path):
        raise SwecliError(f"The editor exited with code {code}.", f"The file is {path}.")
    load_settings(user_file=path, project_file=None, environ={}, flags={})
    return ActionResult({"path": str(path)}, (f"{path}: ok",))


def write_settings(path: Path, text: str) -> None:
    """Write the settings file. Raises ConfigError."""
    try:
        write_file(path, text)
    except OSError as error:
        raise ConfigError(
            f"{path} cannot be written: {error.strerror}.",
            "Check its permissions, or set SWECLI_HOME.",
        ) from error


def _parse(name: str, words: Sequence[str]) -> Any:
    """Return the value that the words are for a setting; None if there are none. Raises ConfigError."""
    value = SETTINGS[name].parse_words(list(words)) if words else None
    if value and name in ("allow", "ask", "deny"):
        # late: only these settings need the tools
        from swecli.tools.permission_rules import PermissionRule

        for rule in value:
            PermissionRule.parse(rule)
    return value


def _format_value(value: Any) -> str:
    return "" if value is None else format_toml(value)


def _to_json(value: Any) -> Any:
    if isinstance(value, WindowSpec):
        return str(value)
    return [str(item) for item in value] if isinstance(value, tuple) else value
