"""Every setting with its default, parser and description; and loading them from their layers: defaults < user file <
project file < environment < flags. Imported before the first key, so only the standard library."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import field, fields, replace
from pathlib import Path
from typing import Any, Literal, get_args

from swecli.config.model_entry import ModelEntry, parse_models
from swecli.config.parsers import (
    KeyChoice,
    OneOf,
    boolean,
    closest_name,
    integer,
    list_of,
    parse_keys,
    string,
)
from swecli.config.paths import Paths, project_root
from swecli.config.status_template import parse_template
from swecli.config.toml_files import format_toml, parse_toml, read_toml
from swecli.config.trust import FolderTrust, TrustLedger
from swecli.models.errors import ConfigError
from swecli.models.mode import MODES, Mode
from swecli.models.model_choice import ModelChoice
from swecli.models.window_spec import DEFAULT_SLACK, WindowSpec
from swecli.values import dataclass

# the settings that a role of the table [roles] is short for
_ROLES = {
    "main": ("model",),
    "fast": ("reflect_model", "condense_model", "review_verify_model"),
}
_TEMPLATE_HEAD = (
    "# Settings of swecli. `swecli config get --origin` shows each value and where it comes from.\n"
)
InProject = Literal["any", "stricter", "never"]
SandboxChoice = Literal["auto", "off", "required"]
# the values of the settings that are no numbers but differ in strictness, the strictest first
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
class Setting:
    """One setting.

    Attributes:
        name: Its name in a settings file; a tuple as default means that it takes a list.
        default: Its value if no layer sets it.
        parse: Converts a value from TOML, the environment or a flag. Raises ValueError.
        doc: What it does, for `swecli config` and the reference.
        has_variable: Whether an environment variable can set it; a list or a text for others has none.
        in_project: What a project file may do: set any value, only a stricter one, or none.
    """

    name: str
    default: Any
    parse: Callable[[Any], Any]
    doc: str
    has_variable: bool = True
    in_project: InProject = "any"

    @property
    def variable(self) -> str:
        """The environment variable that sets it, or ""."""
        return f"SWECLI_{self.name.upper()}" if self.has_variable else ""

    @property
    def choices(self) -> tuple[str, ...]:
        """The values that it may have, () if they are not a short list."""
        if isinstance(self.parse, OneOf):
            return tuple(self.parse.choices)
        return ("true", "false") if self.parse is boolean else ()

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
    default: Any,
    parse: Callable[[Any], Any],
    doc: str,
    *,
    has_variable: bool = True,
    in_project: InProject = "any",
) -> Any:
    """Declare a field of Settings. The arguments are those of `Setting`, whose name is the field's."""
    declared = {
        "parse": parse,
        "doc": doc,
        "has_variable": has_variable,
        "in_project": in_project,
    }
    return field(default=default, metadata=declared)


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings of a run. `origins` maps each setting to the layer that set it, and each permission rule ("allow:
    run(git status*)") to the layer that contains it."""

    model: str = _setting(
        "",
        string,
        "model as provider/name, or a [models.NAME]; empty: chosen at start",
        in_project="never",
    )
    models: tuple[ModelEntry, ...] = _setting(
        (),
        parse_models,
        "models of your own: tables [models.NAME]",
        has_variable=False,
        in_project="never",
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
        (), _thresholds, "thresholds of profiles, e.g. review=60; -1 inherits", has_variable=False
    )
    custom_condensing_prompt: str = _setting(
        "",
        string,
        "prompt for summarising; empty: the built-in one",
        has_variable=False,
        in_project="never",
    )
    condense_model: str = _setting(
        "", string, "model for summarising; empty: the session's", in_project="never"
    )
    fallback: tuple[str, ...] = _setting(
        (),
        list_of('a list of models, for example ["openai/gpt-5.5"]'),
        "models that a turn goes on with, in this order, when its own is overloaded or cannot be reached",
        has_variable=False,
        in_project="never",
    )
    search_earlier: bool = _setting(True, boolean, "quote earlier turns that a query refers to")
    cache_minutes: int = _setting(
        5, integer(0, 10_000), "minutes a provider keeps its cache of the prompt"
    )
    mode: Mode = _setting(
        "ask", OneOf("mode", MODES), "ask, edits, plan or auto", in_project="stricter"
    )
    max_turns: int = _setting(
        50, integer(1, 10_000), "requests to the model in one turn, at most", in_project="stricter"
    )
    max_budget_usd: float | None = _setting(
        None, _dollars, "stop the turn when it has cost this much", in_project="stricter"
    )
    # a goal that nobody watches ends in an hour, for a few dollars
    goal_turns: int = _setting(
        20, integer(1, 10_000), "turns that a goal may take", in_project="stricter"
    )
    goal_budget_usd: float = _setting(
        5.0, _dollars, "stop a goal when it has cost this much", in_project="stricter"
    )
    goal_minutes: int = _setting(
        60, integer(1, 10_000), "stop a goal after this many minutes", in_project="stricter"
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
        OneOf("choice", get_args(Reflect)),
        "which turns a model reflects on: auto, always or friction",
    )
    reflect_at_end: bool = _setting(True, boolean, "reflect at the end of a run without a screen")
    reflect_model: str = _setting(
        "", string, "model for reflection; empty: the session's", in_project="never"
    )
    reflect_percent: int = _setting(
        15,
        integer(0, 100),
        "percent of what a session costs that reflection may cost",
        in_project="stricter",
    )
    diagnostics: tuple[str, ...] = _setting(
        (),
        list_of('a list of commands, for example ["ruff check ."]'),
        "commands that check the project after edits: linters, type checkers",
        has_variable=False,
    )
    search_url: str = _setting(
        "",
        string,
        "address of web searches, with {query}; empty: none",
        has_variable=False,
        in_project="never",
    )
    search_header: str = _setting(
        "", string, "header of web searches, with {key}", has_variable=False, in_project="never"
    )
    search_key_env: str = _setting(
        "", string, "variable with the key for web searches", has_variable=False, in_project="never"
    )
    command_timeout: int = _setting(120, integer(1, 86_400), "seconds a command may run")
    sandbox: SandboxChoice = _setting(
        "auto",
        OneOf("choice", get_args(SandboxChoice)),
        "run commands in a sandbox: auto (where there is one), required (or not at all) or off",
        in_project="stricter",
    )
    review_loops: int = _setting(
        20,
        integer(1, 1000),
        "requests to the model for one part of a review, at most",
        in_project="stricter",
    )
    review_part_tokens: int = _setting(
        8000,
        integer(500, 100_000),
        "tokens of code in one message of a review, about",
        has_variable=False,
    )
    # the window of seed 000, and its figures
    review_window_after: int = _setting(
        5,
        integer(0, 1000),
        "loops of a review after which a long part leaves out its oldest messages",
        has_variable=False,
    )
    review_window_over: int = _setting(
        15,
        integer(2, 1000),
        "messages that a long part may have before that",
        has_variable=False,
    )
    review_window_keep: int = _setting(
        10,
        integer(1, 1000),
        "of these, the newest messages that stay",
        has_variable=False,
    )
    review_verify_model: str = _setting(
        "",
        string,
        "model that checks a review's findings; empty: the session's",
        in_project="never",
    )
    allow: tuple[str, ...] = _setting(
        (),
        _rules,
        "permission rules: run without asking, e.g. run(git status*)",
        has_variable=False,
        in_project="never",
    )
    ask: tuple[str, ...] = _setting((), _rules, "permission rules: always ask", has_variable=False)
    deny: tuple[str, ...] = _setting(
        (), _rules, "permission rules: always refuse", has_variable=False
    )
    db: str = _setting("", string, "database file or sqlite:/// URL", in_project="never")
    color: bool = _setting(True, boolean, "colour on the screen", has_variable=False)
    plain: bool = _setting(
        False, boolean, "for screen readers: only lines of text, nothing is redrawn"
    )
    theme: str = _setting(
        "auto",
        OneOf("theme", ("auto", "dark", "light", "none")),
        "colours on the screen: auto, dark, light or none",
    )
    editing_mode: str = _setting(
        "emacs", OneOf("editing mode", ("emacs", "vi")), "keys of the prompt: emacs or vi"
    )
    status_line: str = _setting(
        "",
        parse_template,
        "line below the prompt, with figures in braces, e.g. {model} · {cost}; empty: the built-in one",
        has_variable=False,
    )
    next_price: bool = _setting(
        False, boolean, "show below the prompt what the next request costs at least"
    )
    status_command: str = _setting(
        "",
        string,
        "shell command that gets the figures as JSON and prints the line below the prompt",
        has_variable=False,
        in_project="never",
    )
    keys: tuple[KeyChoice, ...] = _setting(
        (),
        parse_keys,
        "keys of the prompt's actions: a table [keys]",
        has_variable=False,
        in_project="never",
    )
    notify: str = _setting(
        "auto",
        OneOf("way to notify", ("auto", "osc9", "osc777", "bell", "off")),
        "how a long turn's end and a waiting question are notified: auto, osc9, osc777, bell or off",
    )
    notify_after: int = _setting(
        10,
        integer(0, 86_400),
        "seconds that a turn takes, or a question waits, until you are notified",
    )
    log: str = _setting(
        "warning",
        OneOf("log level", ("debug", "info", "warning")),
        "least level of what is written to the log file: debug, info or warning",
        in_project="never",
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


SETTINGS = {
    declared.name: Setting(declared.name, declared.default, **declared.metadata)
    for declared in fields(Settings)
    if declared.metadata  # `origins` is no setting
}


def unknown_setting(name: str, location: str = "") -> ConfigError:
    """Return the error for an unknown setting, with the closest known name as a hint."""
    closest = closest_name(name, SETTINGS)
    hint = f"Did you mean {closest}?" if closest else "See `swecli config get` for the settings."
    if name == "roles":
        hint = "It stands for other settings in the file itself: use `swecli config edit`."
    return ConfigError(f"{location}{'unknown' if location else 'Unknown'} setting {name!r}.", hint)


def render_template() -> str:
    """Return a settings file that lists every setting with its default, commented out."""
    lines = [_TEMPLATE_HEAD]
    for setting in SETTINGS.values():
        # TOML has no null: a setting without a default gets an example
        example = 1 if setting.default is None else setting.default
        lines.append(f"# {setting.doc}\n# {setting.name} = {format_toml(example)}\n")
    return "\n".join(lines)


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A line to type next, and what to look at when it runs."""

    line: str
    look: str


@dataclass(frozen=True, slots=True)
class Start:
    """The configuration of a run. `resume` is None for a new session, "" for this directory's last one (if `attended`
    one that is not a script's alone), else an id, prefix or title; with `pick` the user chooses one. `prompt` becomes
    the first message. `notices` are shown before the first prompt. `config` is the file given with `--config`."""

    settings: Settings
    paths: Paths
    cwd: Path
    environ: Mapping[str, str]
    choice: ModelChoice = ModelChoice("", "")
    resume: str | None = None
    pick: bool = False
    attended: bool = False
    prompt: str = ""
    trust: FolderTrust = FolderTrust(Path())
    notices: tuple[str, ...] = ()
    config: Path | None = None
    add_dirs: tuple[str, ...] = ()  # folders to add to the session, as the flags name them
    suggestions: tuple[Suggestion, ...] = ()  # to type next, for a tutorial
    asks_for_model: bool = False  # before the first line

    @property
    def trusted(self) -> bool:
        """Whether the user trusted the project's folder when the run started."""
        return self.trust.is_trusted

    def read_trust(self) -> FolderTrust:
        """Return what is trusted of the project's folder now."""
        if self.trust.everything:
            return self.trust
        return TrustLedger.find(self.paths).trust_in(project_root(self.cwd))

    @property
    def settings_file(self) -> Path:
        """The user's settings file."""
        return self.config or self.paths.config_file

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
    settings = Settings()

    user_values = read_toml(user_file, must_exist=must_exist)
    settings = _apply(settings, _parse_layer(user_values, str(user_file)), str(user_file))

    notices: list[str] = []
    if project_file is not None:
        layer = str(project_file)
        parsed = _parse_layer(parse_toml(project_text, project_file), layer)
        allowed = _allowed_in_project(parsed, settings)
        notices = [
            f"{layer}: {name} is ignored, a project file may only tighten permissions"
            for name in parsed
            if name not in allowed
        ]
        settings = _apply(settings, allowed, layer)

    variables = _read_variables(environ)
    settings = _apply(settings, _parse_layer(variables, "environment"), "environment")

    flag_values = {name: value for name, value in flags.items() if value is not None}
    settings = _apply(settings, _parse_layer(flag_values, "flags"), "flags")
    return settings, notices


def _read_variables(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the settings that environment variables set, by name. An empty variable sets nothing."""
    values: dict[str, str] = {}
    for setting in SETTINGS.values():
        value = environ.get(setting.variable)
        if setting.has_variable and value:
            values[setting.name] = value
    return values


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
    expanded: dict[str, Any] = {}
    for role, model in roles.items():
        expanded |= dict.fromkeys(_ROLES[role], model)
    return expanded | rest


def _allowed_in_project(parsed: Mapping[str, Any], current: Settings) -> dict[str, Any]:
    """Return those of a project file's values that it may set."""
    return {
        name: value
        for name, value in parsed.items()
        if _is_allowed_in_project(SETTINGS[name], value, getattr(current, name))
    }


def _is_allowed_in_project(setting: Setting, value: Any, present: Any) -> bool:
    """Return False if a project file must not set this: looser permissions, another service, more spending."""
    if setting.in_project != "stricter":
        return setting.in_project == "any"
    strictest_first = _BY_STRICTNESS.get(setting.name)
    if strictest_first:
        return strictest_first.index(value) <= strictest_first.index(present)
    return present is None or bool(value <= present)  # of numbers, the smaller is the stricter


def _apply(settings: Settings, changes: Mapping[str, Any], layer: str) -> Settings:
    """Return the settings with the values of a layer."""
    values = dict(changes)
    for name in ("ask", "deny"):  # these accumulate: a later layer cannot remove a rule
        if name in changes:
            rules_of_both = (*getattr(settings, name), *changes[name])
            values[name] = tuple(dict.fromkeys(rules_of_both))

    # each rule has its own origin, because rules of several layers add up
    rules = [
        f"{name}: {rule}" for name in ("allow", "ask", "deny") for rule in changes.get(name, ())
    ]
    origins = settings.origins | dict.fromkeys([*changes, *rules], layer)
    return replace(settings, **values, origins=origins)


def _written_name(layer: str, name: str) -> str:
    """Return the name of a setting as it is written in that layer."""
    if layer == "flags":
        return f"--{name.replace('_', '-')}"
    if layer == "environment":
        return SETTINGS[name].variable
    return f"{layer}: {name}"
