"""Test that a strategy for some files is told when a turn touches such a file, and in no other turn."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from swecli.app import Runtime
from swecli.models.message import ModelRequest
from tests.support.playbook import perform
from tests.support.runtime import calls, make_runtime, run_turn

RULE = "benchmarks need no tests"
LINE = f"Strategy [P-1] for bench/**: {RULE}"


class Model:
    """Answers with `replies`; `sent` holds the text of each request."""

    def __init__(self, *replies: Any) -> None:
        self.replies, self.sent = [*replies], list[str]()

    def __call__(self, request: ModelRequest) -> Any:
        self.sent.append(str(request.messages))
        return self.replies.pop(0)


def read(path: str) -> Any:
    return calls(("read_file", {"path": path}))


@pytest.fixture(autouse=True)
def files() -> None:
    Path("bench").mkdir()
    Path("bench/a.py").write_text("1")
    Path("bench/b.py").write_text("2")
    Path("lib.py").write_text("3")


async def taught(model: Model, *edits: str) -> Runtime:
    runtime = make_runtime(model, mode="auto", reflect_with_model=False)
    perform(runtime, "add", [RULE])
    perform(runtime, "edit", ["P-1", "--paths", "bench/**", *edits])
    return runtime


def shown(runtime: Runtime, number: int) -> tuple[str, ...]:
    turn = runtime.sessions.turns.turn(runtime.sessions.session.id, number)
    assert turn is not None
    return turn.shown


async def test_it_is_told_once_with_the_first_call_that_touches_such_a_file() -> None:
    model = Model(read("lib.py"), read("bench/a.py"), read("bench/b.py"), "Done.")
    runtime = await taught(model)
    await run_turn(runtime, "look around")
    assert [text.count(RULE) for text in model.sent] == [0, 0, 1, 1]
    assert LINE in model.sent[2]
    assert shown(runtime, 1) == ("P-1",)


async def test_a_new_turn_is_told_again_and_one_that_touches_none_is_not() -> None:
    model = Model("Hello.", read("bench/a.py"), "Done.", read("bench/b.py"), "Done.")
    runtime = await taught(model)
    for query in ("hello", "look", "look again"):
        await run_turn(runtime, query)
    assert [text.count(RULE) for text in model.sent] == [0, 0, 1, 1, 2]
    assert [shown(runtime, number) for number in (1, 2, 3)] == [(), ("P-1",), ("P-1",)]


async def test_an_edit_and_a_file_in_the_query_count_as_touched() -> None:
    new = calls(("write_file", {"path": "bench/new.py", "content": "4"}))
    model = Model(new, "Done.", "Seen.")
    runtime = await taught(model)
    await run_turn(runtime, "write it")
    assert LINE in model.sent[1]
    runtime.new_session()
    await run_turn(runtime, "what is in @bench/a.py ?")
    assert RULE in model.sent[2]


async def test_one_that_is_switched_off_or_for_all_files_again_is_not_told_of_files() -> None:
    model = Model(read("bench/a.py"), "Done.", "Hello.")
    runtime = await taught(model, "--off")
    await run_turn(runtime, "look")
    perform(runtime, "edit", ["P-1", "--paths", "all"])
    perform(runtime, "edit", ["P-1", "--on"])
    await run_turn(runtime, "hello")
    assert [text.count(RULE) for text in model.sent] == [0, 0, 1]


async def test_the_list_names_the_files_and_a_rewording_keeps_them() -> None:
    runtime = await taught(Model())
    perform(runtime, "edit", ["P-1", "Benchmarks", "need", "nothing"])
    [row] = perform(runtime, "list").rows
    assert row[2:4] == ("this project, in bench/**", "you")


async def test_remember_stores_the_files_that_the_user_names() -> None:
    said = "In bench/ no tests are needed."
    called = ("remember", {"text": said, "quote": said, "paths": ["bench/**"]})
    runtime = make_runtime([calls(called), "Noted."], reflect_with_model=False)
    await run_turn(runtime, said)
    [bullet] = runtime.sessions.session.playbook.bullets.values()
    assert (bullet.state, bullet.paths) == ("active", ("bench/**",))
