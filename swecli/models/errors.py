"""The exceptions a user may see: a one-line message, a hint and an exit code.

A failed tool call is a value (`ToolResult(ok=False)`), not an exception.
"""

from __future__ import annotations


class SwecliError(Exception):
    """Base class of errors shown to the user. `hint` says what to do next."""

    exit_code = 1

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message}  {self.hint}".rstrip()


class UsageError(SwecliError):
    """A flag or command is wrong."""

    exit_code = 2


class BadInput(SwecliError):
    """A value is invalid."""

    exit_code = 42


class ToolError(BadInput):
    """An error whose message the model reads."""


class ConfigError(BadInput):
    """A configuration file or setting is invalid."""


class ContinuedElsewhere(BadInput):
    """Another process has added turns to the session, or taken some back: this one has to load it again."""

    def __init__(self) -> None:
        super().__init__(
            "Another swecli has changed this session.",
            "Load its turns with /resume and the session's name, or continue in a copy: /fork",
        )


class BusyElsewhere(BadInput):
    """A turn of the session runs in another process."""

    def __init__(self, interaction: int) -> None:
        super().__init__(
            f"T{interaction} of this session runs in another swecli.",
            "Wait for its end, or continue in a copy: /fork",
        )


class StoreError(SwecliError):
    """The database cannot be used."""


class DamagedDatabase(StoreError):
    """The database is damaged, or belongs to another program."""


class LimitReached(SwecliError):
    """A limit set by the user was reached."""

    exit_code = 53


class ContextFull(LimitReached):
    """The request is too long and cannot be reduced further."""


class SchemaUnmet(SwecliError):
    """The answer does not follow the JSON schema that the user named, nor did the one before it."""

    exit_code = 76  # EX_PROTOCOL of sysexits.h: what came back is not what was agreed


class ProviderError(SwecliError):
    """The model's service refused the request or failed. If `retryable`, the same request may succeed later."""

    retryable = False

    def __init__(self, message: str, hint: str = "", *, status: int | None = None) -> None:
        super().__init__(message, hint)
        self.status = status


class RequestRefused(ProviderError):
    """The service refused something in the request."""


class ModelNotFound(ProviderError):
    """The model or provider does not exist."""

    exit_code = 42


class NoModel(BadInput):
    """No model is named, and none was found."""


class AuthFailed(ProviderError):
    """The API key is missing or was rejected."""


class ContextOverflow(ProviderError):
    """The request is longer than the model's window. `limit` is in tokens, None if the provider did not name it;
    `reported` is how the limit is known otherwise."""

    limit: int | None = None
    reported: str = ""


class UnsupportedFeature(ProviderError):
    """The model does not support a part of the request, which is sent again without it. The message is "" if the user
    need not know; the hint is the service's answer."""


class OutputLimitReached(ProviderError):
    """Reasoning used up the output limit before the answer began."""

    exit_code = 53


class Unavailable(ProviderError):
    """The service is unreachable or overloaded, or its answer broke off. `tries` is the maximum number of attempts; it
    is small if an attempt may cost money; `retry_after` is in seconds, None if the provider did not name it.
    `is_overload`: it takes no request now, whatever that is, or cannot be reached, so that another service may help."""

    exit_code = 75
    retryable = True

    def __init__(
        self,
        message: str,
        hint: str = "",
        *,
        status: int | None = None,
        tries: int = 5,
        retry_after: float | None = None,
        is_overload: bool = False,
    ) -> None:
        super().__init__(message, hint, status=status)
        self.tries, self.retry_after = tries, retry_after
        self.is_overload = is_overload


class CallLost(Unavailable):
    """The service ended its answer as one with a tool call, and sent no call."""

    exit_code = 53


def describe_unexpected(error: BaseException) -> str:
    """Return the sentence for an exception that nobody has foreseen. A file that cannot be used is no fault of the
    program: it is told as the system tells it."""
    if isinstance(error, OSError) and error.strerror and error.filename is not None:
        return f"{error.strerror}: {error.filename}."
    return f"Internal error: {type(error).__name__}: {error}".rstrip(": .") + "."
