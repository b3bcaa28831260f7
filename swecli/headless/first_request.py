"""Sends the first request of a run without a screen, before the tools and the agent are imported. The turn then uses
this response. See docs/adr/0055."""

from __future__ import annotations

import logging
from threading import Thread

from swecli.agent.request_builder import Query, RequestBuilder, Turn
from swecli.config.paths import project_root
from swecli.config.settings import Start
from swecli.context.budget import RequestLimits, is_lean
from swecli.context.project import load_project
from swecli.context.system_message import cache_marks, load_prompt
from swecli.context.tokens import TokenCounter
from swecli.headless.prompts import Prompt
from swecli.llm.base import ChatModel
from swecli.models.errors import SwecliError
from swecli.models.message import ModelRequest, ToolSpec
from swecli.models.session import Session
from swecli.playbook.team import follow_shared_files
from swecli.store.session_manager import SessionManager
from swecli.tools.hooks.files import may_have_hooks
from swecli.tools.mcp.late import LateServerTools
from swecli.tools.mcp.names import is_remote
from swecli.tools.offers import PRESENT_PLAN, bundled_specs, lean_specs, usable_specs
from swecli.tools.projects import open_project
from swecli.tools.registry import with_more
from swecli.tools.surroundings import Surroundings

_log = logging.getLogger(__name__)


def load_http(model: ChatModel) -> None:
    """Load what the model's requests need in a thread: the store is opened, and synced, at the same time."""
    if hasattr(model, "send_early"):
        Thread(target=model.warm, daemon=True).start()  # type: ignore[attr-defined]  # as `send_early`


async def send_first_request(
    start: Start,
    prompt: Prompt,
    model: ChatModel,
    counter: TokenCounter,
    sessions: SessionManager,
    surroundings: Surroundings,
) -> Turn | None:
    """Open the session, prepare the turn, commit its message and send its request.

    Returns None if nothing was sent early, though the session may be open then: the turn begins as any other, and a
    problem is reported when the turn meets it again.
    """
    specs = _find_specs(start)
    # plug-ins may add tools, and --window changes a stored session
    changes_window = start.resume is not None and start.settings.origins.get("window") == "flags"
    if specs is None or changes_window or not hasattr(model, "send_early"):
        return None
    if may_have_hooks(start):  # they may refuse the prompt, or add to it
        return None
    try:
        session = _open_session(start, model, sessions)
        if start.add_dirs or sessions.folders_in(str(start.cwd.resolve())):
            return None
        follow_shared_files(sessions, session, project_root(start.cwd), start.trust)
        if sessions.enter() or _has_changed_anchors(session):
            return None
        turn_and_request = _prepare(
            start=start,
            prompt=prompt,
            model=model,
            counter=counter,
            sessions=sessions,
            specs=specs,
            surroundings=surroundings,
        )
        if turn_and_request is None:
            return None
        turn, request = turn_and_request
        sessions.store_query(prompt.text)
        await model.send_early(request)
    except SwecliError as error:
        _log.debug("the first request is not sent early: %s", error)
        return None
    return turn


def _find_specs(start: Start) -> list[ToolSpec] | None:
    """Return the specifications of all tools; None if an installed package may add some."""
    specs = bundled_specs()
    return None if specs is None else with_more(specs, LateServerTools(start))


def _open_session(start: Start, model: ChatModel, sessions: SessionManager) -> Session:
    """Start or resume the session. Raises SwecliError."""
    folder = str(start.cwd)
    place = open_project(sessions.database, start.cwd)
    if start.resume is not None:
        return sessions.resume(start.resume or None, folder, place=place)
    return sessions.start(folder, model.name, window=start.settings.window, place=place)


def _has_changed_anchors(session: Session) -> bool:
    """Return whether a strategy became stale or valid again: that is stored before the turn."""
    bullets = [
        bullet
        for bullet in session.playbook.bullets.values()
        if bullet.is_live and bullet.scope != "user"
    ]
    if not bullets:
        return False
    # late: only strategies have anchors
    from swecli.playbook.workspace import WorkspaceLookup

    lookup = WorkspaceLookup.of(session)
    if lookup is None:
        return False
    return any(lookup.stale_anchor(bullet) != bullet.stale for bullet in bullets)


def _prepare(
    start: Start,
    prompt: Prompt,
    model: ChatModel,
    counter: TokenCounter,
    sessions: SessionManager,
    specs: list[ToolSpec],
    surroundings: Surroundings,
) -> tuple[Turn, ModelRequest] | None:
    """Build the turn and its first request; None if that may be too long, so that the agent has to reduce it."""
    settings = start.settings
    profile = model.profile
    project = load_project(start, start.trust, window=profile.window)
    system = load_prompt("system", profile.window)

    def deny_reading(path: str) -> str:
        # late: few queries mention a file
        from swecli.tools.permissions import Permissions
        from swecli.tools.registry import ToolRegistry

        permissions = Permissions(settings.mode, ask=settings.ask, deny=settings.deny)
        return (
            permissions.guard(start.cwd.resolve(), ToolRegistry.discover()).access(path).read_denial
        )

    builder = RequestBuilder(
        sessions,
        settings,
        start.cwd.resolve(),
        system,
        instructions=lambda: project.text,
        surroundings=surroundings,
        deny_reading=deny_reading,
    )
    query = Query(
        prompt.text,
        attached=(prompt.tagged_attachment,) if prompt.attachment else (),
        jobs=frozenset(),
        mode=settings.mode,
        plan_tool="" if is_lean(profile.window) else PRESENT_PLAN,
    )
    turn = builder.prepare(query, model, counter)
    tools = usable_specs(specs, more=turn.selection.more, skills=project.skills, settings=settings)
    if any(is_remote(spec.name) for spec in tools):
        # late: few use servers
        from swecli.tools.mcp.finding import defer

        tools = defer(tools, profile.window)
    if is_lean(profile.window):
        tools = lean_specs(specs)
    reserve = profile.reserve(settings.max_tokens)
    context = sessions.session.context
    scale = context.asked_prompt / (context.asked_counted or 1)
    limits = RequestLimits(profile.window, reserve, scale=scale)
    if not limits.fit_easily(turn.messages, tools):
        return None
    marks = cache_marks(turn.messages)
    return turn, ModelRequest(model.name, turn.messages, tools, reserve, marks=marks)
