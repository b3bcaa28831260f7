"""How large a request may be: the reserve for the answer, the safety buffer, and the thresholds per profile."""

from __future__ import annotations

import logging
from collections.abc import Mapping

TOKEN_BUFFER_PERCENTAGE = 0.1
MIN_CONDENSE_THRESHOLD = 50
MAX_CONDENSE_THRESHOLD = 100
DEFAULT_MAX_TOKENS = 8192
INHERIT = -1
LEAN_WINDOW = 16_384  # tokens: up to here a model gets few tools and a short system text
SMALL_WINDOW = 32_768

# Where a model's window is unknown this many characters are the limit; where it is known, an upper cap.
MAX_CHARACTERS = 500_000

_log = logging.getLogger(__name__)


def allowed_tokens(context_window: int, max_tokens: int | None = None) -> int:
    """Tokens a request may have: nine tenths of the window, less what is reserved for the answer.

    `max_tokens` is the reserve; None or 0 stands for 8192. The result is negative when the reserve is larger
    than the window: then nothing fits.
    """
    percent_used = 100 - round(100 * TOKEN_BUFFER_PERCENTAGE)
    return context_window * percent_used // 100 - (max_tokens or DEFAULT_MAX_TOKENS)


def effective_threshold(percent: int, profile_thresholds: Mapping[str, int], profile_id: str) -> int:
    """The percentage of the window at which a profile's context is reduced.

    A profile's own value counts from 50 to 100; -1, or no entry, inherits `percent`; anything else is logged as a
    warning and inherits too.
    """
    own = profile_thresholds.get(profile_id, INHERIT)
    if own == INHERIT:
        return percent
    if MIN_CONDENSE_THRESHOLD <= own <= MAX_CONDENSE_THRESHOLD:
        return own
    _log.warning(
        "threshold %s of profile %r is not between %s and %s: the global one, %s, is used",
        own,
        profile_id,
        MIN_CONDENSE_THRESHOLD,
        MAX_CONDENSE_THRESHOLD,
        percent,
    )
    return percent


def request_limit(context_window: int | None, max_output: int | None = None) -> int | None:
    """Tokens a real request is held to; None where the window is unknown (then characters decide).

    At least a quarter of the window: for a model whose answers may be as long as its window (many small local
    ones say so) `allowed_tokens` would leave no room for any question.
    """
    if not context_window or context_window < 0:
        return None
    return max(allowed_tokens(context_window, max_output), context_window // 4)


def is_lean(window: int | None) -> bool:
    """Whether a window of that many tokens has no room for all tools."""
    return window is not None and window <= LEAN_WINDOW
