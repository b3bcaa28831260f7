"""What hooks are told of a run, and where they run in it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from swecli.config.settings import Start
from swecli.models.mode import Mode
from swecli.values import dataclass

if TYPE_CHECKING:
    from swecli.store.session_manager import SessionManager
    from swecli.tools.guard import Guard
    from swecli.tools.sandbox import Sandbox


@dataclass(frozen=True, slots=True)
class HookedRun:
    """A run that hooks are asked in. What may change in it is a function."""

    start: Start
    sessions: SessionManager
    open_sandbox: Callable[[], Sandbox]
    guard: Callable[[], Guard]
    mode: Callable[[], Mode]
