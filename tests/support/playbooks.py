"""Playbooks that live in memory only."""

from __future__ import annotations

from typing import Any

from swecli.models.playbook import Bullet, SessionPlaybook


def add_bullet(playbook: SessionPlaybook, content: str, **fields: Any) -> Bullet:
    """Add a bullet under the next free number."""
    number = max((bullet.number for bullet in playbook.bullets.values()), default=0) + 1
    playbook.bullets[f"P-{number}"] = bullet = Bullet(id=f"P-{number}", content=content, **fields)
    return bullet
