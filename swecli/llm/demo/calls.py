"""A tool call, as it is wanted or was made."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call that is wanted, or was made."""

    name: str
    parameters: dict[str, Any]

    @property
    def key(self) -> str:
        """Two calls with one key are the same call."""
        return self.name + json.dumps(self.parameters, sort_keys=True, default=str)

    @property
    def path(self) -> str:
        """The file or folder it is about, "" when it is about none."""
        return str(self.parameters.get("path") or "")

    @property
    def command(self) -> str:
        """The command it runs, "" when it runs none."""
        return str(self.parameters.get("command") or "") if self.name == "run_command" else ""
