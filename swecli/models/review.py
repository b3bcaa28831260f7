"""A review as it is kept: what it looks at, how far it is, and how it ended."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

ReviewEnd = Literal["done", "max_loops", "max_budget", "interrupted", "failed"]


@dataclass(frozen=True, slots=True)
class ReviewRecord:
    """One review. `id` is `R-` and a number, `spec` the words its target was named with, `label` the target in words.

    `status` is "running" until it has ended. `total` counts what was reported, repetitions too; `unique` without
    them; `seen` are the files the model has read so far.
    """

    project: str
    spec: tuple[str, ...]
    label: str
    session_id: str = ""
    id: str = ""
    status: str = "running"
    loops: int = 0
    total: int = 0
    unique: int = 0
    seen: tuple[str, ...] = ()
    prompt: str = ""
    lost: tuple[str, ...] = field(default=())
