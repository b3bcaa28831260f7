"""Prefetch of the first request of a run without a screen: the message is stored and the request is sent before
SQLModel, the tools and the token table are imported. The turn then prepares the same request and uses this one's
response. See docs/adr/0055."""

from __future__ import annotations

import json
import logging
from collections.abc import AsyncIterator
from contextlib import ExitStack, asynccontextmanager
from pathlib import Path

from swecli.agent.request_builder import Query, RequestBuilder, Turn
from swecli.config.paths import project_root
from swecli.config.settings import Start
from swecli.context.budget import is_lean, request_limit
from swecli.context.epochs import HALF
from swecli.context.project import load_project
from swecli.context.system_message import cache_marks, system_prompt
from swecli.context.tokens import TokenCounter
from swecli.headless.runner import Prompt
from swecli.llm.base import ChatModel
from swecli.models.message import ChatMessage, ModelRequest, Role
from swecli.models.session import Session, uuid7
from swecli.store.first_write import FAILURES, EarlyStore, Unsupported, open_early
from swecli.tools.schemas import bundled_specs, lean_specs, usable_specs

_MIN_BYTES_PER_TOKEN = 3
_Stored = tuple[Session, ChatMessage]  # the session and its stored user message
_log = logging.getLogger(__name__)


@asynccontextmanager
async def first_request(start: Start, prompt: Prompt, model: ChatModel) -> AsyncIterator[_Stored | None]:
    """Store the prompt and send its request. Yields the session and its stored message, or None if nothing was done:
    then the turn begins without a prefetch. Leave the block when the store is open."""
    with ExitStack() as opened:
        try:
            request, session, message = _store_first_message(start, prompt, model, opened)
        except FAILURES as error:
            _log.debug("the first request is not sent early: %s", error)
            opened.close()  # SessionManager opens the file again
            yield None
            return
        await model.send_ahead(request)  # type: ignore[attr-defined]  # checked by `_store_first_message`
        yield session, message


def _store_first_message(
    start: Start, prompt: Prompt, model: ChatModel, opened: ExitStack
) -> tuple[ModelRequest, Session, ChatMessage]:
    """Load the session, prepare its request and commit its message. Raises any of `FAILURES`; then nothing is
    stored."""
    if not hasattr(model, "send_ahead") or (specs := bundled_specs()) is None:
        raise Unsupported("the provider has no send_ahead, or plug-ins add tools")
    store, settings, folder = opened.enter_context(open_early(start.database)), start.settings, str(start.cwd)
    if start.resume is None:
        window, project = settings.window, str(project_root(start.cwd))
        session = store.start(Session(uuid7(), folder, model=model.name, window=window, project=project))
    elif settings.origins.get("window") == "flags":
        raise Unsupported("--window changes the session")
    else:
        session = store.resume(start.resume or None, folder)
    _check_anchors(session)
    turn, skills = _prepare(start, prompt, model, store)
    tools = usable_specs(specs, more=turn.selection.more, skills=skills)
    tools = lean_specs(specs) if is_lean(model.profile.window) else tools
    reserve = model.profile.reserve(settings.max_tokens)
    request = ModelRequest(model.name, turn.messages, tools, reserve, marks=cache_marks(turn.messages))
    _check_size(request, model, session)
    message = ChatMessage(Role.USER, prompt.text)
    store.store_query(message)
    return request, session, message


def _prepare(start: Start, prompt: Prompt, model: ChatModel, store: EarlyStore) -> tuple[Turn, dict[str, Path]]:
    """Prepare the turn; return it with the project's skills. Tokens are estimated, and counted only if the selection or
    the window depends on the exact number."""
    project = load_project(start, trusted=start.trusted, window=model.profile.window)
    root, system, texts = start.cwd.resolve(), system_prompt(model.profile.window), (prompt.enclosed,)
    builder = RequestBuilder(store, start.settings, root, system, instructions=lambda: project.text)  # type: ignore[arg-type]
    query = Query(prompt.text, texts if prompt.attached else ())
    turn = builder.prepare(query, model, TokenCounter(model.profile.encoding, exact=False))
    chosen, opened = turn.selection, turn.request.opened
    tight = chosen.more or chosen.missed or chosen.tokens * 4 > chosen.budget * 3
    if tight or (opened is not None and opened.detail == HALF):
        turn = builder.prepare(query, model, TokenCounter(model.profile.encoding))
    return turn, project.skills


def _check_anchors(session: Session) -> None:
    """Raise Unsupported if a strategy became stale or valid again: that is stored before the turn."""
    live = [bullet for bullet in session.playbook.bullets.values() if bullet.is_live and bullet.scope != "user"]
    if not live:
        return
    # late: only strategies have anchors
    from swecli.playbook.workspace import WorkspaceLookup  # noqa: PLC0415

    lookup = WorkspaceLookup.of(session)
    if lookup is not None and any((lookup.missing(bullet) or "") != bullet.stale for bullet in live):
        raise Unsupported("anchors of strategies have changed")


def _check_size(request: ModelRequest, model: ChatModel, session: Session) -> None:
    """Raise Unsupported if the request may take more than half of the limit: then it must be counted, and may have to
    be reduced."""
    limit, known = request_limit(model.profile.window, request.max_tokens or 0), session.context
    size = len(json.dumps([request.messages, [spec.to_api() for spec in request.tools]])) // _MIN_BYTES_PER_TOKEN
    if limit is not None and size * max(1, known.asked_prompt / (known.asked_counted or 1)) > limit // 2:
        raise Unsupported("the request may be too long")
