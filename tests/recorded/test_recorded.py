"""Test that requests, events and stored rows equal the recordings byte for byte, in forty turns with each window."""

from __future__ import annotations

import sys

import pytest

from swecli.llm.price_table import prepare_environment
from tests.recorded.recorder import RECORDINGS, workspace
from tests.recorded.script import SESSIONS, play


@pytest.mark.skipif(sys.platform != "linux", reason="the platform stands in every request")
@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=() if name == "5+3" else pytest.mark.slow) for name in SESSIONS],
)
async def test_requests_events_and_rows_equal_the_recordings(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    environ: dict[str, str] = {}
    prepare_environment(environ)
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", environ["TIKTOKEN_CACHE_DIR"])
    before = (RECORDINGS / f"{name}.txt").read_text(encoding="utf-8").splitlines()
    now = (await play(name, workspace())).lines
    differ = [f"{old}\n{new}" for old, new in zip(before, now, strict=False) if old != new]
    assert not differ, (
        f"{len(differ)} lines differ; the first: {differ[0]}\nsee tests/recorded/recorder.py"
    )
    assert len(now) == len(before)
