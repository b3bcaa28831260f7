"""What the footer is told, from the settings at first, from the running program later; and the mode."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, cast

from swecli.models.message import MODES, Mode
from swecli.repl.footer import Facts, Fragments, footer
from swecli.repl.render.formatting import percent

if TYPE_CHECKING:
    from swecli.app import Runtime
    from swecli.config.start import Start
    from swecli.models.events import ContextMeasured, Event
    from swecli.models.session import Session


class Gauge:
    """Keeps the figures that cost something to get; `refresh` reads them anew. `redraw` draws the footer again.

    `runtime` is None until it is there; a mode chosen before goes to it then.
    """

    def __init__(self, start: Start, redraw: Callable[[], None]) -> None:
        self._start, self._redraw = start, redraw
        self.mode: Mode = start.settings.mode
        self.runtime: Runtime | None = None
        self.busy = "starting"
        self._hint = ""
        self._context: int | None = None
        self._cost: float | None = 0.0
        self._session = ""

    def arrived(self, runtime: Runtime) -> None:
        """The runtime is there."""
        self.runtime, self.busy = runtime, ""
        runtime.set_mode(self.mode)
        self.refresh()

    def cycle_mode(self) -> None:
        """Go on to the next permission mode."""
        self.mode = MODES[(MODES.index(self.mode) + 1) % len(MODES)]
        if self.runtime is not None:
            self.runtime.set_mode(self.mode)
        self._redraw()

    def hint(self, text: str) -> None:
        """Show a line in place of the footer; "" takes it away."""
        if text != self._hint:
            self._hint = text
            self._redraw()

    def observe(self, event: Event) -> None:
        """Take the size of the newest request out of a turn's events."""
        if event.type == "context_measured":  # by its name: the events' module costs 10 ms before the first prompt
            measured = cast("ContextMeasured", event)
            self._context = percent(measured.tokens, measured.limit)

    def refresh(self) -> None:
        """Read mode and cost; in another session, forget the size of the last one's request."""
        if self.runtime is None:
            return
        session = self.runtime.sessions.current_session
        self.mode = self.runtime.agent.permissions.mode
        self._cost = self.runtime.sessions.totals().cost
        if session is not None and session.id != self._session:
            self._session, self._context = session.id, None

    def footer(self, width: int) -> Fragments:
        """The footer, now, in that many columns."""
        return footer(self.facts(), width)

    def facts(self) -> Facts:
        """What to show now."""
        if self.runtime is None:
            window = str(self._start.settings.window)
            return Facts(self._start.choice.name, self.mode, window, busy=self.busy, hint=self._hint)
        session = self.runtime.sessions.current_session
        return Facts(
            self.runtime.agent.model.name,
            self.mode,
            str(session.window if session else self.runtime.settings.window),
            held(session),
            self._context,
            self._cost,
            self.busy,
            self._hint,
        )


def held(session: Session | None) -> int:
    """How many completed interactions the next request holds verbatim."""
    if session is None:
        return 0
    epoch = session.context.epoch
    first = epoch.first if epoch else session.window.first_kept(session.interactions, session.window_start)
    return session.interactions - first + 1
