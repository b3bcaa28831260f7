"""The status line under the prompt, shortened to the width of the terminal."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from prompt_toolkit.application import get_app
from prompt_toolkit.enums import EditingMode

from swecli.models.message import Mode
from swecli.repl.render.formatting import format_dollars, percent

if TYPE_CHECKING:
    from swecli.app import Runtime
    from swecli.models.events import ContextMeasured, Event
    from swecli.models.session import Session

_SEPARATOR = " · "
_MODES_BY_KEY: tuple[Mode, ...] = ("ask", "edits", "plan")  # auto never asks: only by its name
# Types of events, by name (importing the events takes 10 ms before the first prompt): a session begins, its cost grows,
# a call may have started a background job.
_CHANGES = frozenset({"turn_started", "usage_reported", "tool_finished"})
_Fragments = list[tuple[str, str]]


@dataclass(slots=True)
class Footer:
    """The values shown in the footer. `sent_turns` is the number of turns in the window, `context` the used share of it
    in percent, None while unknown. `cost` is in US dollars, None if a price is unknown; `jobs` counts background
    commands. A `hint` replaces the whole line; `busy` names the background work."""

    model: str
    mode: Mode
    window: str
    sent_turns: int | None = None
    context: int | None = None
    cost: float | None = 0.0
    jobs: int = 0
    busy: str = ""
    hint: str = ""
    _runtime: Runtime | None = None
    _session: str = ""

    def loaded(self, runtime: Runtime) -> None:
        """Read values from the runtime from now on, and set the mode that was chosen while it was loading."""
        self._runtime, self.busy = runtime, ""
        runtime.set_mode(self.mode)
        self.refresh()

    def cycle_mode(self) -> None:
        """Set the next mode that a key can reach; after auto, that is ask."""
        following = dict(zip(_MODES_BY_KEY, _MODES_BY_KEY[1:], strict=False))
        self.mode = following.get(self.mode, _MODES_BY_KEY[0])
        if self._runtime is not None:
            self._runtime.set_mode(self.mode)

    def observe(self, event: Event) -> None:
        """Update the values that an event has changed, during the turn."""
        if event.type == "context_measured":
            measured = cast("ContextMeasured", event)
            self.context = percent(measured.tokens, measured.limit)
        elif event.type in _CHANGES:
            self.refresh()

    def measure(self) -> None:
        """After the first request, update the context share to that of the next request, as `/context` shows it."""
        if self._runtime is not None and self.context is not None:
            found = self._runtime.context_control.meter(exact=False)
            self.context = percent(found.total, found.limit)

    def refresh(self) -> None:
        """Update the values; in another session, reset the context share."""
        if self._runtime is None:
            return
        agent, session = self._runtime.agent, self._runtime.sessions.current_session
        self.model, self.mode = agent.model.name, agent.permissions.mode
        self.window = str(session.window if session else self._runtime.settings.window)
        self.sent_turns, self.cost = (
            _count_sent_turns(session),
            self._runtime.sessions.totals().cost,
        )
        self.jobs = len(agent.ctx.jobs.running)
        if session is not None and session.id != self._session:
            self._session, self.context = session.id, None

    def line(self, width: int) -> _Fragments:
        """Return the footer as styled fragments of at most `width` columns; the least important are dropped first."""
        if self.hint:
            return [("class:footer.hint", _truncate(self.hint, width))]
        app = get_app()
        style = "class:footer.auto" if self.mode == "auto" else "class:footer"
        sent = "" if self.sent_turns is None else f": {self.sent_turns}"
        pieces: _Fragments = [  # most important first
            (style, self.model),
            (f"class:footer.{self.mode}", self.mode),
            *(
                [(style, app.vi_state.input_mode.value.replace("-", " "))]
                if app.editing_mode is EditingMode.VI
                else []
            ),
            (style, f"window {self.window}{sent}"),
        ]
        if self.context is not None:
            pieces.append((style, f"context {self.context}%"))
        if self.jobs:
            pieces.append(
                ("class:footer.busy", f"{self.jobs} {'job' if self.jobs == 1 else 'jobs'}")
            )
        pieces.append((style, "cost unknown" if self.cost is None else format_dollars(self.cost)))
        if self.busy:
            pieces.append(("class:footer.busy", self.busy))
        if _length(pieces) > width:
            pieces[0] = (style, self.model.rpartition("/")[2])
        while len(pieces) > 2 and _length(pieces) > width:
            pieces.pop()
        if _length(pieces) > width:
            return [(style, _truncate(_SEPARATOR.join(text for _, text in pieces), width))]
        return [part for piece in pieces for part in ((style, _SEPARATOR), piece)][1:]


def _length(pieces: _Fragments) -> int:
    return len(_SEPARATOR.join(text for _, text in pieces))


def _truncate(text: str, width: int) -> str:
    """Truncate a text to `width` columns, with an ellipsis."""
    return text if len(text) <= width else text[: max(0, width - 1)] + "…"[:width]


def _count_sent_turns(session: Session | None) -> int:
    """Return the number of completed interactions that the next request contains verbatim."""
    if session is None:
        return 0
    epoch = session.context.epoch
    first = (
        epoch.first
        if epoch
        else session.window.first_kept(session.interactions, session.window_start)
    )
    return session.interactions - first + 1
