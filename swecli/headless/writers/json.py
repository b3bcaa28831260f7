"""One JSON object for each turn: its answer, cost and denied calls."""

from __future__ import annotations

from swecli.headless.writers.base import Writer
from swecli.models.json_value import dumps


class _Json(Writer):
    """Writes the result object, also of a turn that failed."""

    def answer(self, exit_code: int) -> str:
        """Return the result object."""
        return dumps(self.turn.result(exit_code))


FORMAT = _Json
