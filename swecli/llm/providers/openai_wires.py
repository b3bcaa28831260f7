"""A model of a service that may have both wires of OpenAI: chat completions and Responses."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any

from swecli.llm.endpoints import Endpoint
from swecli.llm.learned_facts import LearnedFacts
from swecli.llm.native import NativeModel
from swecli.llm.profile import Profile
from swecli.models.errors import UnsupportedFeature
from swecli.models.message import ModelChunk, ModelRequest


class OpenAIModel:
    """Answers over the wire that its profile names, and over the other one once the service has refused that one."""

    def __init__(
        self, endpoint: Endpoint, profile: Profile, facts: LearnedFacts | None = None
    ) -> None:
        self.name = endpoint.name
        self._facts = facts
        self._given = endpoint
        self._used = self._on_wire(profile)

    @property
    def profile(self) -> Profile:
        """The capabilities as far as they are known."""
        return self._used.profile

    @profile.setter
    def profile(self, known: Profile) -> None:
        self._used.profile = known

    @property
    def endpoint(self) -> Endpoint:
        """The endpoint that is asked."""
        return self._used.endpoint

    def warm(self) -> None:
        """Import what the first request needs."""
        self._used.warm()

    def body(self, request: ModelRequest) -> dict[str, Any]:
        """Return the body of a request."""
        return self._used.body(request)

    async def send_ahead(self, request: ModelRequest) -> None:
        """Send a request now: see `NativeModel.send_ahead`."""
        await self._used.send_ahead(request)

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelChunk]:
        """Stream the answer to one request: see `NativeModel.stream`."""
        used = self._used
        try:
            async with aclosing(used.stream(request)) as chunks:
                async for chunk in chunks:
                    yield chunk
        except UnsupportedFeature:
            if used.profile.wire != used.wire:
                self._used = self._on_wire(used.profile)
                self._used.continue_for(used)
            raise

    def _on_wire(self, profile: Profile) -> NativeModel:
        if profile.wire == "responses":
            # late: only the wire in use is imported
            from swecli.llm.providers.responses import Responses

            return Responses(self._given, profile, self._facts)
        if self._given.api == "litellm":
            # late: as above
            from swecli.llm.providers.litellm import LiteLLMModel

            return LiteLLMModel(self._given, profile, self._facts)
        # late: as above
        from swecli.llm.providers.openai_chat import OpenAIChat

        return OpenAIChat(self._given, profile, self._facts)
