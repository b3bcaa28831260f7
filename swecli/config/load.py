"""Settings out of their layers: defaults < user file < project file < environment < flags. The one reader of these."""

from __future__ import annotations

import difflib
import re
import shlex
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from swecli.config.settings import Settings, described
from swecli.models.errors import ConfigError
from swecli.models.message import MODES
from swecli.models.window import WindowSpec

PROJECT_FILE = Path(".swecli") / "config.toml"
_NUMBER = re.compile(r"-?\d{1,6}")
_STRICTNESS = {"plan": 0, "ask": 1, "edits": 2, "auto": 3}


def load_settings(
    *,
    user_file: Path,
    project_file: Path | None,
    environ: Mapping[str, str],
    flags: Mapping[str, Any],
    must_exist: bool = False,
) -> tuple[Settings, list[str]]:
    """The settings of this run and the notices the user should see.

    Args:
        user_file: may be missing, unless `must_exist` says that the user named it.
        project_file: None where the folder is not trusted; may be missing; can only tighten permissions.
        environ: `SWECLI_*`; an empty value counts as not set.
        flags: setting name → value; None counts as not given.

    Raises:
        ConfigError: naming the file or variable, the setting, and what it takes.
    """
    settings, notices = Settings(), []
    for layer, values in (
        (str(user_file), read_toml(user_file, must_exist=must_exist)),
        (str(project_file), read_toml(project_file) if project_file else {}),
        ("environment", _from_environment(environ)),
        ("flags", {name: value for name, value in flags.items() if value is not None}),
    ):
        if project_file and layer == str(project_file):
            values, refused = _tightening_only(values, settings)
            notices += [f"{layer}: {name} is ignored, a project file may only tighten permissions" for name in refused]
        settings = _apply(settings, values, layer)
    return settings, notices


def read_toml(path: Path, *, must_exist: bool = False) -> dict[str, Any]:
    """What a settings file says; nothing for a missing one. Raises ConfigError."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except (FileNotFoundError, NotADirectoryError) as error:
        if must_exist:
            raise ConfigError(
                f"There is no settings file {path}.", "Check the path, or leave --config away."
            ) from error
        return {}
    except (ValueError, RecursionError) as error:  # no UTF-8, no TOML, a number of 5,000 digits, lists without end
        raise ConfigError(f"{path} is not valid TOML: {error}", "Correct the file or move it away.") from error
    except OSError as error:
        raise ConfigError(
            f"{path} cannot be read: {error.strerror}.",
            "Check the path and its permissions, or name another with --config.",
        ) from error


def _from_environment(environ: Mapping[str, str]) -> dict[str, Any]:
    return {name: environ[env] for name, _, env, _ in described() if env and environ.get(env)}


def _tightening_only(values: dict[str, Any], current: Settings) -> tuple[dict[str, Any], list[str]]:
    """Drop what would loosen permissions, send data elsewhere than the user chose, or spend more."""
    loosening = ("allow", "review_leads", "model", "reflect_model", "condense_model", "custom_condensing_prompt", "db")
    refused: list[str] = [name for name in loosening if name in values]
    mode = values.get("mode")
    if isinstance(mode, str) and _STRICTNESS.get(mode, 0) > _STRICTNESS[current.mode]:
        refused.append("mode")
    for name in ("max_budget_usd", "max_turns", "reflect_percent", "reflect_usd_per_day", "review_loops"):
        cap, wanted = getattr(current, name), values.get(name)
        if cap is not None and isinstance(wanted, (int, float)) and wanted > cap:
            refused.append(name)
    return {name: value for name, value in values.items() if name not in refused}, refused


def _apply(settings: Settings, values: Mapping[str, Any], layer: str) -> Settings:
    names = {row[0] for row in described()}
    changed: dict[str, Any] = {}
    for name, value in values.items():
        if name not in names:
            raise unknown_setting(name, f"{layer}: ")
        try:
            changed[name] = parse_setting(name, value)
        except ValueError as error:
            raise ConfigError(f"{_named(layer, name)}: {error}.") from error
    for name in ("ask", "deny"):  # these add up over the layers: a later one cannot take an earlier no away
        if name in changed:
            changed[name] = tuple(dict.fromkeys((*getattr(settings, name), *changed[name])))
    # a rule has an origin of its own: lists add up
    rules = [f"{name}: {rule}" for name in ("allow", "ask", "deny") for rule in values.get(name, ()) if name in changed]
    return replace(settings, **changed, origins=settings.origins | dict.fromkeys([*changed, *rules], layer))


def unknown_setting(name: str, where: str = "") -> ConfigError:
    """The error for a name that is no setting, with the nearest one that is."""
    near = difflib.get_close_matches(name, [row[0] for row in described()], n=1)
    hint = f"Did you mean {near[0]}?" if near else "See `swecli config get` for the settings."
    return ConfigError(f"{where}{'there' if where else 'There'} is no setting {name!r}.", hint)


def _named(layer: str, name: str) -> str:
    """A setting as the user wrote it in that layer."""
    if layer == "flags":
        return f"--{name.replace('_', '-')}"
    if layer == "environment":
        return next(env for known, _, env, _ in described() if known == name)
    return f"{layer}: {name}"


def parse_setting(name: str, value: Any) -> Any:
    """A setting's value out of TOML, text or a flag. Raises ValueError with what is wrong."""
    return _PARSERS[name](value)


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError(f"{value!r} is not text")
    if "\0" in value or any("\ud800" <= letter <= "\udfff" for letter in value):
        raise ValueError(f"{value!r} holds bytes that are no UTF-8 text")
    return value


def _window(value: Any) -> WindowSpec:
    return value if isinstance(value, WindowSpec) else WindowSpec.parse(str(value))


def _mode(value: Any) -> str:
    if value not in MODES:
        raise ValueError(f"{value!r} is none of {', '.join(MODES)}")
    return str(value)


def _flag(value: Any) -> bool:
    if isinstance(value, bool):
        return value
    word = str(value).lower()
    if word not in {"1", "0", "true", "false", "yes", "no", "on", "off"}:
        raise ValueError(f"{value!r} is neither true nor false")
    return word in {"1", "true", "yes", "on"}


def _whole(low: int, high: int) -> Callable[[Any], int]:
    def parse(value: Any) -> int:
        text = str(value).strip()
        whole = not isinstance(value, bool) and text.isdecimal() and len(text) < 20
        if not whole or not low <= int(text) <= high:
            raise ValueError(f"{value!r} is not a whole number from {low} to {high}")
        return int(text)

    return parse


def _money(value: Any) -> float:
    try:
        amount = -1.0 if isinstance(value, bool) else float(value)
    except (TypeError, ValueError, OverflowError):
        amount = -1.0
    if not 0 < amount < 1e9:
        raise ValueError(f"{value!r} is not an amount of dollars above 0")
    return amount


def _ablation(value: Any) -> str:
    if not re.fullmatch(r"never|(?:off|one):(?:[2-9]|[1-9]\d{1,4})", str(value)):
        raise ValueError(f"{value!r} is none of never, off:N and one:N (every Nth turn, N from 2)")
    return str(value)


def _rules(value: Any) -> tuple[str, ...]:
    if not isinstance(value, (list, tuple)) or not all(isinstance(rule, str) for rule in value):
        raise ValueError('takes a list of rules, for example ["run(git status*)"]')
    return tuple(value)


def _thresholds(value: Any) -> tuple[str, ...]:
    """Pairs of a profile and a percentage. One out of range is no error: it is told, and the global one counts."""
    pairs = value if isinstance(value, (list, tuple)) else [value]
    for pair in pairs:
        name, sign, percent = str(pair).partition("=")
        if not (name.strip() and sign and _NUMBER.fullmatch(percent.strip())):
            raise ValueError(f"{pair!r} is not a profile with its percentage, for example review=60")
    return tuple(str(pair) for pair in pairs)


def _commands(value: Any) -> tuple[str, ...]:
    if not isinstance(value, (list, tuple)) or not all(isinstance(line, str) and _is_command(line) for line in value):
        raise ValueError('takes a list of commands, for example ["mypy {files}"]')
    return tuple(value)


def _is_command(line: str) -> bool:
    try:
        return bool(shlex.split(line))
    except ValueError:
        return False


_PARSERS: dict[str, Callable[[Any], Any]] = {
    "model": _text,
    "window": _window,
    "window_min": _whole(1, 1000),
    "window_max": _whole(1, 1000),
    "auto_condense_context": _flag,
    "auto_condense_context_percent": _whole(50, 100),
    "profile": _text,
    "profile_thresholds": _thresholds,
    "custom_condensing_prompt": _text,
    "condense_model": _text,
    "cache_minutes": _whole(0, 10_000),
    "mode": _mode,
    "max_turns": _whole(1, 10_000),
    "max_budget_usd": _money,
    "max_tokens": _whole(1, 10_000_000),
    "max_strategies": _whole(0, 1000),
    "playbook_tokens": _whole(0, 100_000),
    "learn": _flag,
    "reflect_with_model": _flag,
    "reflect_model": _text,
    "reflect_percent": _whole(0, 100),
    "reflect_usd_per_day": _money,
    "ablation": _ablation,
    "command_timeout": _whole(1, 86_400),
    "review_loops": _whole(1, 1000),
    "review_leads": _commands,
    "allow": _rules,
    "ask": _rules,
    "deny": _rules,
    "db": _text,
    "color": _flag,
}
