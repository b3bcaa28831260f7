"""A model of a service that may have both wires of OpenAI: chat completions and Responses."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any

from swecli.llm.endpoints import Endpoint
from swecli.llm.native import NativeModel
from swecli.llm.profile import Profile
from swecli.models.errors import UnsupportedFeature
from swecli.models.message import ModelChunk, ModelRequest


class OpenAIModel:
    """Answers over the wire that its profile names, and over the other one once the service has refused that one."""

    def __init__(
        self, endpoint: Endpoint, profile: Profile, learned: dict[str, Any] | None = None
    ) -> None:
        self.name = endpoint.name
        self._learned = learned
        self._endpoint = endpoint
        self._current = self._on_wire(profile)

    @property
    def profile(self) -> Profile:
        """The capabilities as far as they are known."""
        return self._current.profile

    @profile.setter
    def profile(self, profile: Profile) -> None:
        self._current.profile = profile

    @property
    def endpoint(self) -> Endpoint:
        """The endpoint that is asked."""
        return self._current.endpoint

    def warm(self) -> None:
        """Import what the first request needs."""
        self._current.warm()

    def thinking_sent(self, level: str, limit: int) -> dict[str, Any]:
        """Return what asks for a thinking level: see `NativeModel.thinking_sent`."""
        return self._current.thinking_sent(level, limit)

    def body(self, request: ModelRequest) -> dict[str, Any]:
        """Return the body of a request."""
        return self._current.body(request)

    async def send_early(self, request: ModelRequest) -> None:
        """Send a request now: see `NativeModel.send_early`."""
        await self._current.send_early(request)

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelChunk]:
        """Stream the answer to one request: see `NativeModel.stream`."""
        current = self._current
        try:
            async with aclosing(current.stream(request)) as chunks:
                async for chunk in chunks:
                    yield chunk
        except UnsupportedFeature:
            if current.profile.wire != current.wire:
                self._endpoint = current.endpoint
                self._current = self._on_wire(current.profile)
                self._current.continue_for(current)
            raise

    def _on_wire(self, profile: Profile) -> NativeModel:
        if profile.wire == "responses":
            # late: only the wire in use is imported
            from swecli.llm.providers.responses import Responses

            return Responses(self._endpoint, profile, self._learned)
        if self._endpoint.api == "litellm":
            # late: as above
            from swecli.llm.providers.litellm import LiteLLMModel

            return LiteLLMModel(self._endpoint, profile, self._learned)
        # late: as above
        from swecli.llm.providers.openai_chat import OpenAIChat

        return OpenAIChat(self._endpoint, profile, self._learned)
