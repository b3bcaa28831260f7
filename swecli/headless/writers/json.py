"""One JSON object a turn: its answer, what it cost, what was denied."""

from __future__ import annotations

from swecli.headless.plain import dumps
from swecli.headless.writers.base import Writer


class Json(Writer):
    """The result object, also of a turn that failed."""

    def close(self, exit_code: int) -> None:
        """Write it."""
        self.put(dumps(self.turn.result(exit_code)))
        super().close(exit_code)


FORMAT = Json
