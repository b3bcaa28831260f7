"""What must stand in the process environment before litellm or tiktoken is imported: stay local, read no `.env`."""

from __future__ import annotations

import importlib.util
from collections.abc import MutableMapping
from pathlib import Path

# each of these is a table litellm would otherwise fetch over the network
_LOCAL_TABLES = (
    "LITELLM_LOCAL_MODEL_COST_MAP",
    "LITELLM_LOCAL_ANTHROPIC_BETA_HEADERS",
    "LITELLM_LOCAL_BLOG_POSTS",
    "LITELLM_LOCAL_POLICY_TEMPLATES",
    "LITELLM_LOCAL_AUTOROUTER_PRESETS",
)


def prepare_environment(environ: MutableMapping[str, str]) -> None:
    """Set what keeps litellm and tiktoken off the network; values the user gave for the token tables are kept."""
    for name in _LOCAL_TABLES:
        environ[name] = "True"
    environ["LITELLM_MODE"] = "PRODUCTION"
    tables = tokenizer_folder()
    if tables is not None:
        environ.setdefault("TIKTOKEN_CACHE_DIR", str(tables))


def litellm_folder() -> Path | None:
    """Where litellm is installed, found without importing it; None when it is not."""
    spec = importlib.util.find_spec("litellm")
    if spec is None or not spec.submodule_search_locations:
        return None
    return Path(spec.submodule_search_locations[0])


def tokenizer_folder() -> Path | None:
    """The token tables litellm brings along, in tiktoken's cache layout; None when they are not there."""
    folder = litellm_folder()
    tables = folder / "litellm_core_utils" / "tokenizers" if folder else None
    return tables if tables is not None and tables.is_dir() else None
