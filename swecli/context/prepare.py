"""Builds a turn's first request: system message, window of completed interactions, query."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from swecli.context.adaptive import adaptive_window_size
from swecli.context.notes import with_notes
from swecli.context.tokens import TokenCounter
from swecli.context.validate import legal
from swecli.models.message import ApiMessage, ChatMessage, Role
from swecli.models.playbook import Bullet, render_bullets
from swecli.models.session import Session
from swecli.models.window import WindowSpec


@dataclass(frozen=True, slots=True)
class Segment:
    """One part of a request: system, instructions, playbook, `interaction 7`, query. `text` is for the eye."""

    name: str
    tokens: int
    text: str


@dataclass(frozen=True, slots=True)
class Prepared:
    """A request before its first step, and what it is made of.

    `shown` are the ids of the strategies in it; `enhanced` is the query as it is sent, to be stored with it;
    `window` names the first and the last completed interaction in it (the first is larger than the last when
    there is none); `removed` counts the interactions that left the window since the session's `window_start`.
    `tokens` is the whole without tools: the segments and a small rest for the messages' frames.
    """

    messages: list[ApiMessage]
    segments: list[Segment]
    shown: list[str]
    enhanced: str
    window: tuple[int, int]
    removed: int
    tokens: int = 0

    @property
    def kept(self) -> int:
        """Completed interactions in the request."""
        return self.window[1] - self.window[0] + 1


@dataclass(frozen=True, slots=True)
class _Window:
    """The completed interactions that are sent, oldest first, with their numbers."""

    groups: list[tuple[int, list[ChatMessage]]]
    completed: int

    @property
    def first(self) -> int:
        return self.groups[0][0] if self.groups else self.completed + 1

    def messages(self) -> list[ApiMessage]:
        return [api for _, group in self.groups for message in group for api in message.to_api()]


def prepare_messages(
    session: Session | None,
    system_prompt: str,
    query: str,
    enhanced_query: str,
    window_size: int | None = None,
    max_strategies: int = 30,
) -> list[ApiMessage]:
    """The request for a query as plain messages: system with playbook, window, then the query as it is sent.

    Args:
        session: None for a conversation that has not begun. When its last message is this very query without an
            answer, it is taken for the running turn: sent once, and not counted as one of the window.
        query: as typed.
        enhanced_query: as sent, with the contents of its @files.
        window_size: exactly that many completed interactions; None for the session's own window.

    Raises:
        ValueError: for a negative window_size.
    """
    if window_size is not None and window_size < 0:
        raise ValueError(f"window_size must not be negative, got {window_size}")
    if session is None:
        return legal([_system(system_prompt), _user(enhanced_query)])
    playbook = session.get_playbook().as_context(max_strategies=max_strategies)
    running = _is_running(session, query, enhanced_query)
    spec = session.window if window_size is None else WindowSpec(size=window_size)
    window = _window(session, _sized(spec, query), running)
    return legal([_system(system_prompt + playbook), *window.messages(), _user(enhanced_query)])


def prepare(
    session: Session,
    *,
    system_prompt: str,
    instructions: str,
    query: str,
    notes: Sequence[str],
    max_strategies: int,
    counter: TokenCounter,
) -> Prepared:
    """The request for a query, with what it is made of and what each part weighs.

    Args:
        session: without the query's own message; it is not changed.
        system_prompt: static text, the same in every turn.
        instructions: the project's, as a prompt gets them; "" for none.
        query: as it is sent, with the contents of its @files.
        notes: one line each, put behind the query: what changes from turn to turn.
        max_strategies: of the playbook, at most.
        counter: weighs the segments.
    """
    bullets = session.get_playbook().chosen(max_strategies)
    window = _window(session, _sized(session.window, query), running=False)
    enhanced = with_notes(query, notes)
    rules = f"\n\n{instructions.strip()}" if instructions.strip() else ""
    head = [("system", system_prompt), ("instructions", rules), ("playbook", render_bullets(bullets))]
    system = "".join(text for _, text in head)
    messages = legal([_system(system), *window.messages(), _user(enhanced)])
    return Prepared(
        messages=messages,
        segments=[
            *(Segment(name, counter.count(text), text) for name, text in head if text),
            *(_interaction(number, group, counter) for number, group in window.groups),
            Segment("query", counter.count_message(_user(enhanced)), enhanced),
        ],
        shown=_ids(bullets),
        enhanced=enhanced,
        window=(window.first, window.completed),
        removed=max(0, window.first - max(1, session.window_start)),
        tokens=counter.count_messages(messages),
    )


def _system(text: str) -> ApiMessage:
    return {"role": Role.SYSTEM.value, "content": text}


def _user(text: str) -> ApiMessage:
    return {"role": Role.USER.value, "content": text}


def _ids(bullets: list[Bullet]) -> list[str]:
    return [bullet.id for bullet in sorted(bullets, key=lambda b: b.number)]


def _sized(spec: WindowSpec, query: str) -> WindowSpec:
    return replace(spec, size=adaptive_window_size(query)) if spec.mode == "auto" else spec


def _is_running(session: Session, query: str, enhanced_query: str) -> bool:
    if not session.messages or session.messages[-1].role is not Role.USER:
        return False
    last = session.messages[-1]
    return last.content in (query, enhanced_query) or last.sent == enhanced_query


def _window(session: Session, spec: WindowSpec, running: bool) -> _Window:
    """The interactions to send, read from the newest back: a long session costs no more than a short one."""
    # Messages put into the list by hand have no numbers: they count by their place.
    total = session.interactions or sum(message.role is Role.USER for message in session.messages)
    completed = total - running
    first = spec.first_kept(completed, session.window_start)
    found: list[tuple[int, list[ChatMessage]]] = []
    group: list[ChatMessage] = []
    number = total
    for message in reversed(session.messages):
        if number < first:
            break
        group.append(message)
        if message.role is Role.USER:
            found.append((number, group[::-1]))
            group = []
            number -= 1
    found.reverse()
    return _Window(found[:-1] if running else found, completed)


def _interaction(number: int, group: list[ChatMessage], counter: TokenCounter) -> Segment:
    messages = [api for message in group for api in message.to_api()]
    lines = [f"{api['role']}: {api['content'] or ''}" for api in messages]
    return Segment(f"interaction {number}", sum(counter.count_message(api) for api in messages), "\n".join(lines))
