"""The files a user's settings and permission rules are kept in, changed one entry at a time. Comments, order and
everything else of the settings stay as they are."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from swecli.config.load import read_toml
from swecli.config.paths import write_file
from swecli.config.settings import SETTINGS, unknown_setting
from swecli.models.errors import ConfigError

if TYPE_CHECKING:
    from tomlkit import TOMLDocument

_HEAD = "# Settings of swecli. `swecli config get --origin` shows each value and where it comes from.\n"


def set_in(text: str, name: str, value: Any) -> str:
    """The text of a settings file with one setting changed, or added; a comment behind the value stays, those inside a
    list that is replaced go with it. Raises ConfigError for a text that is not TOML."""
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
    # late: 30 ms that only a change of the settings needs
    from tomlkit import item  # noqa: PLC0415

    return str(item(_plain(value)).as_string())


def template() -> str:
    """A settings file that sets nothing and names everything."""
    rows = [f"# {s.doc}\n# {s.name} = {toml_value(1 if s.default is None else s.default)}\n" for s in SETTINGS.values()]
    return "\n".join([_HEAD, *rows])


def _plain(value: Any) -> Any:
    """A value as TOML has it; of a model's table its name."""
    if isinstance(value, tuple):
        return [str(one) for one in value]
    if isinstance(value, bool | int | float | str):
        return value
    return int(str(value)) if str(value).isdecimal() else str(value)


def _parsed(text: str) -> TOMLDocument:
    # late: 30 ms that only a change of the settings needs
    import tomlkit  # noqa: PLC0415
    from tomlkit.exceptions import TOMLKitError  # noqa: PLC0415

    try:
        return tomlkit.parse(text)
    except TOMLKitError as error:
        problem = f"The settings file is not valid TOML: {error}"
        raise ConfigError(problem, "Correct it with `swecli config edit`.") from error


_RULES_HEAD = "# Permission rules you allowed for a folder. /permissions lists and removes them.\n"


class ProjectRules:
    """The permission rules saved for one folder. `file` holds those of all folders; `rules` are this one's texts.
    Raises ConfigError for a file that cannot be read or is none of ours."""

    def __init__(self, file: Path, folder: Path) -> None:
        self.file, self._folder = file, str(folder.resolve())
        self.rules: tuple[str, ...] = self._read().get(self._folder, ())

    def add(self, rule: str) -> None:
        """Save a rule. Raises ConfigError; then the file is as it was."""
        self._write((*(one for one in self._read().get(self._folder, ()) if one != rule), rule))

    def remove(self, rule: str) -> None:
        """Take a rule out of the file. Raises ConfigError; then the file is as it was."""
        self._write(tuple(one for one in self._read().get(self._folder, ()) if one != rule))

    def writable_file(self) -> str:
        """The file's name, "" where it cannot be written."""
        folder = next(path for path in self.file.parents if path.exists())
        return str(self.file) if folder.is_dir() and os.access(folder, os.W_OK) else ""

    def _read(self) -> dict[str, tuple[str, ...]]:
        folders = {}
        for folder, table in read_toml(self.file).items():
            rules = table.get("allow") if isinstance(table, dict) else None
            if not isinstance(rules, list) or not all(isinstance(rule, str) for rule in rules):
                raise ConfigError(f"{self.file}: {folder!r} has no list allow = [...].", "Correct or remove the file.")
            folders[folder] = tuple(rules)
        return folders

    def _write(self, rules: tuple[str, ...]) -> None:
        folders = self._read() | {self._folder: rules}
        tables = [f"\n[{toml_value(f)}]\nallow = {toml_value(kept)}\n" for f, kept in folders.items() if kept]
        try:
            write_file(self.file, "".join([_RULES_HEAD, *tables]))
        except (OSError, UnicodeEncodeError) as error:
            raise ConfigError(f"{self.file} cannot be written: {error}.", "Check its permissions.") from error
        self.rules = rules
