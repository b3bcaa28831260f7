"""Test that `Start`, the configuration of a run, is immutable."""

from __future__ import annotations

import dataclasses

import pytest

from tests.support.runtime import make_start


def test_a_start_is_immutable_and_begins_a_new_session_by_default() -> None:
    start = make_start()
    assert (start.resume, start.pick, start.prompt, start.trusted, start.notices) == (
        None,
        False,
        "",
        False,
        (),
    )
    with pytest.raises(dataclasses.FrozenInstanceError):
        start.prompt = "x"  # type: ignore[misc]
