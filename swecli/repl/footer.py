"""The status line under the prompt, shortened to the width of the terminal."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, cast

from prompt_toolkit.application import get_app
from prompt_toolkit.enums import EditingMode
from prompt_toolkit.formatted_text import ANSI, to_formatted_text

from swecli.config.status_template import names_in
from swecli.models.counts import format_tokens, percent, pluralize
from swecli.models.json_value import Json
from swecli.models.mode import Mode
from swecli.models.money import format_least
from swecli.repl.branch import read_branch
from swecli.repl.status_command import StatusCommand
from swecli.text import sanitize, short_path
from swecli.values import dataclass

if TYPE_CHECKING:
    from swecli.app import Runtime
    from swecli.models.events import ContextMeasured, Event
    from swecli.models.session import Session

_SEPARATOR = " · "
_MODES_BY_KEY: tuple[Mode, ...] = ("ask", "edits", "plan")  # auto never asks: only by its name
# Types of events, by name (importing the events takes 10 ms before the first prompt): a session begins, its cost grows,
# the answer that lets a call run may have switched the mode, a call may have started a background job.
_CHANGES = frozenset({"turn_started", "usage_reported", "tool_started", "tool_finished"})
_LEAST_PIECES = 2  # the model and the mode
_COLOR = re.compile(r"(\x1b\[[\d;]*m)")  # the only control sequence that a status line may have


@dataclass(frozen=True, slots=True)
class _Piece:
    """A part of the line. In a narrow terminal those of the smallest weight are left out first."""

    text: str
    style: str
    weight: int


@dataclass(frozen=True, slots=True)
class _Measured:
    """The first turn that the next request of a session contains, as long as the session stays like this."""

    session: str  # its id
    turns: int
    window: str
    first: int

    def holds_for(self, session: Session) -> bool:
        return (self.session, self.turns, self.window) == (
            session.id,
            session.interactions,
            str(session.window),
        )


@dataclass(slots=True)
class Footer:
    """The values shown in the footer. `sent_turns` counts the turns in the next request, `context` is its used share
    in percent, None while unknown. `cost` is in US dollars, None if a price is unknown; `jobs` counts background
    commands. A `hint` replaces the whole line; `busy` names the background work. `template` and `command` are the
    user's own status line."""

    model: str
    mode: Mode
    window: str
    sent_turns: int | None = None
    context: int | None = None
    cost: float | None = 0.0
    jobs: int = 0
    busy: str = ""
    hint: str = ""
    tokens: int = 0  # of the session's requests and answers
    session: str = ""  # its id
    title: str = ""
    folder: Path | None = None
    branch: str = ""
    template: str = ""
    command: StatusCommand | None = None
    stored_turns: int = 0  # that are not sent
    known_cost: float = 0.0  # of the requests whose price is known
    shows_price: bool = False  # whether the price of the next request is shown
    next_price: str = ""  # that price, in words; "": it is not known yet, or not shown
    _runtime: Runtime | None = None
    _measured: _Measured | None = None

    def attach(self, runtime: Runtime) -> None:
        """Read values from the runtime from now on, and set the mode that was chosen while it was loading."""
        self._runtime = runtime
        self.busy = ""
        runtime.set_mode(self.mode)
        self.refresh()

    def cycle_mode(self) -> None:
        """Set the next mode that a key can reach; after auto, that is ask."""
        following = dict(zip(_MODES_BY_KEY, _MODES_BY_KEY[1:], strict=False))
        self.mode = following.get(self.mode, _MODES_BY_KEY[0])
        if self._runtime is not None:
            self._runtime.set_mode(self.mode)
        self._run_command()

    def observe(self, event: Event) -> None:
        """Update the values that an event has changed, during the turn, or the share of the next request after it."""
        if event.type == "context_measured":
            measured = cast("ContextMeasured", event)
            self.context = percent(measured.tokens, measured.limit)
            self._run_command()
        elif event.type in _CHANGES:
            self.refresh()

    def measured(self, session: Session, first: int) -> None:
        """Take over that the next request of this session begins with turn `first`."""
        self._measured = _Measured(session.id, session.interactions, str(session.window), first)
        self._count_turns(session)

    def _count_turns(self, session: Session | None) -> None:
        if session is not None and self._measured is not None and self._measured.holds_for(session):
            self.sent_turns = session.interactions - self._measured.first + 1
        else:
            self.sent_turns = _count_sent_turns(session)
        self.stored_turns = session.interactions - self.sent_turns if session else 0

    def refresh(self) -> None:
        """Update the values; in another session, reset the context share."""
        if self._runtime is None:
            return
        agent = self._runtime.agent
        session = self._runtime.sessions.current_session
        self.model = agent.model.name
        self.mode = agent.permissions.mode
        self.window = str(session.window if session else self._runtime.settings.window)
        totals = self._runtime.sessions.totals()
        self._count_turns(session)
        self.cost = totals.cost
        self.known_cost = totals.known_cost
        self.tokens = totals.usage.total
        self.jobs = len(agent.ctx.commands.jobs.running)
        if session is not None:
            if session.id != self.session:
                self.context = None
            self.session = session.id
            self.title = session.title
        if self.folder is not None and (self.template or self.command):
            self.branch = read_branch(self.folder)
        self._run_command()

    def figures(self) -> dict[str, Json]:
        """Return the figures of a status line; None for what is not known yet."""
        return {
            "model": self.model,
            "mode": self.mode,
            "window": self.window,
            "turns": self.sent_turns,
            "context": self.context,
            "tokens": self.tokens,
            "cost": self.cost,
            "next_price": self.next_price,
            "jobs": self.jobs,
            "branch": self.branch,
            "folder": str(self.folder or ""),
            "title": self.title,
            "session": self.session,
            "activity": self.busy,
        }

    def _run_command(self) -> None:
        if self.command is not None:
            self.command.update(self.figures())

    def line(self, width: int) -> list[tuple[str, str]]:
        """Return the footer as styled fragments of at most `width` columns; the least important are dropped first. The
        user's own line is cut at its end."""
        if self.hint:
            return [("class:footer.hint", _truncate(self.hint, width))]
        if self.command is not None and self.command.line:
            return _color_line(self.command.line, self._style)
        if self.template:
            return [(self._style, _truncate(self._fill_template(), width))]
        pieces = [piece for piece in self._pieces() if piece.text]
        if _length(pieces) > width:
            pieces[0] = replace(pieces[0], text=self.model.rpartition("/")[2])
        while len(pieces) > _LEAST_PIECES and _length(pieces) > width:
            pieces.remove(min(pieces, key=lambda piece: piece.weight))
        style = pieces[0].style
        if _length(pieces) > width:
            text = _SEPARATOR.join(piece.text for piece in pieces)
            return [(style, _truncate(text, width))]
        fragments: list[tuple[str, str]] = []
        for piece in pieces:
            fragments += [(style, _SEPARATOR), (piece.style, piece.text)]
        return fragments[1:]

    @property
    def _style(self) -> str:
        return "class:footer.auto" if self.mode == "auto" else "class:footer"

    def _fill_template(self) -> str:
        """Return the template with its figures. A part between separators whose figures are all unknown is left out."""
        figures = self._format_figures()
        parts: list[str] = []
        for template in self.template.split(_SEPARATOR):
            names = list(names_in(template))
            if not names or any(figures[name] for name in names):
                parts.append(template.format_map(figures))
        return sanitize(_SEPARATOR.join(parts), keep_newlines=False)

    def _format_figures(self) -> Mapping[str, str]:
        """Return the figures as they are shown; "" for what is unknown or none."""
        figures = {
            name: "" if value is None else str(value) for name, value in self.figures().items()
        }
        return figures | {
            "context": "" if self.context is None else f"{self.context}%",
            "tokens": format_tokens(self.tokens),
            "cost": format_least(self.cost, self.known_cost),
            "jobs": pluralize(self.jobs, "job") if self.jobs else "",
            "folder": "" if self.folder is None else short_path(self.folder),
        }

    def _pieces(self) -> list[_Piece]:
        """Return the parts of the line from left to right; the model and the mode have the largest weights."""
        app = get_app()
        figures = self._format_figures()
        style = self._style
        vi_mode = ""
        if app.editing_mode is EditingMode.VI:
            vi_mode = app.vi_state.input_mode.value.replace("-", " ")
        window = "" if self.sent_turns is None else f"{pluralize(self.sent_turns, 'turn')} sent"
        if self.stored_turns:
            window += f", {self.stored_turns} stored"
        context = "" if self.context is None else f"context {figures['context']}"
        return [
            _Piece(self.model, style, 8),
            _Piece(self.mode, f"class:footer.{self.mode}", 7),
            _Piece(vi_mode, style, 6),
            _Piece(window, style, 1),
            _Piece(context, style, 3),
            _Piece(figures["jobs"], "class:footer.busy", 4),
            _Piece(figures["cost"], style, 5),
            _Piece(self.next_price, style, 4),
            _Piece(self.busy, "class:footer.busy", 2),
        ]


def _color_line(line: str, style: str) -> list[tuple[str, str]]:
    """Return a line that a command printed, with its colours and without other control sequences."""
    safe = ""
    for part in _COLOR.split(line):
        safe += part if _COLOR.fullmatch(part) else sanitize(part, keep_newlines=False)
    colored = to_formatted_text(ANSI(safe))
    return [(f"{style} {own_style}", text) for own_style, text, *_ in colored]


def _length(pieces: Sequence[_Piece]) -> int:
    return len(_SEPARATOR.join(piece.text for piece in pieces))


def _truncate(text: str, width: int) -> str:
    """Truncate a text to `width` columns, with an ellipsis."""
    return text if len(text) <= width else text[: max(0, width - 1)] + "…"[:width]


def _count_sent_turns(session: Session | None) -> int:
    """Return the number of completed interactions that the next request contains verbatim."""
    if session is None:
        return 0
    if session.context.epoch is not None:
        first = session.context.epoch.first
    else:
        first = session.window.first_kept(session.interactions, session.window_start)
    return session.interactions - first + 1
