"""One JSON object for each event, on a line each, then the result object."""

from __future__ import annotations

from swecli.headless.writers import json
from swecli.models.events import Event, to_json
from swecli.models.json_value import dumps


class _StreamJson(json.FORMAT):
    """Writes every event at once."""

    answers_last = True

    def write(self, event: Event) -> None:
        """Write the event as a line."""
        super().write(event)
        self.put(dumps(to_json(event)))


FORMAT = _StreamJson
