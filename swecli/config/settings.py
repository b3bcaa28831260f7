"""Every setting with its default, parser and description; and loading them from their layers: defaults < user file <
project file < environment < flags. Imported before the first key, so only the standard library."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Literal, get_args

from swecli.config.model_entry import (
    ModelEntry,
    boolean,
    closest_name,
    integer,
    list_of,
    one_of,
    parse_models,
    string,
)
from swecli.config.paths import Paths, project_root
from swecli.config.toml_files import format_toml, parse_toml, read_toml
from swecli.config.trust import FolderTrust, TrustLedger
from swecli.models.context import DEFAULT_SLACK, WindowSpec
from swecli.models.errors import ConfigError
from swecli.models.message import MODES, Mode, ModelChoice

_ROLES = {
    "main": ("model",),
    "fast": ("reflect_model", "condense_model", "review_verify_model"),
}  # role -> settings
_TEMPLATE_HEAD = (
    "# Settings of swecli. `swecli config get --origin` shows each value and where it comes from.\n"
)
SandboxChoice = Literal["auto", "off", "required"]
# of the settings whose values differ in strictness: these, the strictest first
_BY_STRICTNESS = {
    "mode": ("plan", "ask", "edits", "auto"),
    "sandbox": ("required", "auto", "off"),
}
Reflect = Literal["auto", "always", "friction"]
_rules = list_of('a list of rules, for example ["run(git status*)"]')


def _window(value: Any) -> WindowSpec:
    return value if isinstance(value, WindowSpec) else WindowSpec.parse(str(value))


def _dollars(value: Any) -> float:
    try:
        amount = -1.0 if isinstance(value, bool) else float(value)
    except (TypeError, ValueError, OverflowError):
        amount = -1.0
    if not 0 < amount < 1e9:
        raise ValueError(f"{value!r} is not an amount of dollars above 0")
    return amount


def _thresholds(value: Any) -> tuple[str, ...]:
    """Parse pairs PROFILE=PERCENT: 50 to 100, or -1 for the global threshold."""
    pairs = value if isinstance(value, (list, tuple)) else [value]
    for pair in pairs:
        name, sign, percent = str(pair).partition("=")
        if not (name.strip() and sign and re.fullmatch(r"-1|[5-9]\d|100", percent.strip())):
            raise ValueError(
                f"{pair!r} is not a profile with its percentage (50 to 100, or -1), for example review=60"
            )
    return tuple(str(pair) for pair in pairs)


@dataclass(frozen=True, slots=True)
class _Setting:
    """One setting. `parse` converts a value from TOML, the environment or a flag and raises ValueError; `env` is its
    environment variable, "" for none; with `tightens` a project file may only set a stricter value."""

    name: str
    default: Any
    parse: Callable[[Any], Any]
    doc: str
    env: str
    tightens: bool

    def parse_words(self, words: list[str]) -> Any:
        """Parse a value from the words of a command line; list settings take several. Raises ConfigError."""
        is_list = isinstance(self.default, tuple)
        if not is_list and len(words) != 1:
            raise ConfigError(
                f"{self.name} takes one value, not {len(words)}.",
                "Put it in quotes if it holds spaces.",
            )
        try:
            return self.parse(words if is_list else words[0])
        except ValueError as error:
            raise ConfigError(f"{self.name}: {error}.") from error


def _setting(
    default: Any, parse: Callable[[Any], Any], doc: str, *, env: bool = True, tightens: bool = False
) -> Any:
    return field(
        default=default, metadata={"parse": parse, "doc": doc, "env": env, "tightens": tightens}
    )


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings of a run. `origins` maps each setting to the layer that set it, and each permission rule ("allow:
    run(git status*)") to the layer that contains it."""

    model: str = _setting(
        "",
        string,
        "model as provider/name, or a [models.NAME]; empty: chosen at start",
        tightens=True,
    )
    models: tuple[ModelEntry, ...] = _setting(
        (), parse_models, "models of your own: tables [models.NAME]", env=False, tightens=True
    )
    window: WindowSpec = _setting(
        WindowSpec(slack=DEFAULT_SLACK), _window, "reflection window: N, N+S, full or auto"
    )
    window_min: int = _setting(3, integer(1, 1000), "smallest window that `auto` picks")
    window_max: int = _setting(10, integer(1, 1000), "largest window that `auto` picks")
    auto_condense_context: bool = _setting(
        True, boolean, "let a model summarise a conversation that is too long"
    )
    auto_condense_context_percent: int = _setting(
        75,
        integer(50, 100),
        "percent of the model's window at which the context is reduced, 50 to 100",
    )
    profile: str = _setting("default", string, "profile whose threshold counts")
    profile_thresholds: tuple[str, ...] = _setting(
        (), _thresholds, "thresholds of profiles, e.g. review=60; -1 inherits", env=False
    )
    custom_condensing_prompt: str = _setting(
        "", string, "prompt for summarising; empty: the built-in one", env=False, tightens=True
    )
    condense_model: str = _setting(
        "", string, "model for summarising; empty: the session's", tightens=True
    )
    search_earlier: bool = _setting(True, boolean, "quote earlier turns that a query refers to")
    cache_minutes: int = _setting(
        5, integer(0, 10_000), "minutes a provider keeps its cache of the prompt"
    )
    mode: Mode = _setting("ask", one_of("mode", MODES), "ask, edits, plan or auto", tightens=True)
    max_turns: int = _setting(
        50, integer(1, 10_000), "requests to the model in one turn, at most", tightens=True
    )
    max_budget_usd: float | None = _setting(
        None, _dollars, "stop the turn when it has cost this much", tightens=True
    )
    max_tokens: int | None = _setting(
        None, integer(1, 10_000_000), "length of one answer, in tokens"
    )
    max_strategies: int = _setting(
        200, integer(0, 1000), "playbook strategies in a prompt, at most"
    )
    playbook_tokens: int = _setting(
        1200, integer(0, 100_000), "tokens of the playbook in a prompt, at most"
    )
    learn: bool = _setting(True, boolean, "reflect after each turn")
    reflect_with_model: bool = _setting(True, boolean, "let a model reflect too")
    reflect: Reflect = _setting(
        "auto",
        one_of("choice", get_args(Reflect)),
        "which turns a model reflects on: auto, always or friction",
    )
    reflect_at_end: bool = _setting(True, boolean, "reflect at the end of a run without a screen")
    reflect_model: str = _setting(
        "", string, "model for reflection; empty: the session's", tightens=True
    )
    reflect_percent: int = _setting(
        15,
        integer(0, 100),
        "percent of what a session costs that reflection may cost",
        tightens=True,
    )
    diagnostics: tuple[str, ...] = _setting(
        (),
        list_of('a list of commands, for example ["ruff check ."]'),
        "commands that check the project after edits: linters, type checkers",
        env=False,
    )
    search_url: str = _setting(
        "", string, "address of web searches, with {query}; empty: none", env=False, tightens=True
    )
    search_header: str = _setting(
        "", string, "header of web searches, with {key}", env=False, tightens=True
    )
    search_key_env: str = _setting(
        "", string, "variable with the key for web searches", env=False, tightens=True
    )
    command_timeout: int = _setting(120, integer(1, 86_400), "seconds a command may run")
    sandbox: SandboxChoice = _setting(
        "auto",
        one_of("choice", get_args(SandboxChoice)),
        "run commands in a sandbox: auto (where there is one), required (or not at all) or off",
        tightens=True,
    )
    review_loops: int = _setting(
        20, integer(1, 1000), "requests to the model in one review, at most", tightens=True
    )
    review_part_tokens: int = _setting(
        8000, integer(500, 100_000), "tokens of code in one message of a review, about", env=False
    )
    review_verify_model: str = _setting(
        "", string, "model that checks a review's findings; empty: the session's", tightens=True
    )
    allow: tuple[str, ...] = _setting(
        (),
        _rules,
        "permission rules: run without asking, e.g. run(git status*)",
        env=False,
        tightens=True,
    )
    ask: tuple[str, ...] = _setting((), _rules, "permission rules: always ask", env=False)
    deny: tuple[str, ...] = _setting((), _rules, "permission rules: always refuse", env=False)
    db: str = _setting("", string, "database file or sqlite:/// URL", tightens=True)
    color: bool = _setting(True, boolean, "colour on the screen", env=False)
    theme: str = _setting(
        "auto",
        one_of("theme", ("auto", "dark", "light", "none")),
        "colours on the screen: auto, dark, light or none",
    )
    editing_mode: str = _setting(
        "emacs", one_of("editing mode", ("emacs", "vi")), "keys of the prompt: emacs or vi"
    )
    notify: str = _setting(
        "auto",
        one_of("way to notify", ("auto", "osc9", "osc777", "bell", "off")),
        "how a long turn's end and a waiting question are notified: auto, osc9, osc777, bell or off",
    )
    notify_after: int = _setting(
        10,
        integer(0, 86_400),
        "seconds that a turn takes, or a question waits, until you are notified",
    )
    origins: dict[str, str] = field(default_factory=dict, compare=False)

    def entry(self, name: str) -> ModelEntry | None:
        return next((entry for entry in self.models if name in entry.names), None)

    @property
    def reflect_every_turn(self) -> bool:
        """Whether a model reflects on every turn, not only on turns with friction."""
        return self.reflect == "always" or (self.reflect == "auto" and bool(self.reflect_model))

    @property
    def thresholds(self) -> dict[str, int]:
        pairs = (pair.partition("=") for pair in self.profile_thresholds)
        return {name.strip(): int(percent) for name, _, percent in pairs}


def _make_setting(name: str, default: Any, *, env: bool, **known: Any) -> _Setting:
    return _Setting(name, default, env=f"SWECLI_{name.upper()}" if env else "", **known)


SETTINGS = {
    f.name: _make_setting(f.name, f.default, **f.metadata) for f in fields(Settings) if f.metadata
}


def unknown_setting(name: str, where: str = "") -> ConfigError:
    """Return the error for an unknown setting, with the closest known name as a hint."""
    closest = closest_name(name, SETTINGS)
    hint = f"Did you mean {closest}?" if closest else "See `swecli config get` for the settings."
    if name == "roles":
        hint = "It stands for other settings in the file itself: use `swecli config edit`."
    return ConfigError(f"{where}{'unknown' if where else 'Unknown'} setting {name!r}.", hint)


def render_template() -> str:
    """Return a settings file that lists every setting with its default, commented out."""
    rows = [
        f"# {s.doc}\n# {s.name} = {format_toml(1 if s.default is None else s.default)}\n"
        for s in SETTINGS.values()
    ]
    return "\n".join([_TEMPLATE_HEAD, *rows])


@dataclass(frozen=True, slots=True)
class Start:
    """The configuration of a run. `resume` is None for a new session, "" for this directory's last one, else an id,
    prefix or title; with `pick` the user chooses one. `prompt` becomes the first message. `notices` are shown before
    the first prompt. `config` is the file given with `--config`."""

    settings: Settings
    paths: Paths
    cwd: Path
    environ: Mapping[str, str]
    choice: ModelChoice = ModelChoice("", "")
    resume: str | None = None
    pick: bool = False
    prompt: str = ""
    trust: FolderTrust = FolderTrust(Path())
    notices: tuple[str, ...] = ()
    config: Path | None = None
    suggestions: tuple[str, ...] = ()  # lines to type next, for a tutorial

    @property
    def trusted(self) -> bool:
        """Whether the user trusted the project's folder when the run started."""
        return self.trust.is_trusted

    def read_trust(self) -> FolderTrust:
        """Return what is trusted of the project's folder now."""
        if self.trust.everything:
            return self.trust
        return TrustLedger.of(self.paths).open(project_root(self.cwd))

    @property
    def database(self) -> str | Path:
        return self.settings.db or self.paths.database


def load_settings(
    *,
    user_file: Path,
    project_file: Path | None = None,
    project_text: str = "",
    environ: Mapping[str, str],
    flags: Mapping[str, Any],
    must_exist: bool = False,
) -> tuple[Settings, list[str]]:
    """Return the settings of this run, and notices for the user. The files may be missing, except the user file with
    `must_exist`. `project_text` is the trusted text of `project_file`; it can only tighten permissions. Raises
    ConfigError."""
    settings, notices = Settings(), []
    for layer, values in (
        (str(user_file), read_toml(user_file, must_exist=must_exist)),
        (str(project_file), parse_toml(project_text, project_file) if project_file else {}),
        (
            "environment",
            {s.name: environ[s.env] for s in SETTINGS.values() if s.env and environ.get(s.env)},
        ),
        ("flags", {name: value for name, value in flags.items() if value is not None}),
    ):
        parsed = _parse_layer(values, layer)
        if project_file and layer == str(project_file):
            refused = [
                name
                for name, value in parsed.items()
                if not _is_allowed_in_project(name, value, settings)
            ]
            notices += [
                f"{layer}: {name} is ignored, a project file may only tighten permissions"
                for name in refused
            ]
            parsed = {name: value for name, value in parsed.items() if name not in refused}
        settings = _apply(settings, parsed, layer)
    return settings, notices


def _parse_layer(values: Mapping[str, Any], layer: str) -> dict[str, Any]:
    """Parse and validate the values of a layer. Raises ConfigError."""
    parsed: dict[str, Any] = {}
    for name, value in _expand_roles(values, layer).items():
        if name not in SETTINGS:
            raise unknown_setting(name, f"{layer}: ")
        try:
            parsed[name] = SETTINGS[name].parse(value)
        except ValueError as error:
            raise ConfigError(f"{_written_name(layer, name)}: {error}.") from error
    return parsed


def _expand_roles(values: Mapping[str, Any], layer: str) -> dict[str, Any]:
    """Replace `roles` by the settings it is short for; an explicit setting wins. Raises ConfigError."""
    rest = dict(values)
    roles = rest.pop("roles", {})
    if not isinstance(roles, dict) or not set(roles) <= set(_ROLES):
        raise ConfigError(f"{layer}: roles takes main and fast, each with a model's name.")
    return {setting: model for role, model in roles.items() for setting in _ROLES[role]} | rest


def _is_allowed_in_project(name: str, value: Any, current: Settings) -> bool:
    """Return False if a project file must not set this: looser permissions, another service, more spending."""
    if not SETTINGS[name].tightens:
        return True
    present = getattr(current, name)
    if strict := _BY_STRICTNESS.get(name):
        return strict.index(value) <= strict.index(present)
    return isinstance(value, int | float) and (present is None or value <= present)


def _apply(settings: Settings, changed: dict[str, Any], layer: str) -> Settings:
    # each rule has its own origin, because rules of several layers add up
    rules = [
        f"{name}: {rule}" for name in ("allow", "ask", "deny") for rule in changed.get(name, ())
    ]
    for name in ("ask", "deny"):  # these accumulate: a later layer cannot remove a rule
        if name in changed:
            changed[name] = tuple(dict.fromkeys((*getattr(settings, name), *changed[name])))
    return replace(
        settings, **changed, origins=settings.origins | dict.fromkeys([*changed, *rules], layer)
    )


def _written_name(layer: str, name: str) -> str:
    """Return the name of a setting as it is written in that layer."""
    if layer == "flags":
        return f"--{name.replace('_', '-')}"
    if layer == "environment":
        return SETTINGS[name].env
    return f"{layer}: {name}"
