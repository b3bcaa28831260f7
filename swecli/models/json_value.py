"""Parsed JSON, whose parts have no type until somebody has looked at them."""

from __future__ import annotations

from typing import Any

Json = Any  # type: ignore[explicit-any]
JsonObject = dict[str, Any]  # type: ignore[explicit-any]
