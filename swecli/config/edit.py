"""The user's settings file, changed one setting at a time: comments, order and everything else stay as they are."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from swecli.config.settings import SETTINGS, unknown_setting
from swecli.models.errors import ConfigError
from swecli.models.window import WindowSpec

if TYPE_CHECKING:
    from tomlkit import TOMLDocument

_HEAD = "# Settings of swecli. `swecli config get --origin` shows each value and where it comes from.\n"


def set_in(text: str, name: str, value: Any) -> str:
    """The text of a settings file with one setting changed, or added; `value` as the setting's parser gives it.

    Comments inside a list that is replaced go with it; a comment behind the value stays. Raises ConfigError for a
    text that is not TOML.
    """
    document = _parsed(text)
    document[name] = _plain(value)
    changed = document.as_string()
    if 0 < text.count("\n") == text.count("\r\n"):
        changed = changed.replace("\r\n", "\n").replace("\n", "\r\n")
    return changed


def unset_in(text: str, name: str) -> str:
    """The text of a settings file without that setting; the same text where it is not set. Raises ConfigError."""
    document = _parsed(text)
    document.pop(name, None)
    return document.as_string()


def from_words(name: str, words: list[str]) -> Any:
    """A setting's value out of the words of a command line: rules may be several. Raises ConfigError."""
    if (setting := SETTINGS.get(name)) is None:
        raise unknown_setting(name)
    listed = isinstance(setting.default, tuple)
    if not listed and len(words) != 1:
        raise ConfigError(f"{name} takes one value, not {len(words)}.", "Put it in quotes if it holds spaces.")
    try:
        return setting.parse(words if listed else words[0])
    except ValueError as error:
        raise ConfigError(f"{name}: {error}.") from error


def toml_value(value: Any) -> str:
    """A setting's value as TOML writes it."""
    # late: 30 ms that only a change of the settings needs
    from tomlkit import item  # noqa: PLC0415

    return str(item(_plain(value)).as_string())


def template() -> str:
    """A settings file that sets nothing and names everything."""
    rows = [f"# {s.doc}\n# {s.name} = {toml_value(1 if s.default is None else s.default)}\n" for s in SETTINGS.values()]
    return "\n".join([_HEAD, *rows])


def write_settings(path: Path, text: str) -> None:
    """Put the text in the file's place in one step, for this user alone where it is new; a link stays one.

    Raises OSError.
    """
    target = path.resolve()
    target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    mode = target.stat().st_mode & 0o777 if target.exists() else 0o600
    beside = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        new = os.open(beside, os.O_CREAT | os.O_EXCL | os.O_WRONLY, mode)
        with os.fdopen(new, "w", encoding="utf-8", newline="") as f:
            f.write(text)
            f.flush()
            os.fsync(f.fileno())
        beside.replace(target)
    finally:
        beside.unlink(missing_ok=True)


def _plain(value: Any) -> Any:
    """A value as TOML has it; of a model's table its name."""
    if isinstance(value, WindowSpec):
        return int(str(value)) if str(value).isdecimal() else str(value)
    return [str(one) for one in value] if isinstance(value, tuple) else value


def _parsed(text: str) -> TOMLDocument:
    # late: 30 ms that only a change of the settings needs
    import tomlkit  # noqa: PLC0415
    from tomlkit.exceptions import TOMLKitError  # noqa: PLC0415

    try:
        return tomlkit.parse(text)
    except TOMLKitError as error:
        problem = f"The settings file is not valid TOML: {error}"
        raise ConfigError(problem, "Correct it with `swecli config edit`.") from error
