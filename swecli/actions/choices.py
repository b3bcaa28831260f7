"""What a session's permission mode and model can be set to, each with a line for the user."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from swecli.models.action import Values
from swecli.models.mode import Mode

if TYPE_CHECKING:
    from swecli.app import Runtime

MODE_HELP: Mapping[Mode, str] = {
    "ask": "ask before edits and before commands that do more than read",
    "edits": "edit files in this folder without asking, and run commands in the sandbox if there is one",
    "plan": "read only: edits and commands that do more than read are refused",
    "auto": "ask only about secrets, protected files and what your ask rules name",
}


def find_models(runtime: Runtime) -> Values:
    """Return the names of the models to choose from, the current one first."""
    # late: not needed before the first prompt
    from swecli.llm.services import HOSTED

    labels = {runtime.agent.model.name: "current"}
    labels.setdefault(runtime.settings.model, "chosen at the start")
    labels.setdefault("demo", "an offline tour")
    environ = runtime.start.environ
    for entry in runtime.settings.models:
        about = "your own"
        if entry.key_env and not environ.get(entry.key_env, "").strip():
            about += f" (needs {entry.key_env})"
        labels.setdefault(entry.name, about)
    for service in HOSTED:
        about = f"{service.name}'s default"
        if not any(environ.get(name, "").strip() for name in service.key_variables):
            about = f"needs {service.key_variables[0]}"
        labels.setdefault(service.default_model, about)
    labels.pop("", None)  # of settings without a model, and of services without a default
    return list(labels.items())
