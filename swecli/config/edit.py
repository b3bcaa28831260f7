"""Edit a settings file one entry at a time: comments and everything else in it stay as they are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from swecli.config.paths import format_toml, plain_toml
from swecli.config.settings import SETTINGS, unknown_setting
from swecli.models.errors import ConfigError

if TYPE_CHECKING:
    from tomlkit import TOMLDocument

_HEAD = "# Settings of swecli. `swecli config get --origin` shows each value and where it comes from.\n"


def set_value(text: str, name: str, value: Any) -> str:
    """Return the text of a settings file with one setting set. Comments stay, except inside a replaced list. Raises
    ConfigError if the text is not TOML."""
    document = _document(text)
    document[name] = plain_toml(value)
    changed = document.as_string()
    if 0 < text.count("\n") == text.count("\r\n"):
        changed = changed.replace("\r\n", "\n").replace("\n", "\r\n")
    return changed


def unset_value(text: str, name: str) -> str:
    """Return the text of a settings file without one setting. Raises ConfigError if the text is not TOML."""
    document = _document(text)
    document.pop(name, None)
    return document.as_string()


def parse_words(name: str, words: list[str]) -> Any:
    """Parse a setting's value from the words of a command line; list settings take several. Raises ConfigError."""
    if (setting := SETTINGS.get(name)) is None:
        raise unknown_setting(name)
    is_list = isinstance(setting.default, tuple)
    if not is_list and len(words) != 1:
        raise ConfigError(f"{name} takes one value, not {len(words)}.", "Put it in quotes if it holds spaces.")
    try:
        return setting.parse(words if is_list else words[0])
    except ValueError as error:
        raise ConfigError(f"{name}: {error}.") from error


def render_template() -> str:
    """Return a settings file that lists every setting with its default, commented out."""
    rows = [
        f"# {s.doc}\n# {s.name} = {format_toml(1 if s.default is None else s.default)}\n" for s in SETTINGS.values()
    ]
    return "\n".join([_HEAD, *rows])


def _document(text: str) -> TOMLDocument:
    # late: 30 ms, only needed to write a file
    import tomlkit  # noqa: PLC0415
    from tomlkit.exceptions import TOMLKitError  # noqa: PLC0415

    try:
        return tomlkit.parse(text)
    except TOMLKitError as error:
        problem = f"The settings file is not valid TOML: {error}"
        raise ConfigError(problem, "Correct it with `swecli config edit`.") from error
