"""Requests and their answers, for tests of anything that talks to a model."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

from swecli.config.settings import Settings
from swecli.llm.base import ChatModel
from swecli.llm.endpoints import resolve
from swecli.llm.merge import ReplyBuilder
from swecli.llm.patience import Patience
from swecli.llm.providers.litellm import LiteLLMModel
from swecli.models.message import ModelChunk, ModelReply, ModelRequest, ToolSpec
from tests.support.strict_provider import StrictProvider

READ = ToolSpec("read_file", "Reads a file.", {"type": "object", "properties": {"path": {"type": "string"}}})
HELLO = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "hi"}]


def request(messages: Sequence[Mapping[str, Any]] = HELLO, **more: Any) -> ModelRequest:
    return ModelRequest("m", [dict(message) for message in messages], **more)


def model_at(server: StrictProvider, name: str, patience: Patience | None = None, **settings: Any) -> LiteLLMModel:
    """The model as a user with this server's variables set gets it."""
    endpoint = resolve(name, server.environ())
    return LiteLLMModel(endpoint, max_tokens=Settings(**settings).max_tokens, patience=patience)


async def collect(chunks: AsyncIterator[ModelChunk]) -> list[ModelChunk]:
    return [chunk async for chunk in chunks]


async def ask(model: ChatModel, what: ModelRequest) -> ModelReply:
    builder = ReplyBuilder()
    async for chunk in model.stream(what):
        builder.add(chunk)
    return builder.build()
