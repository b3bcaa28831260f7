"""The services litellm reaches, and any name that no other provider takes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from difflib import get_close_matches

from swecli.config.settings import Settings
from swecli.llm.base import ChatModel, provider
from swecli.llm.endpoints import KEYED, LOCAL, SERVICES, resolve
from swecli.llm.providers.litellm import LiteLLMModel
from swecli.llm.providers.warmup import warm_up
from swecli.llm.tables import chat_models, model_table, provider_names, provider_of
from swecli.models.errors import ModelNotFound


def _warm(last_key: Callable[[], float], name: str) -> str:
    return warm_up(last_key, name.partition("/")[0])


@provider("litellm", fallback=True, listed=(*KEYED, *LOCAL), warm=_warm)
def services(name: str, settings: Settings, environ: Mapping[str, str]) -> ChatModel:
    """The model behind litellm. A name without provider (`gpt-4.1`) is looked up in its table.

    Raises:
        ModelNotFound: for a name without provider or model, or an unknown provider; suggests near ones.
        AuthFailed: when the service's key is not set; names the variable.
    """
    head, slash, _ = name.partition("/")
    models = model_table()
    if not slash:
        owner = provider_of(models, name)
        if owner is None:
            near = _near(name, [model for one in (*LOCAL, *KEYED) for model in chat_models(models, one.name)])
            raise ModelNotFound(f"There is no model {name!r}.", near or "Write it as provider/name, or use demo.")
        name, head = f"{owner}/{name}", owner
    known = provider_names(models) | set(SERVICES)
    if models and head not in known:
        near = _near(head, sorted(known))
        raise ModelNotFound(f"There is no provider {head!r}.", near or "Write the model as provider/name.")
    return LiteLLMModel(resolve(name, environ), max_tokens=settings.max_tokens, models=models)


def _near(word: str, known: list[str]) -> str:
    found = get_close_matches(word, known, n=3, cutoff=0.5)
    return f"Did you mean {' or '.join(found)}?" if found else ""
