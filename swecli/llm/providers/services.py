"""The services that have a wire here or in litellm, and any name that no other provider takes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from swecli.config.model_entry import ModelEntry
from swecli.config.paths import find_paths
from swecli.config.settings import Settings
from swecli.llm.base import ChatModel, provider
from swecli.llm.endpoints import KEYED, LOCAL, SERVICES, Endpoint, resolve
from swecli.llm.learned import LearnedFacts
from swecli.llm.price_table import Row, chat_models, did_you_mean, find_row, model_table, owner_of, provider_names
from swecli.llm.probe import probe
from swecli.llm.profile import from_entry, from_table
from swecli.models.errors import ModelNotFound


@provider("litellm", fallback=True, listed=(*KEYED, *LOCAL))
def services(name: str, settings: Settings, environ: Mapping[str, str]) -> ChatModel:
    """The model at its service. A name without provider (`gpt-4.1`) is looked up in litellm's table.

    Raises:
        ModelNotFound: for a name without provider or model, or an unknown provider; suggests near ones.
        AuthFailed: when the service's key is not set; names the variable.
    """
    entry = settings.entry(name)
    called, name = name, name if entry is None else entry.model or entry.name
    if entry and entry.api in ("openai", "anthropic"):
        name = f"{entry.api}/{name}"
    head, slash, _ = name.partition("/")
    if not slash:
        owner = owner_of(name)
        if owner is None:
            models = model_table()
            near = did_you_mean(name, [model for one in (*LOCAL, *KEYED) for model in chat_models(models, one.name)])
            raise ModelNotFound(f"There is no model {name!r}.", near or "Write it as provider/name, or use demo.")
        name, head = f"{owner}/{name}", owner
    if head not in SERVICES:
        known = provider_names()
        if known and head not in known:
            near = did_you_mean(head, sorted(known | set(SERVICES)))
            raise ModelNotFound(f"There is no provider {head!r}.", near or "Write the model as provider/name.")
    endpoint = resolve(name, environ, entry)
    row = find_row(endpoint.provider, endpoint.model)
    endpoint = replace(endpoint, name=called if entry else name, max_tokens=settings.max_tokens)
    return model_at(endpoint, row, LearnedFacts(find_paths(environ).state / "models.json"), entry)


def model_at(
    endpoint: Endpoint, row: Row | None, facts: LearnedFacts | None = None, entry: ModelEntry | None = None
) -> ChatModel:
    """The model on its wire, with its record: table, then the server itself, then what it taught, then the user."""
    profile = from_table(row, endpoint).layered(probe(endpoint), "probe")
    if facts is not None:
        profile = profile.layered(facts.of(endpoint.origin), "learned")
    if entry is not None:
        profile = profile.layered(from_entry(entry), "config")
    responses = (row or {}).get("mode") == "responses" and not (entry and entry.api)
    if endpoint.api == "litellm" or responses:
        # late: a start loads the wire that it needs
        from swecli.llm.providers.litellm import LiteLLMModel  # noqa: PLC0415

        return LiteLLMModel(endpoint, profile)
    if endpoint.api == "anthropic":
        # late: as above
        from swecli.llm.providers.anthropic import Anthropic  # noqa: PLC0415

        return Anthropic(endpoint, profile, facts)
    # late: as above
    from swecli.llm.providers.openai_chat import OpenAIChat  # noqa: PLC0415

    return OpenAIChat(endpoint, profile, facts)
