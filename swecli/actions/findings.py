"""The findings of a project, which `/findings` and `/review` work on."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # the prompt completes the names of the actions before these are loaded
    from swecli.store.reviews import ReviewStore
    from swecli.store.session_manager import SessionManager


def open_store(sessions: SessionManager, folder: Path) -> ReviewStore:
    """Return the findings of the project that contains this folder."""
    # late: most sessions review nothing
    from swecli.store.reviews import ReviewStore
    from swecli.tools.projects import open_project

    return ReviewStore(sessions.database, open_project(sessions.database, folder).project)
