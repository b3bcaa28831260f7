"""The door to a model, and what declares who makes it: the same for every provider, in the tree or installed."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

from swecli.config.settings import Settings
from swecli.llm.endpoints import Service
from swecli.llm.profile import Profile
from swecli.models.message import ModelChunk, ModelRequest


class ChatModel(Protocol):
    """A model that answers requests with a stream: its name (`provider/name`) and what it can do. It may have
    `review_notice`, a line that a review by it begins with, and `warm()`, which loads in a background thread what a
    first request needs."""

    name: str
    profile: Profile

    def stream(self, request: ModelRequest) -> AsyncGenerator[ModelChunk]:
        """Answer one request, piece by piece; one attempt. The last chunk carries `stop`; a stream that ends without
        one was cut off. Raises a kind of ProviderError (see `models/errors.py`) at any point."""
        ...


Make = Callable[[str, Settings, Mapping[str, str]], ChatModel]


@dataclass(frozen=True, slots=True)
class Provider:
    """Makes the models named `service.name/...`: `make` takes the whole name, the settings and the environment."""

    service: Service
    make: Make


def provider(name: str, key_variables: tuple[str, ...] = (), default_model: str = "") -> Callable[[Make], Provider]:
    """Declare that a function makes the models named `name/...`. `key_variables` may hold the key, the first that is
    set counts; without one of them no model is made. `default_model` is meant by the provider's name alone."""
    return lambda make: Provider(Service(name, key_variables, default_model=default_model), make)
