"""Edit a settings file one entry at a time: comments and everything else in it stay as they are."""

from __future__ import annotations

from typing import Any

from swecli.config.paths import format_toml
from swecli.config.settings import SETTINGS
from swecli.models.errors import ConfigError

_HEAD = "# Settings of swecli. `swecli config get --origin` shows each value and where it comes from.\n"


def edit_setting(text: str, name: str, value: Any) -> str:
    """Return the text of a settings file with one setting changed, or removed if `value` is None. Comments stay, except
    inside a replaced list. Raises ConfigError if the text is not TOML."""
    # late: 30 ms, only needed to write a file
    import tomlkit  # noqa: PLC0415
    from tomlkit.exceptions import TOMLKitError  # noqa: PLC0415

    try:
        document = tomlkit.parse(text)
    except TOMLKitError as error:
        problem = f"The settings file is not valid TOML: {error}"
        raise ConfigError(problem, "Correct it with `swecli config edit`.") from error
    if value is None:
        document.pop(name, None)
    else:
        document[name] = tomlkit.value(format_toml(value))
    changed = document.as_string()
    if 0 < text.count("\n") == text.count("\r\n"):
        changed = changed.replace("\r\n", "\n").replace("\n", "\r\n")
    return changed


def render_template() -> str:
    """Return a settings file that lists every setting with its default, commented out."""
    rows = [
        f"# {s.doc}\n# {s.name} = {format_toml(1 if s.default is None else s.default)}\n" for s in SETTINGS.values()
    ]
    return "\n".join([_HEAD, *rows])
