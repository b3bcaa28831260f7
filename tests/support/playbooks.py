"""Helpers for playbooks in memory."""

from __future__ import annotations

from typing import Any

from swecli.models.playbook import AppliedDelta, Bullet, SessionPlaybook


def add_bullet(playbook: SessionPlaybook, content: str, **fields: Any) -> Bullet:
    """Add a bullet with the next free number."""
    number = max((bullet.number for bullet in playbook.bullets.values()), default=0) + 1
    playbook.bullets[f"P-{number}"] = bullet = Bullet(id=f"P-{number}", content=content, **fields)
    return bullet


def operations(applied: AppliedDelta) -> str:
    """Format the operations of a change, as in `add P-3, pin P-1`."""
    return ", ".join(f"{op.op.lower()} {name}" for name, op in applied.ops_by_id())
