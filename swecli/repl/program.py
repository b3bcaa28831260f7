"""What the running program offers to its components: the prompt, the keys, the commands and the background work."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:  # the prompt is drawn before these are loaded
    import asyncio

    from swecli.agent.agent import Agent
    from swecli.models.events import Event
    from swecli.repl.footer import Footer
    from swecli.repl.line_queue import LineQueue
    from swecli.repl.render.renderer import Renderer
    from swecli.store.session_manager import SessionManager


class Program(Protocol):
    """The running program. `queue` holds the lines that were sent and are not yet running; `session_manager`, `agent`
    and `renderer` are set once `start_loading` is done."""

    queue: LineQueue
    footer: Footer
    session_manager: SessionManager
    agent: Agent
    renderer: Renderer

    @property
    def working(self) -> bool:
        """Return whether a line is running, or a command beside it, which Esc interrupts."""

    def start_loading(self) -> asyncio.Future[None]:
        """Load the slow components, once. The future is done when lines can run."""

    def submit(self, text: str) -> None:
        """Accept a line that was sent, with its pastes still collapsed."""

    def is_command(self, line: str) -> bool:
        """Return whether a typed line is a slash command, or a word that leaves."""

    def interrupt(self) -> None:
        """Interrupt the newest command that runs beside a line; without one, the line itself, and hold the queue."""

    def steer(self, text: str) -> None:
        """Send a line to the running turn, or queue it."""

    def leaving_stops(self) -> str:
        """Return what quitting now would stop or drop, as words; "" for nothing."""

    def leave(self) -> None:
        """End the program as its user wants to: ask first what is to be settled."""

    def quit(self, code: int = 0) -> None:
        """End the program, and cancel the running line."""

    def unfold(self) -> None:
        """Print what was folded last, then all of the turn, then fold again."""

    def set_draft(self, text: str, offered: bool = False) -> None:
        """Put a line back into the input line; one that is only `offered` gives way to what is typed."""

    def report(self, error: BaseException | str) -> None:
        """Print an error in one line."""

    def start_learning(self, interaction: int) -> None:
        """Learn from a finished turn and those before it, and start its title in the background."""

    def show(self, event: Event) -> None:
        """Draw an event above the prompt, and update the footer from it."""

    def measure_next(self) -> None:
        """Update what the footer shows of the next request."""

    def background_changed(self) -> None:
        """Update the footer after a line or a background task started or ended."""
