"""Playbooks that live in memory only, and what was done to them."""

from __future__ import annotations

from typing import Any

from swecli.models.playbook import AppliedDelta, Bullet, SessionPlaybook


def add_bullet(playbook: SessionPlaybook, content: str, **fields: Any) -> Bullet:
    """Add a bullet under the next free number."""
    number = max((bullet.number for bullet in playbook.bullets.values()), default=0) + 1
    playbook.bullets[f"P-{number}"] = bullet = Bullet(id=f"P-{number}", content=content, **fields)
    return bullet


def operations(applied: AppliedDelta) -> str:
    """What a change did, as in `add P-3, pin P-1`."""
    return ", ".join(f"{op.op.lower()} {name}" for name, op in applied.ops_by_id())
