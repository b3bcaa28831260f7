"""`/doctor` and `swecli doctor`: check this installation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from swecli.models.action import Action, ActionResult, Invocation, Need

if TYPE_CHECKING:  # the prompt completes the names of the actions before these are loaded
    from swecli.config.settings import Start
    from swecli.models.errors import SwecliError


@Action(Need.ANY_CONFIGURATION, during_turn=True)
def doctor(start: Start | SwecliError, invocation: Invocation) -> ActionResult:
    """Check this installation: settings, folders, database, model, programs

    Exit code 1 if something needs attention.
    """
    # late: --help needs neither models nor a database
    from swecli.actions.doctor import diagnose

    return diagnose(start)
