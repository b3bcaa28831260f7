"""`swecli db`: where the database is, whether it is damaged, and a copy of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from swecli.models.action import Action, ActionResult, Family, Invocation, Need, Words

if TYPE_CHECKING:  # the prompt completes the names of commands before these are loaded
    from swecli.config.settings import Start
    from swecli.store.session_manager import SessionManager


@Action(Need.SETTINGS, in_session=False)
def path(start: Start, invocation: Invocation) -> ActionResult:
    """Print where the database is"""
    # late: not needed to declare an action
    from swecli.store.sqlite.files import locate

    file = locate(start.database)  # None for a database in memory
    shown_path = str(file or start.database)
    exists = file is not None and file.exists()
    return ActionResult({"path": shown_path, "exists": exists}, (shown_path,))


@Action(Need.ALL_SESSIONS, in_session=False)
def check(sessions: SessionManager, invocation: Invocation) -> ActionResult:
    """Check for damage; exit 1 if there is any"""
    database = sessions.database
    problems = [*database.notices, *database.check()]
    if problems:
        return ActionResult({"problems": problems}, tuple(problems), code=1)
    checked = database.path or "the database in memory"
    return ActionResult({"problems": []}, (f"{checked}: ok",))


@Action(
    Need.ALL_SESSIONS,
    Words("[FILE]", "the copy (default: beside it, with the time)", "?"),
    in_session=False,
)
def backup(sessions: SessionManager, invocation: Invocation) -> ActionResult:
    """Make a consistent copy, also while the database is in use"""
    target = invocation.file(invocation.text) if invocation.text else None
    copy = str(sessions.database.backup(target))
    return ActionResult({"backup": copy}, (copy,))


db = Family(
    "db",
    "Show where the database is, check it for damage, and back it up",
    (path, check, backup),
    default="path",
)
