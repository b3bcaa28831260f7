"""Try a key before it is stored: one small request to the service that it is for."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from enum import StrEnum

from swecli.config.settings import Start
from swecli.llm.registry import make_model
from swecli.llm.services import Service
from swecli.models.errors import (
    AuthFailed,
    OutputLimitReached,
    ProviderError,
    Unavailable,
    UnsupportedFeature,
)
from swecli.models.message import ModelRequest
from swecli.values import dataclass

_MAX_TOKENS = (
    16  # the fewest that OpenAI's Responses take, as its reference of max_output_tokens says
)
_SECONDS = 30.0  # a person waits beside it; what is slower than that is no matter of the key


class KeyVerdict(StrEnum):
    """What a service makes of a key."""

    WORKS = "works"
    REFUSED = "refused"
    UNCLEAR = "unclear"  # the service refused the request for another reason
    NOT_TRIED = "not tried"  # the service was not reached, or takes no requests now


@dataclass(frozen=True, slots=True)
class KeyTrial:
    """What came of trying a key, and a line for the user that says so."""

    verdict: KeyVerdict
    line: str


async def try_key(start: Start, service: Service, key: str) -> KeyTrial:
    """Ask the default model of a service for a word with this key, without trying again. Raises BadInput if the
    settings of the model are wrong."""
    environ = {**start.environ, service.key_variables[0]: key}
    model = make_model(service.default_model, start.settings, environ)
    request = ModelRequest(model.name, [{"role": "user", "content": "Say ok."}], [], _MAX_TOKENS)
    name = service.name
    works = KeyTrial(KeyVerdict.WORKS, f"The key works: {model.name} answers.")
    try:
        async with asyncio.timeout(_SECONDS), aclosing(model.stream(request)) as chunks:
            async for _ in chunks:
                pass
    except AuthFailed as error:
        return KeyTrial(KeyVerdict.REFUSED, f"{name} refuses the key: {error.message}")
    except (UnsupportedFeature, OutputLimitReached):  # it has looked at more than the key
        return works
    except Unavailable as error:
        return KeyTrial(KeyVerdict.NOT_TRIED, f"The key could not be tried: {error.message}")
    except TimeoutError:
        line = f"The key could not be tried: {name} did not answer within {_SECONDS:.0f} s."
        return KeyTrial(KeyVerdict.NOT_TRIED, line)
    except ProviderError as error:
        return KeyTrial(KeyVerdict.UNCLEAR, f"{name} answers to this key: {error.message}")
    return works
