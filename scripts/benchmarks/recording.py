"""Providers that record a model's answers in a file (`recording/PROVIDER/NAME`) and replay them (`replayed/NAME`).
SWECLI_BENCH_ANSWERS names the file; its first line has the model's sizes, each other line one answer."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from swecli.config.settings import Settings
from swecli.llm.base import ChatModel, provider
from swecli.llm.profile import Profile
from swecli.llm.registry import make_model
from swecli.models.errors import BadInput, ProviderError
from swecli.models.message import CallDelta, ModelChunk, ModelRequest, Usage

ANSWERS = "SWECLI_BENCH_ANSWERS"


@dataclass(slots=True)
class _Recorder:
    """Passes the chunks of `model` on and appends each whole answer to the file."""

    model: ChatModel
    file: Path
    name: str
    profile: Profile

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelChunk]:
        rows = list[dict[str, Any]]()
        async for chunk in self.model.stream(request):
            rows.append(
                {name: value for name, value in asdict(chunk).items() if value not in (None, "")}
            )
            rows[-1].pop("blocks", None)  # opaque, and a played answer is sent back to nobody
            yield chunk
        with self.file.open("a", encoding="utf-8") as file:
            file.write(json.dumps(rows) + "\n")


@dataclass(slots=True)
class _Player:
    """Plays the answers in their order, whatever is asked."""

    name: str
    profile: Profile
    answers: list[str]

    async def stream(self, _request: ModelRequest) -> AsyncGenerator[ModelChunk]:
        if not self.answers:
            raise ProviderError(
                "The recording has no more answers.",
                "The program now asks more than it was recorded.",
            )
        for row in json.loads(self.answers.pop(0)):
            call, usage = row.pop("call", None), row.pop("usage", None)
            yield ModelChunk(**row, call=call and CallDelta(**call), usage=usage and Usage(**usage))


@provider("recording")
def recording(name: str, settings: Settings, environ: Mapping[str, str]) -> ChatModel:
    model, file = make_model(name.partition("/")[2], settings, environ), Path(environ[ANSWERS])
    sizes = {
        "window": model.profile.window,
        "max_output": model.profile.max_output,
        "tools": model.profile.tools,
    }
    file.write_text(json.dumps(sizes) + "\n", encoding="utf-8")
    return _Recorder(model, file, model.name, model.profile)


@provider("replayed")
def replayed(name: str, _settings: Settings, environ: Mapping[str, str]) -> ChatModel:
    """Raises BadInput if there is no such recording."""
    try:
        sizes, *answers = Path(environ[ANSWERS]).read_text(encoding="utf-8").splitlines()
        return _Player(name.partition("/")[2], Profile(**json.loads(sizes), offline=True), answers)
    except (OSError, ValueError, TypeError) as error:
        raise BadInput(
            f"The recording {environ[ANSWERS]} cannot be played: {error}", "Record it again."
        ) from None
