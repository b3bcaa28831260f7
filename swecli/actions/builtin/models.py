"""`/models` and `swecli models`: list, describe and test models. What it does is in `actions/models`."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from swecli.models.action import Action, ActionResult, Family, Invocation, Need, Words
from swecli.models.errors import UsageError

if TYPE_CHECKING:  # the prompt completes the names of the actions before these are loaded
    from swecli.config.settings import Start

_NAME = Words("NAME", count="?")


@Action(
    Need.SETTINGS,
    Words("[WORD]", "list the known models with this in their name", count="?"),
    during_turn=True,
)
async def list_(start: Start, invocation: Invocation) -> ActionResult:
    """List the models that can be used here, and what each needs"""
    # late: not needed to declare an action
    from swecli.actions.models import list_usable, search_known

    # in a thread: tables are read, and local servers asked, while a screen is drawn
    if invocation.words:
        return await asyncio.to_thread(search_known, start.environ, invocation.text)
    return await asyncio.to_thread(list_usable, start, invocation.prefix)


@Action(Need.SETTINGS, _NAME, during_turn=True)
def show(start: Start, invocation: Invocation) -> ActionResult:
    """Show what is known about a model, and where each value comes from"""
    # late: as above
    from swecli.actions.models import describe_model

    return describe_model(start, _required_name(invocation))


@Action(Need.SETTINGS, _NAME)
async def test(start: Start, invocation: Invocation) -> ActionResult:
    """Send a model one small request with a tool, which may cost money"""
    # late: as above
    from swecli.actions.models import try_model

    return await try_model(start, _required_name(invocation), invocation.prefix)


@Action(Need.SETTINGS, in_session=False)
def update(start: Start, invocation: Invocation) -> ActionResult:
    """Fetch the table of prices and limits"""
    # late: as above
    from swecli.actions.models import update_models

    return update_models(start.environ)


def _required_name(invocation: Invocation) -> str:
    """Return the name of the model. Raises UsageError if there is none."""
    if not invocation.words:
        command = f"{invocation.prefix}models"
        raise UsageError(f"{command} {invocation.name} needs a model's name.", f"See {command}.")
    return invocation.text


models = Family(
    "models",
    "List the models that can be used here, and what each needs",
    (list_, show, test, update),
    default="list",
    default_in_shell="list",
    default_takes_words=True,
)
