"""What the user sets in the editor for one session: the permission mode, the model, and how much it thinks."""

from __future__ import annotations

import asyncio

from acp.schema import (
    SessionConfigOptionSelect,
    SessionConfigSelectOption,
    SessionMode,
    SessionModeState,
)

from swecli.actions.choices import MODE_HELP, find_models
from swecli.app import Runtime
from swecli.config.model_entry import THINKING, parse_thinking
from swecli.models.errors import BadInput
from swecli.models.mode import MODES

_DEFAULT_EFFORT = "default"  # an editor needs a name for what has none here


def modes_of(runtime: Runtime) -> SessionModeState:
    """Return the permission modes, and the present one."""
    return SessionModeState(
        current_mode_id=runtime.agent.permissions.mode,
        available_modes=[
            SessionMode(id=mode, name=mode, description=MODE_HELP[mode]) for mode in MODES
        ],
    )


def options_of(runtime: Runtime) -> list[SessionConfigOptionSelect]:
    """Return all options with their present values. The mode is among them for editors that show options only."""
    agent = runtime.agent
    return [
        SessionConfigOptionSelect(
            type="select",
            id="mode",
            name="Mode",
            category="mode",
            current_value=agent.permissions.mode,
            options=[_value(mode, MODE_HELP[mode]) for mode in MODES],
        ),
        SessionConfigOptionSelect(
            type="select",
            id="model",
            name="Model",
            category="model",
            current_value=agent.model.name,
            options=[_value(name, about) for name, about in find_models(runtime)],
        ),
        SessionConfigOptionSelect(
            type="select",
            id="effort",
            name="Thinking",
            category="thought_level",
            current_value=agent.thinking or _DEFAULT_EFFORT,
            options=[_value(word, "") for word in (_DEFAULT_EFFORT, *THINKING)],
        ),
    ]


async def set_option(runtime: Runtime, option: str, value: str) -> None:
    """Set an option from the next request on. Raises SwecliError and then changes nothing."""
    match option:
        case "mode":
            await set_mode(runtime, value)
        case "model":
            # in a thread: the look-up reads large tables
            await asyncio.to_thread(runtime.switch_model, value)
        case "effort":
            try:
                runtime.agent.thinking = parse_thinking("" if value == _DEFAULT_EFFORT else value)
            except ValueError as error:
                raise BadInput(f"{error}.") from error
        case _:
            raise BadInput(f"There is no option {option!r:.40}.", "Choose: mode, model, effort.")


async def set_mode(runtime: Runtime, name: str) -> None:
    """Set the permission mode. Raises BadInput for an unknown one, and for auto without a sandbox, unless the user
    named it when the program was started: a click is no answer to what it means."""
    chosen_mode = next((mode for mode in MODES if mode == name), None)
    if chosen_mode is None:
        raise BadInput(f"Unknown mode {name!r:.40}.", f"Choose: {', '.join(MODES)}.")
    if chosen_mode == "auto" and not runtime.auto_confirmed:
        reason = await asyncio.to_thread(runtime.missing_sandbox)
        if reason:
            raise BadInput(
                f"There is no sandbox to hold what mode auto runs: {reason}.",
                "To run it as you all the same, start `swecli acp --mode auto`.",
            )
    runtime.set_mode(chosen_mode)


def _value(value: str, about: str) -> SessionConfigSelectOption:
    return SessionConfigSelectOption(value=value, name=value, description=about or None)
