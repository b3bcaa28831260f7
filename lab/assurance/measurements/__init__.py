"""What is measured about reliability and safety: one module a measurement, in the order of the page."""

from __future__ import annotations

from lab.assurance.measurements.four_processes import FOUR_PROCESSES
from lab.assurance.measurements.kept_secrets import KEPT_SECRETS
from lab.assurance.measurements.killed_at_calls import KILLED_AT_CALLS
from lab.assurance.measurements.killed_at_moments import KILLED_AT_MOMENTS
from lab.assurance.measurements.provider_faults import PROVIDER_FAULTS
from lab.assurance.measurements.redacted import REDACTED
from lab.assurance.measurements.rows import Measurement
from lab.assurance.measurements.sanitised import SANITISED
from lab.assurance.measurements.soak import SOAK
from lab.assurance.measurements.typed_ahead import TYPED_AHEAD
from lab.assurance.measurements.unasked_commands import UNASKED_COMMANDS

MEASUREMENTS: tuple[Measurement, ...] = (
    PROVIDER_FAULTS,
    KILLED_AT_MOMENTS,
    KILLED_AT_CALLS,
    SOAK,
    FOUR_PROCESSES,
    TYPED_AHEAD,
    UNASKED_COMMANDS,
    SANITISED,
    REDACTED,
    KEPT_SECRETS,
)
