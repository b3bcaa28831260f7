"""Prefetch of the first request of a run without a screen: the turn is prepared, its message is stored and its request
is sent before SQLModel and the tools are imported. The turn then uses this response. See docs/adr/0055."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from contextlib import ExitStack, asynccontextmanager
from threading import Thread

from swecli.agent.request_builder import Query, RequestBuilder, Turn
from swecli.config.paths import project_root
from swecli.config.settings import Start
from swecli.context.budget import RequestLimits, is_lean
from swecli.context.project import load_project
from swecli.context.system_message import cache_marks, load_prompt
from swecli.context.tokens import TokenCounter
from swecli.headless.runner import Prompt
from swecli.llm.base import ChatModel
from swecli.models.ids import uuid7
from swecli.models.message import ChatMessage, ModelRequest, Role
from swecli.models.session import Session
from swecli.store.first_write import FAILURES, Unsupported, open_early
from swecli.tools.offers import bundled_specs, lean_specs, usable_specs

_Prefetched = tuple[
    Turn, Session, ChatMessage
]  # with the session and the user message as they are stored
_log = logging.getLogger(__name__)


@asynccontextmanager
async def first_request(
    start: Start, prompt: Prompt, model: ChatModel, counter: TokenCounter
) -> AsyncIterator[_Prefetched | None]:
    """Prepare and store the turn and send its request. Yields None if nothing was done: then the turn begins without a
    prefetch. Leave the block when the store is open."""
    with ExitStack() as opened:
        try:
            request, prefetched = _store_first_message(start, prompt, model, counter, opened)
        except FAILURES as error:
            _log.debug("the first request is not sent early: %s", error)
            opened.close()  # SessionManager opens the file again
            yield None
            return
        await model.send_ahead(request)  # type: ignore[attr-defined]  # checked by `_store_first_message`
        yield prefetched


def _store_first_message(
    start: Start, prompt: Prompt, model: ChatModel, counter: TokenCounter, opened: ExitStack
) -> tuple[ModelRequest, _Prefetched]:
    """Load the session, prepare its request and commit its message. Raises any of `FAILURES`; then nothing is
    stored."""
    if not hasattr(model, "send_ahead") or (specs := bundled_specs()) is None:
        raise Unsupported("the provider has no send_ahead, or plug-ins add tools")
    Thread(target=model.warm, daemon=True).start()  # type: ignore[attr-defined]  # httpx, while the message is synced
    store, settings, folder = (
        opened.enter_context(open_early(start.database)),
        start.settings,
        str(start.cwd),
    )
    if start.resume is None:
        window, project = settings.window, str(project_root(start.cwd))
        session = store.start(
            Session(uuid7(), folder, model=model.name, window=window, project=project)
        )
    elif settings.origins.get("window") == "flags":
        raise Unsupported("--window changes the session")
    else:
        session = store.resume(start.resume or None, folder)
    _check_anchors(session)
    found = load_project(start, start.trust, window=model.profile.window)
    root, system = start.cwd.resolve(), load_prompt("system", model.profile.window)
    builder = RequestBuilder(store, settings, root, system, instructions=lambda: found.text)  # type: ignore[arg-type]
    query = Query(prompt.text, (prompt.enclosed,) if prompt.attached else (), jobs=frozenset())
    turn = builder.prepare(query, model, counter)
    tools = usable_specs(specs, more=turn.selection.more, skills=found.skills, settings=settings)
    tools = lean_specs(specs) if is_lean(model.profile.window) else tools
    reserve = model.profile.reserve(settings.max_tokens)
    request = ModelRequest(
        model.name, turn.messages, tools, reserve, marks=cache_marks(turn.messages)
    )
    scale = session.context.asked_prompt / (session.context.asked_counted or 1)
    if not RequestLimits(model.profile.window, reserve, scale=scale).fit_easily(
        turn.messages, tools
    ):
        raise Unsupported("the request may have to be reduced")
    message = ChatMessage(Role.USER, prompt.text)
    store.store_query(message)
    return request, (turn, session, message)


def _check_anchors(session: Session) -> None:
    """Raise Unsupported if a strategy became stale or valid again: that is stored before the turn."""
    live = [
        bullet
        for bullet in session.playbook.bullets.values()
        if bullet.is_live and bullet.scope != "user"
    ]
    if not live:
        return
    # late: only strategies have anchors
    from swecli.playbook.workspace import WorkspaceLookup

    lookup = WorkspaceLookup.of(session)
    if lookup is not None and any(
        (lookup.missing(bullet) or "") != bullet.stale for bullet in live
    ):
        raise Unsupported("anchors of strategies have changed")
