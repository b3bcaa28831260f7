"""From a model's name to the model: providers of this tree, then those of installed packages, then the fallback."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from swecli.config.settings import Settings
from swecli.discovery import by_name, declared_in
from swecli.llm import providers
from swecli.llm.base import ChatModel, Provider
from swecli.llm.endpoints import DEMO, SERVICES
from swecli.llm.price_table import find_row, limit
from swecli.llm.profile import Profile
from swecli.models.errors import AuthFailed, ModelNotFound, SwecliError
from swecli.models.message import ModelChunk, ModelRequest

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

ENTRY_POINTS = "swecli.providers"


def make_model(name: str, settings: Settings, environ: Mapping[str, str]) -> ChatModel:
    """The model `provider/name`, or the default one of `provider`. Nothing is sent and nothing heavy imported yet.

    Raises:
        ModelNotFound: for a name without provider or model, or an unknown provider; suggests near ones.
        AuthFailed: when the provider's key is not set; names the variable.
        BadInput: for a script that cannot be read.
    """
    name = name.strip()
    head, slash, _ = name.partition("/")
    found = _fallback() if settings.entry(name) else find_provider(head)
    if found.key_variables and not any(environ.get(key, "").strip() for key in found.key_variables):
        raise AuthFailed(
            f"{found.key_variables[0]} is not set, so {name} cannot be used.",
            f"Set it (export {found.key_variables[0]}=…), choose another model with -m, or try -m {DEMO}.",
        )
    return found.make(name if slash else found.default_model or name, settings, environ)


@dataclass(slots=True)
class UnreachableModel:
    """A model that is only measured for: its sizes are known, and whoever asks it gets the `reason` as an error."""

    name: str
    profile: Profile
    reason: SwecliError

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelChunk]:
        """Raises the reason."""
        raise self.reason
        yield ModelChunk()


def make_measured(name: str, settings: Settings, environ: Mapping[str, str]) -> ChatModel:
    """The model of that name, to measure requests for; one that cannot be made (no key, a script that is gone) has the
    sizes of litellm's local table, where that names it."""
    try:
        return make_model(name, settings, environ)
    except SwecliError as error:
        head, slash, model = name.partition("/")
        row = find_row(head, model) if slash else None
        sizes = (limit(row, "max_input_tokens", "max_tokens"), limit(row, "max_output_tokens", "max_tokens"))
        return UnreachableModel(name, Profile(*sizes), error)


def find_provider(name: str) -> Provider:
    """Who makes the models of that name. Raises ModelNotFound for an installed one that cannot be loaded."""
    if name in SERVICES:
        # late, and without the other modules of the folder: a first request waits for it
        from swecli.llm.providers.services import services  # noqa: PLC0415

        return services
    for own in in_tree():
        if name == own.name:
            return own
    for entry in installed():
        if entry.name == name:
            return load(entry)
    if name == DEMO:
        raise ModelNotFound(
            "The demo model is not installed with this copy of swecli.", "Run scripts/setup, or install it with pip."
        )
    return _fallback()


def _fallback() -> Provider:
    return next(own for own in in_tree() if own.fallback)


@cache
def in_tree() -> tuple[Provider, ...]:
    """Those that modules of `swecli/llm/providers` declare. Raises NameClash."""
    return tuple(by_name([(own.name, own) for own in declared_in(providers, Provider)]).values())


def installed() -> Iterator[EntryPoint]:
    """The entry points of providers that came with installed packages; none of them is loaded."""
    # late: it reads what is installed, which a known service needs not wait for
    from importlib.metadata import entry_points  # noqa: PLC0415

    yield from entry_points(group=ENTRY_POINTS)


def load(entry: EntryPoint) -> Provider:
    """The provider of an entry point. Raises ModelNotFound where it cannot be loaded."""
    try:
        value = entry.load()
    except Exception as error:  # noqa: BLE001  # foreign code: whatever it raises is a line for the user
        raise ModelNotFound(
            f"The provider {entry.name!r} cannot be loaded: {type(error).__name__}: {error}.",
            f"Update or remove the package that brings {entry.module}.",
        ) from error
    if isinstance(value, Provider):
        return value
    raise ModelNotFound(f"The provider {entry.name!r} is a {type(value).__name__}: {entry.value} declares no provider.")
