"""The door to every provider on the network: litellm, kept quiet and kept honest. Its only import in the program."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import logging
import os
import sys
import warnings
from collections.abc import AsyncIterator
from typing import Any

from swecli.llm.endpoints import Endpoint
from swecli.llm.environment import prepare_environment
from swecli.llm.patience import Patience, closing, watched
from swecli.llm.prices import cost_of, limit
from swecli.llm.providers.endings import Ending
from swecli.llm.providers.failures import translate
from swecli.llm.providers.outgoing import outgoing
from swecli.llm.providers.usage import normalise
from swecli.llm.tables import model_row, model_table
from swecli.models.errors import ProviderError, Unavailable
from swecli.models.message import CallDelta, ModelChunk, ModelRequest, StopReason

_LOGGERS = ("LiteLLM", "LiteLLM Proxy", "LiteLLM Router", "litellm", "openai", "httpx", "httpcore")
_TRANSPORT_TIMEOUT = 900.0  # a backstop only: our own timers end a wait long before
_ANSWER_LENGTH = 32_000  # of providers that must be told one; models that can do less are told less
_LOCAL_PATIENCE = Patience(first=600.0, quiet=300.0)  # a local server may load the model first


def load_litellm() -> Any:
    """The litellm module, silent and local; 2 to 4 s at the first call, so call it behind the prompt.

    Without the garbage collector, which would look at 2,600 new modules again and again; what was loaded is then
    taken out of its sight for good.
    """
    if "litellm" in sys.modules:
        # late: loaded already, or being loaded in another thread, for which this waits
        import litellm  # noqa: PLC0415

        return _silenced(litellm)
    # reads the environment: litellm looks at the process's own while it is imported
    prepare_environment(os.environ)
    collecting = gc.isenabled()
    gc.disable()
    try:
        # late: seconds of start-up
        import litellm  # noqa: PLC0415
    finally:
        gc.freeze()
        if collecting:
            gc.enable()
    return _silenced(litellm)


def _silenced(module: Any) -> Any:
    module.suppress_debug_info = True
    module.telemetry = False
    # usage is the provider's word or unknown; counting here would load tables, or fetch them
    module.disable_token_counter = True
    module.disable_hf_tokenizer_download = True
    # an answer may well repeat itself (a ruled line, a table); who has enough of it can interrupt
    module.REPEATED_STREAMING_CHUNK_LIMIT = sys.maxsize
    # the other transport complains on stderr about sessions nobody can reach to close
    module.disable_aiohttp_transport = True
    module.module_level_aclient = _ClientOfTheLoop()
    for name in _LOGGERS:
        logger = logging.getLogger(name)
        logger.handlers = [logging.NullHandler()]
        logger.propagate = False
        logger.setLevel(logging.CRITICAL + 1)
    # about its own use of pydantic: nothing its users could do anything about
    warnings.filterwarnings("ignore", module=r"(litellm|pydantic)(\.|$)")
    return module


class _ClientOfTheLoop:
    """Stands for litellm's one global client, whose connections break in any event loop but the first."""

    def __getattr__(self, name: str) -> Any:
        # late: part of litellm
        from litellm.llms.custom_httpx.http_handler import get_async_httpx_client  # noqa: PLC0415

        return getattr(get_async_httpx_client("swecli"), name)


_KEEPER = "swecli: model connections"


class LiteLLMModel:
    """A model behind one endpoint. `patience` None: a minute and a half, more for local servers.

    `models` is the table of prices and limits, where it was read already (reading it takes 50 ms).
    """

    offline = False

    def __init__(
        self,
        endpoint: Endpoint,
        *,
        max_tokens: int | None = None,
        patience: Patience | None = None,
        models: dict[str, dict[str, Any]] | None = None,
    ) -> None:
        self.endpoint = endpoint
        self.name = endpoint.name
        self.row = model_row(model_table() if models is None else models, endpoint.provider, endpoint.model)
        self.context_window = limit(self.row, "max_input_tokens", "max_tokens")
        self.max_output = limit(self.row, "max_output_tokens", "max_tokens")
        self.encoding = "cl100k_base" if _is_old(endpoint.model) else "o200k_base"
        self.max_tokens = max_tokens
        self.patience = patience or (_LOCAL_PATIENCE if endpoint.local else Patience())

    def stream(self, request: ModelRequest) -> AsyncIterator[ModelChunk]:
        """Answer one request, piece by piece; one attempt. The last chunk carries usage, cost and `stop`.

        Raises:
            ProviderError: one of its kinds, at any point; Unavailable also for a stream that ends without saying
                that it ended, and for an answer with nothing in it.
        """
        return watched(self._pieces(request), self.patience, self.endpoint.address)

    async def _pieces(self, request: ModelRequest) -> AsyncIterator[ModelChunk]:
        stream = None
        try:
            # in a thread: where the warm-up has not finished, the screen must go on living
            litellm = await asyncio.to_thread(load_litellm)
            _close_when_the_loop_ends()
            stream = await litellm.acompletion(**self._arguments(request))
            async with closing(stream):
                async for chunk in self._read(stream):
                    yield chunk
        except ProviderError:
            raise
        except Exception as error:  # noqa: BLE001  # the library raises anything; all of it becomes a line for the user
            raise translate(error, self.endpoint, began=stream is not None) from error

    def _arguments(self, request: ModelRequest) -> dict[str, Any]:
        arguments: dict[str, Any] = {
            "model": self.endpoint.route,
            "messages": outgoing(request.messages, self.endpoint.provider),
            "stream": True,
            "stream_options": {"include_usage": True},
            "max_retries": 0,
            "num_retries": 0,
            "timeout": _TRANSPORT_TIMEOUT,
        }
        if self.endpoint.key is not None:
            arguments["api_key"] = self.endpoint.key
        if self.endpoint.base is not None:
            arguments["api_base"] = self.endpoint.base
        if request.tools:
            arguments["tools"] = [spec.to_api() for spec in request.tools]
        if tokens := self._answer_length(request):
            arguments["max_tokens"] = tokens
        return arguments

    def _answer_length(self, request: ModelRequest) -> int | None:
        asked = request.max_tokens or self.max_tokens
        if asked is None and self.endpoint.provider == "anthropic":
            asked = _ANSWER_LENGTH if self.max_output else 8_192
        return min(asked, self.max_output) if asked and self.max_output else asked

    async def _read(self, stream: Any) -> AsyncIterator[ModelChunk]:
        """Our chunks out of litellm's, and at the end the check that it was the end."""
        said_something, usage = False, None
        ending = Ending(stream, self.endpoint.provider)
        await ending.attach()
        async for part in stream:
            usage = getattr(part, "usage", None) or usage
            for choice in part.choices[:1]:
                for chunk in _chunks(choice.delta):
                    said_something = said_something or bool(chunk.text.strip() or chunk.call)
                    yield chunk
        stop = self._stop(ending.reason(), said_something)
        counted = normalise(usage)
        yield ModelChunk(usage=counted, cost=self._cost(counted), stop=stop)

    def _stop(self, stop: StopReason | None, said_something: bool) -> StopReason:
        """The reason itself. Raises ProviderError where the answer did not end, or holds nothing."""
        at = self.endpoint.address
        if stop is None and said_something:
            raise Unavailable(f"{at} cut its answer off.", "Try again.")
        if stop is None:
            raise Unavailable(f"{at} sent no answer.", "Try again; is the address that of a model's service?")
        if said_something:
            return stop
        if stop == "content_filter":
            raise ProviderError(f"{at} withheld the answer (content filter).", "Say it in other words.")
        if stop == "length":
            raise ProviderError(f"{at} used up the answer's length before saying anything.", "Raise max_tokens.")
        raise Unavailable(f"{at} sent an empty answer.", "Try again.")

    def _cost(self, usage: Any) -> float | None:
        if usage is None:
            return None
        return 0.0 if self.endpoint.local else cost_of(usage, self.row)


def _chunks(delta: Any) -> list[ModelChunk]:
    """What one piece of litellm's holds, nothing for the many empty ones."""
    found = []
    if reasoning := getattr(delta, "reasoning_content", None):
        found.append(ModelChunk(reasoning=reasoning))
    if text := getattr(delta, "content", None):
        found.append(ModelChunk(text=text))
    for call in getattr(delta, "tool_calls", None) or ():
        function = call.function
        piece = CallDelta(call.index or 0, call.id or "", function.name or "", function.arguments or "")
        found.append(ModelChunk(call=piece))
    return found


def _is_old(model: str) -> bool:
    """Whether the model is of the generation that counted with the smaller table."""
    return model in ("gpt-4", "gpt-4-32k") or model.startswith(("gpt-3.5", "gpt-4-"))


async def close_connections() -> None:
    """Close the connections litellm keeps for this event loop. Harmless when there are none."""
    if "litellm" not in sys.modules:
        return
    cache = load_litellm().in_memory_llm_clients_cache.cache_dict
    # the cache is shared by all loops; its keys end with the loop's identity
    mine = [key for key in cache if key.endswith(f"-{id(asyncio.get_running_loop())}")]
    for client in [cache.pop(key) for key in mine]:
        close = getattr(client, "aclose", None) or getattr(client, "close", None)
        if close is not None:
            with contextlib.suppress(Exception):  # what cannot be closed is closed by the end of the process
                await close()


def _close_when_the_loop_ends() -> None:
    """Leave a task behind that closes the connections when the loop ends, which cancels it; one for each loop."""
    if not any(task.get_name() == _KEEPER for task in asyncio.all_tasks()):
        asyncio.create_task(_keep_connections(), name=_KEEPER)


async def _keep_connections() -> None:
    try:
        while True:  # a sleeping task is held by the loop's clock, so the collector leaves it alone
            await asyncio.sleep(86_400)
    finally:
        await close_connections()
