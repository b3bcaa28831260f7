"""Settings in their layers: defaults < user file < project file < environment < flags; what a run starts with; and the
files of settings and permission rules changed one entry at a time: the rest of them stays as it is."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from swecli.config.paths import Paths, write_file
from swecli.config.settings import SETTINGS, Settings, unknown_setting
from swecli.models.errors import ConfigError
from swecli.models.message import ModelChoice

if TYPE_CHECKING:
    from tomlkit import TOMLDocument

_HEAD = "# Settings of swecli. `swecli config get --origin` shows each value and where it comes from.\n"
_RULES_HEAD = "# Permission rules you allowed for a folder. /permissions lists and removes them.\n"
PROJECT_FILE = Path(".swecli") / "config.toml"
_ROLES = {"main": ("model",), "fast": ("reflect_model", "condense_model", "review_verify_model")}  # as settings
_LOOSER = ("plan", "ask", "edits", "auto")  # modes, the strictest first


@dataclass(frozen=True, slots=True)
class Start:
    """What a run starts with. `resume` is None for a new session, "" for this directory's last one, else an id, prefix
    or title; `pick` asks which. `prompt` becomes the first message. `notices` are shown before the first prompt.
    `config` is the file of `--config`, which is read in place of the standard one."""

    settings: Settings
    paths: Paths
    cwd: Path
    environ: Mapping[str, str]
    choice: ModelChoice = ModelChoice("", "")  # noqa: RUF009 - frozen
    resume: str | None = None
    pick: bool = False
    prompt: str = ""
    trusted: bool = False
    notices: tuple[str, ...] = ()
    config: Path | None = None

    @property
    def database(self) -> str | Path:
        return self.settings.db or self.paths.database


def load_settings(
    *,
    user_file: Path,
    project_file: Path | None,
    environ: Mapping[str, str],
    flags: Mapping[str, Any],
    must_exist: bool = False,
) -> tuple[Settings, list[str]]:
    """The settings of this run and the notices the user should see. A file may be missing, unless `must_exist` says
    that the user named theirs; `project_file` is None where the folder is not trusted, and can only tighten
    permissions. Raises ConfigError, naming the file or variable, the setting, and what it takes."""
    settings, notices = Settings(), []
    for layer, values in (
        (str(user_file), read_toml(user_file, must_exist=must_exist)),
        (str(project_file), read_toml(project_file) if project_file else {}),
        ("environment", {s.name: environ[s.env] for s in SETTINGS.values() if s.env and environ.get(s.env)}),
        ("flags", {name: value for name, value in flags.items() if value is not None}),
    ):
        parsed = _parsed(values, layer)
        if project_file and layer == str(project_file):
            refused = [name for name, value in parsed.items() if not _allowed_to_project(name, value, settings)]
            notices += [f"{layer}: {name} is ignored, a project file may only tighten permissions" for name in refused]
            parsed = {name: value for name, value in parsed.items() if name not in refused}
        settings = _apply(settings, parsed, layer)
    return settings, notices


def read_toml(path: Path, *, must_exist: bool = False) -> dict[str, Any]:
    """What a settings file says; nothing for a missing one. Raises ConfigError."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except (FileNotFoundError, NotADirectoryError) as error:
        if must_exist:
            raise ConfigError(f"There is no settings file {path}.", "Check the path, or leave out --config.") from error
        return {}
    except (ValueError, RecursionError) as error:  # no UTF-8, no TOML, a number of 5,000 digits, lists without end
        raise ConfigError(f"{path} is not valid TOML: {error}", "Correct the file or move it away.") from error
    except OSError as error:
        raise ConfigError(
            f"{path} cannot be read: {error.strerror}.",
            "Check the path and its permissions, or name another with --config.",
        ) from error


def _parsed(values: Mapping[str, Any], layer: str) -> dict[str, Any]:
    """The values of a layer as settings have them. Raises ConfigError."""
    parsed: dict[str, Any] = {}
    for name, value in _without_roles(values, layer).items():
        if name not in SETTINGS:
            raise unknown_setting(name, f"{layer}: ")
        try:
            parsed[name] = SETTINGS[name].parse(value)
        except ValueError as error:
            raise ConfigError(f"{_named(layer, name)}: {error}.") from error
    return parsed


def _without_roles(values: Mapping[str, Any], layer: str) -> dict[str, Any]:
    """The values with `roles` as the settings it stands for; a setting beside it wins. Raises ConfigError."""
    rest = dict(values)
    roles = rest.pop("roles", {})
    if not isinstance(roles, dict) or not set(roles) <= set(_ROLES):
        raise ConfigError(f"{layer}: roles takes main and fast, each with a model's name.")
    return {setting: model for role, model in roles.items() for setting in _ROLES[role]} | rest


def _allowed_to_project(name: str, value: Any, current: Settings) -> bool:
    """Whether a project's file may set this: nothing that loosens permissions, sends data elsewhere or spends more."""
    if not SETTINGS[name].tightens:
        return True
    present = getattr(current, name)
    if name == "mode":
        return _LOOSER.index(value) <= _LOOSER.index(present)
    return isinstance(value, int | float) and (present is None or value <= present)


def _apply(settings: Settings, changed: dict[str, Any], layer: str) -> Settings:
    # a rule has an origin of its own: lists add up
    rules = [f"{name}: {rule}" for name in ("allow", "ask", "deny") for rule in changed.get(name, ())]
    for name in ("ask", "deny"):  # these add up over the layers: a later one cannot take an earlier no away
        if name in changed:
            changed[name] = tuple(dict.fromkeys((*getattr(settings, name), *changed[name])))
    return replace(settings, **changed, origins=settings.origins | dict.fromkeys([*changed, *rules], layer))


def _named(layer: str, name: str) -> str:
    """A setting as the user wrote it in that layer."""
    if layer == "flags":
        return f"--{name.replace('_', '-')}"
    if layer == "environment":
        return SETTINGS[name].env
    return f"{layer}: {name}"


def set_value(text: str, name: str, value: Any) -> str:
    """The text of a settings file with one setting changed, or added; a comment behind the value stays, those inside a
    list that is replaced go with it. Raises ConfigError for a text that is not TOML."""
    document = _document(text)
    document[name] = _plain(value)
    changed = document.as_string()
    if 0 < text.count("\n") == text.count("\r\n"):
        changed = changed.replace("\r\n", "\n").replace("\n", "\r\n")
    return changed


def unset_value(text: str, name: str) -> str:
    """The text of a settings file without that setting; the same text where it is not set. Raises ConfigError."""
    document = _document(text)
    document.pop(name, None)
    return document.as_string()


def parse_words(name: str, words: list[str]) -> Any:
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


def _document(text: str) -> TOMLDocument:
    # late: 30 ms that only a change of the settings needs
    import tomlkit  # noqa: PLC0415
    from tomlkit.exceptions import TOMLKitError  # noqa: PLC0415

    try:
        return tomlkit.parse(text)
    except TOMLKitError as error:
        problem = f"The settings file is not valid TOML: {error}"
        raise ConfigError(problem, "Correct it with `swecli config edit`.") from error


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
