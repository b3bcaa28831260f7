"""Everything a user can set: default, parser, one line of what it does. Standard library only: read at start."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field, fields
from typing import Any, Literal, get_args

from swecli.config.model_entry import ModelEntry, flag, listed, nearest, one_of, parse_models, text, whole
from swecli.models.errors import ConfigError
from swecli.models.message import MODES, Mode
from swecli.models.window import DEFAULT_SLACK, WindowSpec

Reflect = Literal["auto", "always", "friction"]
_rules = listed('a list of rules, for example ["run(git status*)"]')


def _window(value: Any) -> WindowSpec:
    return value if isinstance(value, WindowSpec) else WindowSpec.parse(str(value))


def _money(value: Any) -> float:
    try:
        amount = -1.0 if isinstance(value, bool) else float(value)
    except (TypeError, ValueError, OverflowError):
        amount = -1.0
    if not 0 < amount < 1e9:
        raise ValueError(f"{value!r} is not an amount of dollars above 0")
    return amount


def _thresholds(value: Any) -> tuple[str, ...]:
    """Pairs of a profile and a percentage: 50 to 100, or -1 for the global one."""
    pairs = value if isinstance(value, (list, tuple)) else [value]
    for pair in pairs:
        name, sign, percent = str(pair).partition("=")
        if not (name.strip() and sign and re.fullmatch(r"-1|[5-9]\d|100", percent.strip())):
            raise ValueError(f"{pair!r} is not a profile with its percentage (50 to 100, or -1), for example review=60")
    return tuple(str(pair) for pair in pairs)


@dataclass(frozen=True, slots=True)
class _Setting:
    """What is known of one setting. `parse` makes its value of TOML, text or a flag and raises ValueError with what is
    wrong; `env` is its variable, "" for none; where it `tightens`, a project's file may set it to nothing looser."""

    name: str
    default: Any
    parse: Callable[[Any], Any]
    doc: str
    env: str
    tightens: bool


def _setting(default: Any, parse: Callable[[Any], Any], doc: str, *, env: bool = True, tightens: bool = False) -> Any:
    return field(default=default, metadata={"parse": parse, "doc": doc, "env": env, "tightens": tightens})


@dataclass(frozen=True, slots=True)
class Settings:
    """One frozen value for a run. `origins` names, for each setting, the layer that won, and for each permission rule
    ("allow: run(git status*)") the one it stands in."""

    model: str = _setting("", text, "model as provider/name, or a [models.NAME]; empty: chosen at start", tightens=True)
    models: tuple[ModelEntry, ...] = _setting(
        (), parse_models, "models of your own: tables [models.NAME]", env=False, tightens=True
    )
    window: WindowSpec = _setting(WindowSpec(slack=DEFAULT_SLACK), _window, "reflection window: N, N+S, full or auto")
    window_min: int = _setting(3, whole(1, 1000), "smallest window that `auto` picks")
    window_max: int = _setting(10, whole(1, 1000), "largest window that `auto` picks")
    auto_condense_context: bool = _setting(True, flag, "let a model summarise a conversation that is too long")
    auto_condense_context_percent: int = _setting(
        75, whole(50, 100), "percent of the model's window at which the context is reduced, 50 to 100"
    )
    profile: str = _setting("default", text, "profile whose threshold counts")
    profile_thresholds: tuple[str, ...] = _setting(
        (), _thresholds, "thresholds of profiles, e.g. review=60; -1 inherits", env=False
    )
    custom_condensing_prompt: str = _setting(
        "", text, "prompt for summarising; empty: the built-in one", env=False, tightens=True
    )
    condense_model: str = _setting("", text, "model for summarising; empty: the session's", tightens=True)
    search_earlier: bool = _setting(True, flag, "quote earlier turns that a query refers to")
    cache_minutes: int = _setting(5, whole(0, 10_000), "minutes a provider keeps its cache of the prompt")
    mode: Mode = _setting("ask", one_of("mode", MODES), "ask, edits, plan or auto", tightens=True)
    max_turns: int = _setting(50, whole(1, 10_000), "requests to the model in one turn, at most", tightens=True)
    max_budget_usd: float | None = _setting(None, _money, "stop the turn when it has cost this much", tightens=True)
    max_tokens: int | None = _setting(None, whole(1, 10_000_000), "length of one answer, in tokens")
    max_strategies: int = _setting(200, whole(0, 1000), "playbook strategies in a prompt, at most")
    playbook_tokens: int = _setting(1200, whole(0, 100_000), "tokens of the playbook in a prompt, at most")
    learn: bool = _setting(True, flag, "reflect after each turn")
    reflect_with_model: bool = _setting(True, flag, "let a model reflect too")
    reflect: Reflect = _setting(
        "auto", one_of("choice", get_args(Reflect)), "which turns a model reflects on: auto, always or friction"
    )
    reflect_at_end: bool = _setting(True, flag, "reflect at the end of a run without a screen")
    reflect_model: str = _setting("", text, "model for reflection; empty: the session's", tightens=True)
    reflect_percent: int = _setting(
        15, whole(0, 100), "percent of what a session takes that reflection may use", tightens=True
    )
    holdout: int = _setting(0, whole(0, 50), "percent of turns that leave one strategy out to measure it")
    command_timeout: int = _setting(120, whole(1, 86_400), "seconds a command may run")
    review_loops: int = _setting(20, whole(1, 1000), "requests to the model in one review, at most", tightens=True)
    review_part_tokens: int = _setting(
        8000, whole(500, 100_000), "tokens of code in one message of a review, about", env=False
    )
    review_verify_model: str = _setting(
        "", text, "model that checks a review's findings; empty: the session's", tightens=True
    )
    allow: tuple[str, ...] = _setting(
        (), _rules, "permission rules: run without asking, e.g. run(git status*)", env=False, tightens=True
    )
    ask: tuple[str, ...] = _setting((), _rules, "permission rules: always ask", env=False)
    deny: tuple[str, ...] = _setting((), _rules, "permission rules: always refuse", env=False)
    db: str = _setting("", text, "database file or sqlite:/// URL", tightens=True)
    color: bool = _setting(True, flag, "colour on the screen", env=False)
    theme: str = _setting(
        "auto",
        one_of("theme", ("auto", "dark", "light", "none")),
        "colours on the screen: auto, dark, light or none",
    )
    editing_mode: str = _setting("emacs", one_of("editing mode", ("emacs", "vi")), "keys of the prompt: emacs or vi")
    notify: str = _setting(
        "auto",
        one_of("way to notify", ("auto", "osc9", "osc777", "bell", "off")),
        "how a long turn's end and a waiting question are notified: auto, osc9, osc777, bell or off",
    )
    notify_after: int = _setting(
        10, whole(0, 86_400), "seconds that a turn takes, or a question waits, until you are notified"
    )
    origins: dict[str, str] = field(default_factory=dict, compare=False)

    def entry(self, name: str) -> ModelEntry | None:
        return next((entry for entry in self.models if name in entry.names), None)

    @property
    def reflect_every_turn(self) -> bool:
        """Whether a model is asked about each turn, not only about those with friction."""
        return self.reflect == "always" or (self.reflect == "auto" and bool(self.reflect_model))

    @property
    def thresholds(self) -> dict[str, int]:
        pairs = (pair.partition("=") for pair in self.profile_thresholds)
        return {name.strip(): int(percent) for name, _, percent in pairs}


def _described(name: str, default: Any, *, env: bool, **known: Any) -> _Setting:
    return _Setting(name, default, env=f"SWECLI_{name.upper()}" if env else "", **known)


SETTINGS = {f.name: _described(f.name, f.default, **f.metadata) for f in fields(Settings) if f.metadata}


def unknown_setting(name: str, where: str = "") -> ConfigError:
    """The error for a name that is not a setting, with the nearest one that is."""
    near = nearest(name, SETTINGS)
    hint = f"Did you mean {near}?" if near else "See `swecli config get` for the settings."
    if name == "roles":
        hint = "It stands for other settings in the file itself: use `swecli config edit`."
    return ConfigError(f"{where}{'unknown' if where else 'Unknown'} setting {name!r}.", hint)
