"""Passages of stored texts, without secrets."""

from __future__ import annotations

from swecli.redact import redact_part

_AROUND = 4_000  # characters on either side of an excerpt that are redacted with it


def excerpt(content: str, start: int, end: int, beside: int) -> str:
    """Return the passage with `beside` characters on either side, in one line and redacted, also where a secret only
    reaches into it."""
    first = max(0, start - beside)
    last = min(len(content), end + beside)
    nearby = max(0, first - _AROUND)
    clean = redact_part(content[nearby : last + _AROUND], first - nearby, last - nearby)
    before = "…" if first > 0 else ""
    after = "…" if last < len(content) else ""
    return " ".join(f"{before}{clean}{after}".split())
