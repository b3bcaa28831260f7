"""The user's login at a service."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from swecli.config.settings import Start
from swecli.tools.mcp.servers import Server

if TYPE_CHECKING:
    import httpx2


def find_login(server: Server, url: str, start: Start) -> httpx2.Auth | None:
    """Return what adds the user's login to each request; None if there is none."""
    return None


async def log_in_at(server: Server, start: Start, say: Callable[[str], None]) -> None:
    """Log in at a service."""
