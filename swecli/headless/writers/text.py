"""The last answer as text, safe for a terminal."""

from __future__ import annotations

from swecli.headless.writers.base import Writer

FORMAT = Writer
