"""The program's directories (XDG, or SWECLI_HOME), and the permission rules saved for a folder."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from swecli.models.errors import ConfigError
from swecli.regular_files import read_regular

_RULES_HEAD = "# Permission rules you allowed for a folder. /permissions lists and removes them.\n"


@dataclass(frozen=True, slots=True)
class Paths:
    """The four directories. `ensure` creates them with mode 0700."""

    config: Path
    data: Path
    state: Path
    cache: Path

    @classmethod
    def find(cls, environ: Mapping[str, str]) -> Paths:
        """Return the directories for this environment. Raises ConfigError if SWECLI_HOME is not a usable folder."""
        if home := environ.get("SWECLI_HOME"):
            try:
                home.encode("utf-8")  # the database URL must be text
                base = Path(home).expanduser().absolute()
            except (RuntimeError, UnicodeEncodeError, FileNotFoundError) as error:
                problem = f"SWECLI_HOME is {home!r}, which is not a usable folder."
                raise ConfigError(problem, "Set it to a folder you can write to.") from error
            return cls(base, base, base, base)
        # late: 10 ms, not needed with SWECLI_HOME
        from platformdirs import PlatformDirs

        dirs = PlatformDirs("swecli", appauthor=False)
        return cls(
            dirs.user_config_path, dirs.user_data_path, dirs.user_state_path, dirs.user_cache_path
        )

    @property
    def config_file(self) -> Path:
        return self.config / "config.toml"

    @property
    def database(self) -> Path:
        return self.data / "swecli.db"

    @property
    def history(self) -> Path:
        return self.state / "history"

    @property
    def log(self) -> Path:
        return self.state / "swecli.log"

    @property
    def permissions(self) -> Path:
        return self.config / "permissions.toml"

    def ensure(self) -> None:
        """Create the directories, readable by this user only. Raises OSError."""
        for path in (self.config, self.data, self.state, self.cache):
            path.mkdir(mode=0o700, parents=True, exist_ok=True)


def project_root(folder: Path) -> Path:
    """Return the root of the Git repository that contains the folder, or the folder itself."""
    resolved = folder.resolve()
    return next(
        (parent for parent in (resolved, *resolved.parents) if os.access(parent / ".git", os.F_OK)),
        resolved,
    )


def write_file(path: Path, text: str) -> None:
    """Replace a file atomically; a new file is readable by this user only, a symbolic link is followed. Raises
    OSError."""
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


def read_toml(path: Path, *, must_exist: bool = False) -> dict[str, Any]:
    """Parse a TOML file; a missing file gives {} unless `must_exist`. Raises ConfigError."""
    try:
        # a file that the user named may be a pipe or /dev/null
        data = path.read_bytes() if must_exist else read_regular(path)
        text = data.decode("utf-8-sig")
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
    changed = document.as_string()
    if 0 < text.count("\n") == text.count("\r\n"):
        changed = changed.replace("\r\n", "\n").replace("\n", "\r\n")
    return changed


def format_toml(value: Any) -> str:
    # late: 30 ms, only needed to write a file
    from tomlkit import item

    return str(item(_plain_toml(value)).as_string())


def _plain_toml(value: Any) -> Any:
    """Convert a setting's value to a TOML value; a model table becomes its name."""
    if isinstance(value, tuple):
        return [str(one) for one in value]
    if isinstance(value, bool | int | float | str):
        return value
    return int(str(value)) if str(value).isdecimal() else str(value)


class ProjectRules:
    """The permission rules saved for one folder. `file` holds the rules of all folders, `rules` those of this one.
    Raises ConfigError if the file cannot be read or has another format."""

    def __init__(self, file: Path, folder: Path) -> None:
        self.file, self._folder = file, str(folder.resolve())
        self.rules: tuple[str, ...] = self._read().get(self._folder, ())

    def add(self, rule: str) -> None:
        """Save a rule. Raises ConfigError and leaves the file unchanged if it cannot be written."""
        self._write((*(one for one in self._read().get(self._folder, ()) if one != rule), rule))

    def remove(self, rule: str) -> None:
        """Remove a rule. Raises ConfigError and leaves the file unchanged if it cannot be written."""
        self._write(tuple(one for one in self._read().get(self._folder, ()) if one != rule))

    def writable_file(self) -> str:
        """Return the file's name, or "" if its folder is not writable."""
        folder = next(path for path in self.file.parents if path.exists())
        return str(self.file) if folder.is_dir() and os.access(folder, os.W_OK) else ""

    def _read(self) -> dict[str, tuple[str, ...]]:
        folders = {}
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
        tables = [
            f"\n[{format_toml(f)}]\nallow = {format_toml(kept)}\n"
            for f, kept in folders.items()
            if kept
        ]
        try:
            write_file(self.file, "".join([_RULES_HEAD, *tables]))
        except (OSError, UnicodeEncodeError) as error:
            raise ConfigError(
                f"{self.file} cannot be written: {error}.", "Check its permissions."
            ) from error
        self.rules = rules
