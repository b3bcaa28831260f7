"""How long a command may run, and how that is said of one that was stopped."""

from __future__ import annotations

from dataclasses import dataclass

# For what runs without a question, and so without anybody who waits for it; some of it would not end (cat PIPE).
READ_ONLY_SECONDS = 10.0
TIMEOUT_CODE = 124  # the exit code of a command that was stopped, as of timeout(1)


@dataclass(frozen=True, slots=True)
class TimeLimit:
    """A command's limit: `seconds`, None for none. `only_reads`: it got this one because it only reads."""

    seconds: float | None
    only_reads: bool = False

    @classmethod
    def of_reading(cls, wanted: float | None) -> TimeLimit:
        """Return the limit of a command that only reads, for which a call wants so many seconds, or any number."""
        if wanted is None or wanted > READ_ONLY_SECONDS:
            return cls(READ_ONLY_SECONDS, only_reads=True)
        return cls(wanted, only_reads=True)

    @property
    def excess(self) -> str:
        """What a command did that was stopped."""
        return f"it took longer than {self.seconds or 0:g} s"

    @property
    def rule(self) -> str:
        """What is to be said behind that, "" if the call itself or a setting chose the limit."""
        if not self.only_reads:
            return ""
        return f"; what only reads gets at most {READ_ONLY_SECONDS:g} s, whatever `timeout` and `background` say"
