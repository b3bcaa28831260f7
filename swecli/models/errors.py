"""Every failure that may reach a user: one clear line, what to do next, and an exit code.

Failures of a tool are values (`ToolResult(ok=False)`), not exceptions.
"""

from __future__ import annotations


class SwecliError(Exception):
    """A failure with a line for the user. `hint` says what to do next."""

    exit_code = 1

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message}  {self.hint}".rstrip()


class UsageError(SwecliError):
    """A wrong flag or command."""

    exit_code = 2


class BadInput(SwecliError):
    """A value that cannot be used."""

    exit_code = 42


class ConfigError(BadInput):
    """A configuration file or setting that cannot be used."""


class StoreError(SwecliError):
    """The database cannot be used."""


class DamagedDatabase(StoreError):
    """The database is unreadable, or another program's."""


class LimitReached(SwecliError):
    """A cap the user set was reached."""

    exit_code = 53


class ContextFull(LimitReached):
    """The request is too long and nothing more can be taken out of it."""


class ProviderError(SwecliError):
    """The model's service refused or failed. `retryable` says whether the same request may work later."""

    retryable = False

    def __init__(self, message: str, hint: str = "", *, status: int | None = None) -> None:
        super().__init__(message, hint)
        self.status = status


class ModelNotFound(ProviderError):
    """There is no such model or provider."""

    exit_code = 42


class AuthFailed(ProviderError):
    """The key is missing or was refused."""


class ContextOverflow(ProviderError):
    """The request is longer than the model's window. `limit` in tokens, where the provider named it; `reported` is how
    it came to be known, where the provider did not name it."""

    limit: int | None = None
    reported: str = ""


class UnsupportedFeature(ProviderError):
    """The model does not take a part of the request. It is sent again without it; the message is "" where the user need
    not know, the hint what the service answered."""


class OutputLimitReached(ProviderError):
    """The model thought until the answer's length was used up."""

    exit_code = 53


class Unavailable(ProviderError):
    """The service cannot be reached, is overloaded, or cut its answer off. `tries` is how often such a request is sent
    in all: what may have been paid is not paid again and again."""

    exit_code = 75
    retryable = True
    retry_after: float | None = None

    def __init__(self, message: str, hint: str = "", *, status: int | None = None, tries: int = 5) -> None:
        super().__init__(message, hint, status=status)
        self.tries = tries


class RateLimited(Unavailable):
    """Too many requests. `retry_after` in seconds, where the provider named it."""

    def __init__(
        self, message: str, hint: str = "", *, status: int | None = 429, retry_after: float | None = None
    ) -> None:
        super().__init__(message, hint, status=status)
        self.retry_after = retry_after
