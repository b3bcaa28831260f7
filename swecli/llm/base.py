"""The door to a model, and what declares who makes it: the same for every provider, in the tree or installed."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

from swecli.config.settings import Settings
from swecli.llm.endpoints import Service
from swecli.llm.profile import Profile
from swecli.models.message import ModelChunk, ModelRequest


class ChatModel(Protocol):
    """A model that answers requests with a stream: its name (`provider/name`) and what it can do.

    Two more are looked for where a model has them: `review_notice`, a line that a review by it begins with, and
    `warm()`, run in a background thread, which loads what a first request needs.
    """

    name: str
    profile: Profile

    def stream(self, request: ModelRequest) -> AsyncIterator[ModelChunk]:
        """Answer one request, piece by piece; one attempt, no retries.

        The last chunk carries `stop`; a stream that ends without one was cut off.

        Raises:
            ProviderError: one of its kinds (see `models/errors.py`), at any point of the stream.
        """
        ...


Make = Callable[[str, Settings, Mapping[str, str]], ChatModel]


@dataclass(frozen=True, slots=True)
class Provider:
    """Makes the models named `name/...`.

    `make` takes the whole name, the settings and the environment. `key_variables` may hold the key, the first that
    is set counts; without one of them no model is made. `default_model` is meant by the provider's name alone.
    `listed` are the services behind it, where it reaches several.
    """

    name: str
    make: Make
    key_variables: tuple[str, ...] = ()
    default_model: str = ""
    fallback: bool = False
    listed: tuple[Service, ...] = ()

    @property
    def services(self) -> tuple[Service, ...]:
        """What it reaches, for a list: itself where nothing else is named, nothing without key or default model."""
        if self.listed or not (self.key_variables or self.default_model):
            return self.listed
        return (Service(self.name, self.key_variables, default_model=self.default_model),)


def provider(
    name: str,
    key_variables: tuple[str, ...] = (),
    default_model: str = "",
    fallback: bool = False,
    listed: tuple[Service, ...] = (),
) -> Callable[[Make], Provider]:
    """Declare that a function makes the models named `name/...`; `fallback` for the one that takes all other names."""
    return lambda make: Provider(name, make, key_variables, default_model, fallback, listed)
