"""Databases of a given size, made quickly: many rows in one transaction instead of a commit for each."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import batched
