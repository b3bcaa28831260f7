"""The error that a tool reports to the model."""

from __future__ import annotations

from swecli.models.errors import BadInput


class ToolError(BadInput):
    """An error whose message the model reads."""
