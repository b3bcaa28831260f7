"""SARIF 2.1.0 checked by the official schema, as models that a package has made from it, and which forbid the rest."""

from __future__ import annotations

from typing import Any

from pydantic_sarif.model import StaticAnalysisResultsFormatSarifVersion210JsonSchema as Log


def check_sarif(log: dict[str, Any]) -> None:
    """Raises ValidationError with each fault and its place. What models cannot say is asserted: a text in each message,
    and rules that differ."""
    Log.model_validate(log)
    for run in log["runs"]:
        noted = [note for one in run.get("invocations", []) for note in one.get("toolExecutionNotifications", [])]
        assert all(row["message"].get("text") for row in (*run["results"], *noted))
        rules = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
        assert len(rules) == len(set(rules))
