"""The last answer as text, safe for a terminal."""

from __future__ import annotations

from swecli.headless.plain import plain
from swecli.headless.writers.base import Writer


class _Text(Writer):
    """Writes the answer alone."""

    def close(self, exit_code: int) -> None:
        """Write the answer, if there is one."""
        if self.turn.finished and self.turn.finished.text.strip():
            self.put(plain(self.turn.finished.text).rstrip("\n"))
        super().close(exit_code)


FORMAT = _Text
