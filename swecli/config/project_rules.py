"""The permission rules that the user saved for a project's folder."""

from __future__ import annotations

import os
from pathlib import Path

from swecli.config.private_files import write_file
from swecli.config.toml_files import format_toml, read_toml
from swecli.models.errors import ConfigError

_HEAD = "# Permission rules you allowed for a folder. /permissions lists and removes them.\n"


class ProjectRules:
    """The permission rules saved for one folder. `file` holds the rules of all folders, `rules` those of this one.
    Raises ConfigError if the file cannot be read or has another format."""

    def __init__(self, file: Path, folder: Path) -> None:
        self.file = file
        self._folder = str(folder.resolve())
        self.rules: tuple[str, ...] = self._read().get(self._folder, ())

    def add(self, rule: str) -> None:
        """Save a rule. Raises ConfigError and leaves the file unchanged if it cannot be written."""
        self._write((*self._without(rule), rule))

    def remove(self, rule: str) -> None:
        """Remove a rule. Raises ConfigError and leaves the file unchanged if it cannot be written."""
        self._write(self._without(rule))

    def _without(self, rule: str) -> tuple[str, ...]:
        """Return the other rules of the folder as the file holds them now: another program may have changed it."""
        stored_rules = self._read().get(self._folder, ())
        return tuple(other for other in stored_rules if other != rule)

    def writable_file(self) -> str:
        """Return the file's name, or "" if its folder is not writable."""
        folder = next(path for path in self.file.parents if path.exists())
        is_writable = folder.is_dir() and os.access(folder, os.W_OK)
        return str(self.file) if is_writable else ""

    def _read(self) -> dict[str, tuple[str, ...]]:
        folders: dict[str, tuple[str, ...]] = {}
        for folder, table in read_toml(self.file).items():
            rules = table.get("allow") if isinstance(table, dict) else None
            if not isinstance(rules, list) or not all(isinstance(rule, str) for rule in rules):
                raise ConfigError(
                    f"{self.file}: {folder!r} has no list allow = [...].",
                    "Correct or remove the file.",
                )
            folders[folder] = tuple(rules)
        return folders

    def _write(self, rules: tuple[str, ...]) -> None:
        folders = self._read() | {self._folder: rules}
        text = _HEAD
        for folder, allowed in folders.items():
            if allowed:
                text += f"\n[{format_toml(folder)}]\nallow = {format_toml(allowed)}\n"
        try:
            write_file(self.file, text)
        except (OSError, UnicodeEncodeError) as error:
            raise ConfigError(
                f"{self.file} cannot be written: {error}.", "Check its permissions."
            ) from error
        self.rules = rules
