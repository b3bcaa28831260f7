"""The ChatModel protocol, and the `@provider` decorator that registers a model factory (built in or installed)."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Mapping
from datetime import date
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from swecli.config.settings import Settings
from swecli.llm.profile import Profile
from swecli.llm.services import Service

if TYPE_CHECKING:  # a model is chosen before there is a message
    from swecli.models.message import ModelChunk, ModelRequest


class ChatModel(Protocol):
    """A model with a streaming request. `name` is `provider/name`. Optional: `no_review`, why it cannot review,
    and `warm()`, which imports in a background thread what its first request needs."""

    name: str
    profile: Profile

    def stream(self, request: ModelRequest) -> AsyncGenerator[ModelChunk]:
        """Stream the answer to one request, without retries. The last chunk has `stop`; a stream that ends without it
        was cut off. Raises a ProviderError (see `models/errors.py`) at any point."""
        ...


@runtime_checkable
class ThinkingModel(ChatModel, Protocol):
    """A model of which it is known how a thinking level is asked for."""

    def thinking_sent(self, level: str, limit: int) -> dict[str, Any]:
        """Return the fields of a request that ask for a level, {} if there are none. `limit` is the longest answer in
        tokens."""
        ...


def budget_problem(model: ChatModel, settings: Settings) -> str:
    """Return why the cost limit of the settings cannot be kept with this model, "" if it can or none is set."""
    if settings.max_budget_usd is None or model.profile.is_priced():
        return ""
    limit = f"the limit of ${settings.max_budget_usd:g} (max_budget_usd) cannot be kept"
    return f"The price of {model.name} is unknown: {limit}."


def budget_doubt(model: ChatModel, settings: Settings) -> str:
    """Return why the cost limit of the settings may be missed with this model, "" if there is no such reason."""
    profile = model.profile
    if settings.max_budget_usd is None or profile.reports_cost or not profile.priced_like:
        return ""
    limit = f"the limit of ${settings.max_budget_usd:g} (max_budget_usd) is kept with that"
    return f"The price of {model.name} is guessed, like {profile.priced_like}: {limit}."


def end_of_service(model: ChatModel) -> str:
    """Return that the model is no longer served, "" if its last day is unknown or to come."""
    last_day = model.profile.deprecation_date
    if last_day is None or last_day >= date.today():
        return ""
    return f"{model.name} was served until {last_day.isoformat()}: choose another model with -m if it is refused."


BUDGET_HINT = (
    "Set its price in [models.NAME] of config.toml, choose another model, or leave out the limit."
)
Make = Callable[[str, Settings, Mapping[str, str]], ChatModel]


def provider(
    name: str, key_variables: tuple[str, ...] = (), default_model: str = ""
) -> Callable[[Make], Service]:
    """Register a function as the factory of the models named `name/...`. One of `key_variables`, if given, must be set
    in the environment. `default_model` is used when the user gives only the provider's name."""
    return lambda make: Service(name, key_variables, default_model=default_model, make=make)
