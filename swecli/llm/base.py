"""The door to a model: one method, for every provider and for the models that ship with the product."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Protocol

from swecli.models.model_io import ModelChunk, ModelRequest


class ChatModel(Protocol):
    """A model that answers requests with a stream.

    `name` is `provider/name`; `context_window` and `max_output` are in tokens, None where unknown;
    `offline` is set for models that ship in the package and use no network; `encoding` names the tiktoken
    table that counts best for it.
    """

    name: str
    context_window: int | None
    max_output: int | None
    offline: bool
    encoding: str

    def stream(self, request: ModelRequest) -> AsyncIterator[ModelChunk]:
        """Answer one request, piece by piece; one attempt, no retries.

        The last chunk carries `stop`; a stream that ends without one was cut off.

        Raises:
            ProviderError: one of its kinds (see `models/errors.py`), at any point of the stream.
        """
        ...
