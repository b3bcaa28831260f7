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
async def list_(start: Start, asked: Invocation) -> ActionResult:
    """List the models that can be used here, and what each needs"""
    # late: not needed to declare an action
    from swecli.actions.models import list_usable, search_known

    # in a thread: tables are read, and local servers asked, while a screen is drawn
    if asked.words:
        return await asyncio.to_thread(search_known, start.environ, asked.text)
    return await asyncio.to_thread(list_usable, start)


@Action(Need.SETTINGS, _NAME, during_turn=True)
def show(start: Start, asked: Invocation) -> ActionResult:
    """Show what is known about a model, and where each value comes from"""
    # late: as above
    from swecli.actions.models import describe_model

    return describe_model(start, _required_name(asked))


@Action(Need.SETTINGS, _NAME)
async def test(start: Start, asked: Invocation) -> ActionResult:
    """Send a model one small request with a tool, which may cost money"""
    # late: as above
    from swecli.actions.models import try_model

    return await try_model(start, _required_name(asked))


@Action(Need.SETTINGS, in_session=False)
def update(start: Start, asked: Invocation) -> ActionResult:
    """Fetch the table of prices and limits"""
    # late: as above
    from swecli.actions.models import update_models

    return update_models(start.environ)


def _required_name(asked: Invocation) -> str:
    """Return the name of the model. Raises UsageError if there is none."""
    if not asked.words:
        command = f"{asked.prefix}models"
        raise UsageError(f"{command} {asked.name} needs a model's name.", f"See {command}.")
    return asked.text


models = Family(
    "models",
    "List the models that can be used here, and what each needs",
    (list_, show, test, update),
    default="list",
    default_in_shell="list",
    default_takes_words=True,
)
