"""`/exit`."""

from __future__ import annotations

from tests.support.desk import Desk


async def test_it_leaves(desk: Desk) -> None:
    await desk.type("/exit")
    assert desk.left
