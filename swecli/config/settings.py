"""Everything a user can set, with its default and one line of what it does. Standard library only: read at start."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any

from swecli.models.message import Mode
from swecli.models.window import DEFAULT_SLACK, WindowSpec


def _setting(default: Any, doc: str, env: str = "") -> Any:
    return field(default=default, metadata={"doc": doc, "env": env})


@dataclass(frozen=True, slots=True)
class Settings:
    """One frozen value for a run. `origins` names, for each setting, the layer that won, and for each permission rule
    ("allow: run(git status*)") the one it stands in."""

    model: str = _setting("", "model as provider/name; empty: chosen at start", "SWECLI_MODEL")
    window: WindowSpec = _setting(
        WindowSpec(slack=DEFAULT_SLACK), "reflection window: N, N+S, full or auto", "SWECLI_WINDOW"
    )
    window_min: int = _setting(3, "smallest window that `auto` picks", "SWECLI_WINDOW_MIN")
    window_max: int = _setting(10, "largest window that `auto` picks", "SWECLI_WINDOW_MAX")
    auto_condense_context: bool = _setting(
        True, "let a model sum up a conversation that is too long", "SWECLI_AUTO_CONDENSE_CONTEXT"
    )
    auto_condense_context_percent: int = _setting(
        75,
        "percent of the model's window at which the context is made smaller, 50 to 100",
        "SWECLI_AUTO_CONDENSE_CONTEXT_PERCENT",
    )
    profile: str = _setting("default", "profile whose threshold counts", "SWECLI_PROFILE")
    profile_thresholds: tuple[str, ...] = _setting((), "thresholds of profiles, e.g. review=60; -1 inherits")
    custom_condensing_prompt: str = _setting("", "what a model is asked when it sums up; empty: the built-in text")
    condense_model: str = _setting("", "model for summing up; empty: the session's", "SWECLI_CONDENSE_MODEL")
    cache_minutes: int = _setting(5, "minutes a provider keeps what it was sent", "SWECLI_CACHE_MINUTES")
    mode: Mode = _setting("ask", "ask, edits, plan or auto", "SWECLI_MODE")
    max_turns: int = _setting(50, "requests to the model in one turn, at most", "SWECLI_MAX_TURNS")
    max_budget_usd: float | None = _setting(None, "stop the turn when it has cost this much", "SWECLI_MAX_BUDGET_USD")
    max_tokens: int | None = _setting(None, "length of one answer, in tokens", "SWECLI_MAX_TOKENS")
    max_strategies: int = _setting(30, "playbook strategies in a prompt, at most", "SWECLI_MAX_STRATEGIES")
    playbook_tokens: int = _setting(1200, "tokens of the playbook in a prompt, at most", "SWECLI_PLAYBOOK_TOKENS")
    learn: bool = _setting(True, "reflect after each turn", "SWECLI_LEARN")
    reflect_with_model: bool = _setting(True, "let a model reflect after friction", "SWECLI_REFLECT_WITH_MODEL")
    reflect_model: str = _setting("", "model for reflection; empty: the session's", "SWECLI_REFLECT_MODEL")
    reflect_percent: int = _setting(15, "reflecting may take this % of a session's tokens", "SWECLI_REFLECT_PERCENT")
    reflect_usd_per_day: float | None = _setting(
        None, "reflecting may cost this much a day", "SWECLI_REFLECT_USD_PER_DAY"
    )
    ablation: str = _setting("never", "leave strategies out to measure them: off:N, one:N", "SWECLI_ABLATION")
    command_timeout: int = _setting(120, "seconds a command may run", "SWECLI_COMMAND_TIMEOUT")
    review_loops: int = _setting(20, "requests to the model in one review, at most", "SWECLI_REVIEW_LOOPS")
    review_leads: tuple[str, ...] = _setting((), "more tools a review asks for leads, e.g. mypy {files}")
    allow: tuple[str, ...] = _setting((), "permission rules that run unasked, e.g. run(git status*)")
    ask: tuple[str, ...] = _setting((), "permission rules that always ask")
    deny: tuple[str, ...] = _setting((), "permission rules that are always refused")
    db: str = _setting("", "database file or sqlite:/// URL", "SWECLI_DB")
    color: bool = _setting(True, "colour on the screen")
    origins: dict[str, str] = field(default_factory=dict, compare=False)

    @property
    def thresholds(self) -> dict[str, int]:
        """`profile_thresholds` by profile."""
        pairs = (pair.partition("=") for pair in self.profile_thresholds)
        return {name.strip(): int(percent) for name, _, percent in pairs}


def described() -> list[tuple[str, str, str, Any]]:
    """(name, what it does, environment variable or "", default) of every setting, in their order."""
    rows = [f for f in fields(Settings) if f.metadata]
    return [(f.name, f.metadata["doc"], f.metadata["env"], f.default) for f in rows]
