"""What the user allowed for good in a folder: a file of their own, never one of the folder's."""

from __future__ import annotations

import os
from pathlib import Path

from swecli.config.edit import toml_value, write_settings
from swecli.config.load import read_toml
from swecli.models.errors import ConfigError

_HEAD = "# Permission rules you allowed for a folder. /permissions lists and removes them.\n"


class ProjectRules:
    """The permission rules saved for one folder. `file` holds those of all folders; `rules` are this one's texts.

    Raises ConfigError for a file that cannot be read or is none of ours.
    """

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
            write_settings(self.file, "".join([_HEAD, *tables]))
        except (OSError, UnicodeEncodeError) as error:
            raise ConfigError(f"{self.file} cannot be written: {error}.", "Check its permissions.") from error
        self.rules = rules
