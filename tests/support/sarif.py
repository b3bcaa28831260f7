"""Validate SARIF 2.1.0 with generated models of the official schema, which forbid unknown fields."""

from __future__ import annotations

from typing import Any

from pydantic_sarif.model import StaticAnalysisResultsFormatSarifVersion210JsonSchema as Log


def check_sarif(log: dict[str, Any]) -> None:
    """Raise ValidationError for a log that violates the schema, AssertionError for an empty message or a duplicate
    rule (which the models do not check)."""
    Log.model_validate(log)
    for run in log["runs"]:
        noted = [
            note
            for one in run.get("invocations", [])
            for note in one.get("toolExecutionNotifications", [])
        ]
        assert all(row["message"].get("text") for row in (*run["results"], *noted))
        rules = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
        assert len(rules) == len(set(rules))
