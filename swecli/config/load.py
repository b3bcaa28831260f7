"""Settings in their layers: defaults < user file < project file < environment < flags; and what a run starts with."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from swecli.config.paths import Paths
from swecli.config.settings import SETTINGS, Settings, unknown_setting
from swecli.models.errors import ConfigError
from swecli.models.message import Choice

PROJECT_FILE = Path(".swecli") / "config.toml"
_ROLES = {"main": ("model",), "fast": ("reflect_model", "condense_model", "review_verify_model")}  # as settings
_LOOSER = ("plan", "ask", "edits", "auto")  # modes, the strictest first


@dataclass(frozen=True, slots=True)
class Start:
    """What a run starts with. `resume` is None for a new session, "" for this directory's last one, else an id, prefix
    or title; `pick` asks which. `prompt` becomes the first message. `notices` are shown before the first prompt."""

    settings: Settings
    paths: Paths
    cwd: Path
    environ: Mapping[str, str]
    choice: Choice = Choice("", "")  # noqa: RUF009 - frozen
    resume: str | None = None
    pick: bool = False
    prompt: str = ""
    trusted: bool = False
    notices: tuple[str, ...] = ()

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
