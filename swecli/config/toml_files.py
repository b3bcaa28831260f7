"""Read settings files, and change one setting in the text of one."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from swecli.models.errors import ConfigError
from swecli.regular_files import read_regular


def read_toml(path: Path, *, must_exist: bool = False) -> dict[str, Any]:
    """Parse a TOML file; a missing file gives {} unless `must_exist`. Raises ConfigError."""
    try:
        # a file that the user named may be a pipe or /dev/null
        data = path.read_bytes() if must_exist else read_regular(path)
        text = data.decode("utf-8-sig")  # Windows editors begin a file with a byte order mark
    except UnicodeDecodeError as error:
        raise _invalid_toml(path, error) from error
    except (FileNotFoundError, NotADirectoryError) as error:
        if must_exist:
            raise ConfigError(
                f"There is no settings file {path}.", "Check the path, or leave out --config."
            ) from error
        return {}
    except OSError as error:
        raise ConfigError(
            f"{path} cannot be read: {error.strerror}.",
            "Check the path and its permissions, or name another with --config.",
        ) from error
    return parse_toml(text, path)


def parse_toml(text: str, path: Path) -> dict[str, Any]:
    """Parse the text of a TOML file; the path is only named. Raises ConfigError."""
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # also a number of 5,000 digits, deep nesting
        raise _invalid_toml(path, error) from error


def _invalid_toml(path: Path, error: Exception) -> ConfigError:
    return ConfigError(f"{path} is not valid TOML: {error}", "Correct the file or move it away.")


def edit_setting(text: str, name: str, value: Any) -> str:
    """Return the text of a settings file with one setting changed, or removed if `value` is None. Comments stay, except
    inside a replaced list. Raises ConfigError if the text is not TOML."""
    # late: 30 ms, only needed to write a file
    import tomlkit
    from tomlkit.exceptions import TOMLKitError

    try:
        document = tomlkit.parse(text)
    except TOMLKitError as error:
        problem = f"The settings file is not valid TOML: {error}"
        raise ConfigError(problem, "Correct it with `swecli config edit`.") from error
    if value is None:
        document.pop(name, None)
    else:
        document[name] = tomlkit.value(format_toml(value))
    changed_text = document.as_string()
    has_windows_lines = 0 < text.count("\n") == text.count("\r\n")
    if has_windows_lines:
        changed_text = changed_text.replace("\r\n", "\n").replace("\n", "\r\n")
    return changed_text


def format_toml(value: Any) -> str:
    """Return a setting's value as it is written in a TOML file."""
    # late: 30 ms, only needed to write a file
    from tomlkit import item

    return str(item(_plain_toml(value)).as_string())


def _plain_toml(value: Any) -> Any:
    """Convert a setting's value to a TOML value; a model table becomes its name."""
    if isinstance(value, tuple):
        return [str(item) for item in value]
    if isinstance(value, bool | int | float | str):
        return value
    text = str(value)
    return int(text) if text.isdecimal() else text
