"""Requests and models for tests that send requests to a model."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from typing import Any

from swecli.llm.base import ChatModel
from swecli.llm.endpoints import Endpoint, resolve
from swecli.llm.price_table import find_row
from swecli.llm.registry import create_model
from swecli.llm.reply import ReplyBuilder
from swecli.models.message import ModelChunk, ModelReply, ModelRequest, ToolSpec
from tests.support.strict_provider import StrictProvider

READ = ToolSpec(
    "read_file", "Reads a file.", {"type": "object", "properties": {"path": {"type": "string"}}}
)
HELLO: list[Any] = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "hi"}]


def request(messages: Sequence[Any] = HELLO, **more: Any) -> ModelRequest:
    copies: list[Any] = [dict(message) for message in messages]
    return ModelRequest("m", copies, **more)


def model_at(server: StrictProvider, name: str, **clocks: float) -> ChatModel:
    """Return the model that a user gets who has this server's environment variables set."""
    return model_for_endpoint(replace(resolve(name, server.environ()), **clocks))  # type: ignore[arg-type]


def model_for_endpoint(endpoint: Endpoint) -> ChatModel:
    """Return the model of an endpoint."""
    return create_model(endpoint, find_row(endpoint.provider, endpoint.model))


async def collect(chunks: AsyncIterator[ModelChunk]) -> list[ModelChunk]:
    return [chunk async for chunk in chunks]


async def ask(model: ChatModel, what: ModelRequest) -> ModelReply:
    builder = ReplyBuilder()
    async for chunk in model.stream(what):
        builder.add(chunk)
    return builder.build()
