"""The ChatModel protocol, and the `@provider` decorator that registers a model factory (built in or installed)."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Mapping
from typing import Protocol

from swecli.config.settings import Settings
from swecli.llm.endpoints import Service
from swecli.llm.profile import Profile
from swecli.models.message import ModelChunk, ModelRequest


class ChatModel(Protocol):
    """A model with a streaming request. `name` is `provider/name`. Optional: `review_notice`, a line shown when it
    starts a review, and `warm()`, which imports in a background thread what its first request needs."""

    name: str
    profile: Profile

    def stream(self, request: ModelRequest) -> AsyncGenerator[ModelChunk]:
        """Stream the answer to one request, without retries. The last chunk has `stop`; a stream that ends without it
        was cut off. Raises a ProviderError (see `models/errors.py`) at any point."""
        ...


Make = Callable[[str, Settings, Mapping[str, str]], ChatModel]


def provider(
    name: str, key_variables: tuple[str, ...] = (), default_model: str = ""
) -> Callable[[Make], Service]:
    """Register a function as the factory of the models named `name/...`. One of `key_variables`, if given, must be set
    in the environment. `default_model` is used when the user gives only the provider's name."""
    return lambda make: Service(name, key_variables, default_model=default_model, make=make)
