"""Test each quirk of a service on each protocol, headless and in the REPL: the output, and the number of paid
requests."""

from __future__ import annotations

import io
import re
from collections.abc import AsyncGenerator, Iterator
from pathlib import Path
from typing import Any

import pytest

from swecli.app import Runtime, build_runtime
from swecli.config.settings import Start
from swecli.headless.prompts import Prompt, read_prompts
from swecli.headless.runner import refuse, run_prompts
from swecli.headless.writers.base import make_writer
from swecli.llm.base import ChatModel
from swecli.llm.retries import LONGEST_WAIT
from swecli.models.approval import Ask
from swecli.models.errors import Unavailable
from swecli.models.message import ModelChunk, ModelRequest
from tests.support.model_requests import model_at
from tests.support.quirks import PAGE, QUIRKS, Quirk, page
from tests.support.runtime import make_runtime
from tests.support.screenless import play
from tests.support.strict_provider import StrictProvider

NAMES = {
    "openai": "openai/gpt-4.1",
    "anthropic": "anthropic/claude-haiku-4-5",
    "responses": "openai/gpt-6.1-sol",
    "gemini": "gemini/gemini-3.8-flash",
}
CASES = [
    pytest.param(quirk, wire, id=f"{quirk.what}-{wire}") for quirk in QUIRKS for wire in quirk.wires
]
each = pytest.mark.parametrize(("quirk", "wire"), CASES)


@pytest.fixture
def server(quirk: Quirk) -> Iterator[StrictProvider]:
    models = tuple(name.partition("/")[2] for name in NAMES.values())
    with StrictProvider(quirk.script(), models=models) as one:
        yield one


class Impatient:
    """A model of a service that asks for no wait before a retry; the rest is that of another model."""

    def __init__(self, model: ChatModel) -> None:
        self._model = model

    def __getattr__(self, name: str) -> Any:
        return getattr(self._model, name)

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelChunk]:
        try:
            async for chunk in self._model.stream(request):
                yield chunk
        except Unavailable as failure:
            if failure.retry_after is None or failure.retry_after <= LONGEST_WAIT:
                failure.retry_after = 0.0
            raise


def model_of(server: StrictProvider, wire: str) -> Any:
    """Return the model of the server, which does not wait before a retry, and briefly after the end of a stream."""
    return Impatient(model_at(server, NAMES[wire], after_finish=0.05))


@each
async def test_a_headless_run_handles_each_quirk(
    server: StrictProvider, quirk: Quirk, wire: str
) -> None:
    runtime = make_runtime(model_of(server, wire), refuse, learn=False)  # type: ignore[arg-type]
    out, err = io.StringIO(), io.StringIO()
    code = await run_prompts(runtime, read_prompts(Prompt("hello")), make_writer("text", out, err))
    runtime.close()
    assert server.refusals == []
    assert (len(server.requests), code) == (quirk.requests, quirk.code), err.getvalue()
    assert out.getvalue().strip() == quirk.answer, err.getvalue()
    assert quirk.seen in err.getvalue()
    assert quirk.seen or not err.getvalue()
    assert not any(Path(name).exists() for name in ("half.txt", "cut.txt")), (
        "an incomplete call was run"
    )


@pytest.mark.slow
@each
async def test_the_repl_handles_each_quirk(server: StrictProvider, quirk: Quirk, wire: str) -> None:
    def build(start: Start, ask: Ask) -> Runtime:
        return build_runtime(start, ask, model=model_of(server, wire))

    played = await play("hello\rexit\r", build=build)
    shown = " ".join(
        re.sub(r"\x1b\[[0-9;]*m", "", played.text).split()
    )  # Escape sequences may split a line.
    assert len(server.requests) == quirk.requests, shown
    assert quirk.answer in shown
    assert quirk.seen in shown or quirk.code in (1, 53), (
        shown
    )  # Turn endings have a shorter text on the screen.


def test_the_documentation_page_matches_the_table_of_quirks() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), (
        "run PYTHONPATH=. python -m tests.support.quirks"
    )
