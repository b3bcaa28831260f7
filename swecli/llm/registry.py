"""From a model's name to the model."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from pathlib import Path

from swecli.config.settings import Settings
from swecli.llm.base import ChatModel
from swecli.llm.endpoints import PROVIDERS, resolve
from swecli.llm.providers.litellm import LiteLLMModel
from swecli.llm.providers.scripted import ScriptedModel
from swecli.llm.tables import chat_models, model_table, provider_names, provider_of
from swecli.models.errors import ModelNotFound


def make_model(name: str, settings: Settings, environ: Mapping[str, str]) -> ChatModel:
    """The model `provider/name`. Nothing is sent and nothing heavy imported yet.

    `demo` is the model that ships with swecli, `scripted/FILE` plays the replies of a JSON file, everything else is
    litellm's. A name without provider (`gpt-4.1`) is looked up in litellm's table.

    Raises:
        ModelNotFound: for a name without provider or model, or an unknown provider; suggests near ones.
        AuthFailed: when the provider's key is not set; names the variable.
        BadInput: for a script that cannot be read.
    """
    name = name.strip()
    head, slash, rest = name.partition("/")
    if head == "demo":
        # late: its rules are of no use to other models
        from swecli.llm.providers.demo import DemoModel  # noqa: PLC0415

        return DemoModel()
    if head == "scripted" and rest:
        return ScriptedModel.from_file(Path(rest), name)
    models = model_table()
    if not slash:
        owner = provider_of(models, name)
        if owner is None:
            near = _near(name, [model for provider in PROVIDERS for model in chat_models(models, provider)])
            raise ModelNotFound(f"There is no model {name!r}.", near or "Write it as provider/name, or use demo.")
        name, head = f"{owner}/{name}", owner
    known = provider_names(models) | set(PROVIDERS)
    if models and head not in known and head not in ("ollama_chat", "hosted_vllm", "lmstudio", "llama.cpp"):
        near = _near(head, sorted(known))
        raise ModelNotFound(f"There is no provider {head!r}.", near or "Write the model as provider/name.")
    return LiteLLMModel(resolve(name, environ), max_tokens=settings.max_tokens, models=models)


def _near(word: str, known: list[str]) -> str:
    found = get_close_matches(word, known, n=3, cutoff=0.5)
    return f"Did you mean {' or '.join(found)}?" if found else ""
