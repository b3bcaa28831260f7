"""What is measured about reliability and safety: one module a measurement, in the order of the page."""

from __future__ import annotations

from lab.assurance.measurements.redacted import REDACTED
from lab.assurance.measurements.rows import Measurement
from lab.assurance.measurements.sanitised import SANITISED
from lab.assurance.measurements.typed_ahead import TYPED_AHEAD
from lab.assurance.measurements.unasked_commands import UNASKED_COMMANDS

MEASUREMENTS: tuple[Measurement, ...] = (
    TYPED_AHEAD,
    UNASKED_COMMANDS,
    SANITISED,
    REDACTED,
)
