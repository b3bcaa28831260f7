"""Test what a request of a turn consists of, in tokens."""

from __future__ import annotations

from swecli.context.request_parts import measure_parts
from swecli.context.tokens import TokenCounter
from swecli.models.api_message import ApiMessage
from swecli.models.context import Epoch, add_keys
from swecli.models.message import HEAD_OPENS
from swecli.models.notes import BroughtBackNote
from swecli.models.playbook import Bullet, render_bullets
from swecli.models.request_parts import RequestPart, read_parts

COUNTER = TokenCounter("no table")
PLAYBOOK = render_bullets([Bullet("P-1", "Run the linter before the tests.")])
SYSTEM = f'You help.{HEAD_OPENS}{PLAYBOOK}\n\n## Earlier turns\n- T1 "what is this?"\n'
EPOCH = Epoch(2, SYSTEM, {"P-1": "Run the linter before the tests."})


def request() -> list[ApiMessage]:
    earlier: list[ApiMessage] = [
        {"role": "user", "content": "earlier " * 20},
        {"role": "assistant", "content": "done"},
    ]
    running: list[ApiMessage] = [
        {"role": "user", "content": "now", "notes": [BroughtBackNote(1, "user: what is this?")]},
        {"role": "assistant", "content": "I look."},
        {"role": "tool", "tool_call_id": "c1", "content": "a result " * 30},
        {"role": "user", "content": "and quickly"},
    ]
    system: ApiMessage = {"role": "system", "content": SYSTEM, "_key": "s"}
    return [system, *add_keys(earlier, 2), *add_keys(running, 3)]


def test_the_parts_are_all_of_the_request() -> None:
    messages = request()
    parts = measure_parts(messages, EPOCH, 3, 500, COUNTER)
    assert sum(parts.values()) == 500 + sum(map(COUNTER.count_message, messages))
    assert set(parts) == set(RequestPart)


def test_each_message_belongs_to_its_part() -> None:
    messages = request()
    parts = measure_parts(messages, EPOCH, 3, 0, COUNTER)
    assert RequestPart.TOOLS not in parts
    assert parts[RequestPart.WINDOW] == sum(map(COUNTER.count_message, messages[1:3]))
    assert parts[RequestPart.ANSWERS] == COUNTER.count_message(messages[4])
    assert parts[RequestPart.RESULTS] == COUNTER.count_message(messages[5])
    assert parts[RequestPart.PLAYBOOK] == COUNTER.count(PLAYBOOK)
    plain = COUNTER.count_message({"role": "user", "content": "now"})
    assert parts[RequestPart.QUERY] == plain + COUNTER.count_message(messages[6])


def test_a_request_without_a_head_has_neither_playbook_nor_outline() -> None:
    system: ApiMessage = {"role": "system", "content": "You help.", "_key": "s"}
    parts = measure_parts([system], None, 1, 0, COUNTER)
    assert set(parts) == {RequestPart.SYSTEM}


def test_stored_sizes_of_another_version_are_read_as_far_as_they_are_known() -> None:
    assert read_parts({"system": 5, "window": 0, "smell": 7}) == {RequestPart.SYSTEM: 5}
    assert read_parts(None) == {}
    assert read_parts({"system": "many"}) == {}
