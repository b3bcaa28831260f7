"""The modes of a session: which calls run without a question."""

from __future__ import annotations

from typing import Literal

Mode = Literal["ask", "edits", "plan", "auto"]
MODES: tuple[Mode, ...] = ("ask", "edits", "plan", "auto")
PlanMode = Literal["ask", "edits"]  # the modes in which a plan can be carried out
