"""Test that `Start`, the configuration of a run, is immutable."""

from __future__ import annotations

import dataclasses

import pytest

from tests.support.runtime import make_start


def test_a_start_is_frozen_and_means_a_new_session_unless_it_states_otherwise() -> None:
    start = make_start()
    assert (start.resume, start.pick, start.prompt, start.trusted, start.notices) == (None, False, "", False, ())
    with pytest.raises(dataclasses.FrozenInstanceError):
        start.prompt = "x"  # type: ignore[misc]
