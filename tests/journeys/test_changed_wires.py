"""Test that a session goes on over another protocol after a kill, and back again: its history is legal there, each
service gets its own thoughts back, and none gets another's."""

from __future__ import annotations

import json
from itertools import permutations
from pathlib import Path

import pytest

from tests.journeys.test_killed import kill_when, start_process
from tests.support.strict_provider import Call, Received, Reply, StrictProvider

pytestmark = pytest.mark.slow

NAMES = {
    "openai": "openai/deepseek-reasoner",
    "responses": "openai/gpt-6.1-sol",
    "anthropic": "anthropic/claude-sonnet-5-5",
    "gemini": "gemini/gemini-3.8-flash",
}
MODELS = tuple(name.partition("/")[2] for name in NAMES.values())
READ = Call("read_file", {"path": "a.txt"})
SLEEP = Call("run_command", {"command": "sleep 60"})
PAIRS = [pytest.param(*pair, id=f"{pair[0]}-{pair[1]}") for pair in permutations(NAMES, 2)]


class Service:
    """Thinks in words of its protocol; its first turn ends in a command that does not."""

    def __init__(self) -> None:
        self.by_wire: dict[str, list[Received]] = {wire: [] for wire in NAMES}
        self.is_sleeping = False

    def __call__(self, received: Received) -> Reply:
        wire = str(received.protocol)
        seen = self.by_wire[wire]
        seen.append(received)
        number = sum(map(len, self.by_wire.values()))
        thought = f"thought of {wire} {number}"
        if number == 1:
            return Reply("I look.", reasoning=thought, calls=(READ,))
        if number == 2:
            self.is_sleeping = True
            return Reply("", reasoning=thought, calls=(SLEEP, READ))
        if number == 3:
            return Reply("", reasoning=thought, calls=(READ, READ))
        return Reply("Done.", reasoning=thought)


def thoughts_in(received: Received) -> set[str]:
    """Return the protocols whose thoughts are in a request."""
    text = json.dumps(received.body)
    return {wire for wire in NAMES if f"thought of {wire}" in text}


@pytest.mark.parametrize(("first", "second"), PAIRS)
def test_a_killed_session_goes_on_over_another_protocol_and_back(first: str, second: str) -> None:
    Path("a.txt").write_text("text\n")
    service = Service()
    with StrictProvider(service, models=MODELS) as server:
        process = start_process(server, NAMES[first], Path.cwd(), "read it")
        kill_when(process, lambda: service.is_sleeping)
        for wire in (second, first, second):
            going_on = start_process(server, NAMES[wire], Path.cwd(), "go on", "-c")
            out, complaints = going_on.communicate(timeout=120)
            assert (going_on.returncode, out.strip()) == (0, "Done."), complaints
            assert server.refusals == [], complaints
    for wire, requests in service.by_wire.items():
        for received in requests:
            assert thoughts_in(received) <= {wire}, "no service gets the thoughts of another"
    if first != "gemini":  # its thoughts go back as their signatures
        assert thoughts_in(service.by_wire[first][-1]) == {first}
    else:
        assert "thoughtSignature" in json.dumps(service.by_wire[first][-1].body)
