"""A runtime whose model answers "ok" as often as it is asked, and a desk on it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from swecli.app import Runtime
from tests.support.desk import Desk
from tests.support.runtime import make_runtime


@pytest.fixture
def runtime() -> Iterator[Runtime]:
    made = make_runtime(["ok"] * 20)
    yield made
    made.close()


@pytest.fixture
def desk(runtime: Runtime) -> Desk:
    return Desk(runtime)
