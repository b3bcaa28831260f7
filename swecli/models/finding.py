"""A review finding and the key by which two of them are the same."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Finding:
    """Something a review said about one place in the code. `line` counts from 1."""

    path: str
    line: int
    code_smell_type: str
    message: str
    severity: str = "medium"
    improvement: str = ""
    end_line: int | None = None
    loop: int = 0

    @property
    def key(self) -> tuple[str, int, str]:
        """Path, line and smell type: two findings with one key are one finding, the first wins."""
        return (self.path, self.line, self.code_smell_type)
