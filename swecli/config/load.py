"""Settings out of their layers: defaults < user file < project file < environment < flags. The one reader of these."""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from swecli.config.settings import Settings, described
from swecli.models.errors import ConfigError
from swecli.models.tool import MODES
from swecli.models.window import WindowSpec

PROJECT_FILE = Path(".swecli") / "config.toml"
_STRICTNESS = {"plan": 0, "ask": 1, "edits": 2, "auto": 3}


def load_settings(
    *,
    user_file: Path,
    project_file: Path | None,
    environ: Mapping[str, str],
    flags: Mapping[str, Any],
) -> tuple[Settings, list[str]]:
    """The settings of this run and the notices the user should see.

    Args:
        user_file: may be missing.
        project_file: None where the folder is not trusted; may be missing; can only tighten permissions.
        environ: `SWECLI_*`; an empty value counts as not set.
        flags: setting name → value; None counts as not given.

    Raises:
        ConfigError: naming the file or variable, the setting, and what it takes.
    """
    settings, notices = Settings(), []
    for layer, values in (
        (str(user_file), _read_toml(user_file)),
        (str(project_file), _read_toml(project_file) if project_file else {}),
        ("environment", _from_environment(environ)),
        ("flags", {name: value for name, value in flags.items() if value is not None}),
    ):
        if project_file and layer == str(project_file):
            values, refused = _tightening_only(values, settings)
            notices += [f"{layer}: {name} is ignored, a project file may only tighten permissions" for name in refused]
        settings = _apply(settings, values, layer)
    return settings, notices


def _read_toml(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} is not valid TOML: {error}", "Correct the file or move it away.") from error
    except OSError as error:
        raise ConfigError(f"{path} cannot be read: {error.strerror}") from error


def _from_environment(environ: Mapping[str, str]) -> dict[str, Any]:
    return {name: environ[env] for name, _, env, _ in described() if env and environ.get(env)}


def _tightening_only(values: dict[str, Any], current: Settings) -> tuple[dict[str, Any], list[str]]:
    """Drop what would loosen permissions or send data elsewhere than the user chose."""
    loosening = ("allow", "model", "reflect_model", "db")
    refused: list[str] = [name for name in loosening if name in values]
    mode = values.get("mode")
    if isinstance(mode, str) and _STRICTNESS.get(mode, 0) > _STRICTNESS[current.mode]:
        refused.append("mode")
    return {name: value for name, value in values.items() if name not in refused}, refused


def _apply(settings: Settings, values: Mapping[str, Any], layer: str) -> Settings:
    names = {row[0] for row in described()}
    changed: dict[str, Any] = {}
    for name, value in values.items():
        if name not in names:
            near = difflib.get_close_matches(name, names, n=1)
            hint = f"Did you mean {near[0]}?" if near else "See `swecli config get` for the settings."
            raise ConfigError(f"{layer}: there is no setting {name!r}.", hint)
        try:
            changed[name] = parse_setting(name, value)
        except ValueError as error:
            raise ConfigError(f"{layer}: {name}: {error}.") from error
    for name in ("ask", "deny"):  # these add up over the layers: a later one cannot take an earlier no away
        if name in changed:
            changed[name] = tuple(dict.fromkeys((*getattr(settings, name), *changed[name])))
    return replace(settings, **changed, origins=settings.origins | dict.fromkeys(changed, layer))


def parse_setting(name: str, value: Any) -> Any:
    """A setting's value out of TOML, text or a flag. Raises ValueError with what is wrong."""
    return _PARSERS[name](value)


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError(f"{value!r} is not text")
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
        if isinstance(value, bool) or not str(value).strip().isdecimal() or not low <= int(value) <= high:
            raise ValueError(f"{value!r} is not a whole number from {low} to {high}")
        return int(value)

    return parse


def _money(value: Any) -> float:
    try:
        amount = float(value)
    except (TypeError, ValueError):
        amount = -1.0
    if not 0 < amount < 1e9:
        raise ValueError(f"{value!r} is not an amount of dollars above 0")
    return amount


def _rules(value: Any) -> tuple[str, ...]:
    if not isinstance(value, (list, tuple)) or not all(isinstance(rule, str) for rule in value):
        raise ValueError('takes a list of rules, for example ["run(git status*)"]')
    return tuple(value)


_PARSERS: dict[str, Callable[[Any], Any]] = {
    "model": _text,
    "window": _window,
    "mode": _mode,
    "max_turns": _whole(1, 10_000),
    "max_budget_usd": _money,
    "max_tokens": _whole(1, 10_000_000),
    "max_strategies": _whole(0, 1000),
    "learn": _flag,
    "reflect_with_model": _flag,
    "reflect_model": _text,
    "command_timeout": _whole(1, 86_400),
    "allow": _rules,
    "ask": _rules,
    "deny": _rules,
    "db": _text,
    "color": _flag,
}
