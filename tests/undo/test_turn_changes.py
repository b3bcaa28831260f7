"""Test the list of files that a turn has changed, as it is reported once at its end."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from pathlib import Path

import pytest

from swecli.models.changed_files import ChangedFile
from swecli.models.events import Event, FilesChanged, ToolStarted
from tests.support.runtime import calls, make_runtime, run_turn


def command(line: str, *, background: bool = False) -> tuple[str, dict[str, object]]:
    return "run_command", {"command": line, "access": "write", "background": background}


def listed(events: list[Event]) -> tuple[ChangedFile, ...]:
    """Return the files of the only list among the events, or () for none."""
    lists = [event for event in events if isinstance(event, FilesChanged)]
    assert len(lists) <= 1
    return lists[0].files if lists else ()


async def test_the_list_names_what_appeared_differs_and_went_and_by_whom() -> None:
    Path("old.txt").write_text("x\n")
    Path("gone.txt").write_text("x\n")
    runtime = make_runtime(
        [
            calls(("write_file", {"path": "new.py", "content": "pass\n"})),
            calls(command("echo y > made.txt; echo z >> old.txt; rm gone.txt")),
            calls(command("echo '# end' >> new.py")),
            "done",
        ],
        mode="auto",
    )
    events = await run_turn(runtime, "go on", learn=False)
    assert listed(events) == (
        ChangedFile("gone.txt", "removed", ("command",)),
        ChangedFile("made.txt", "created", ("command",)),
        ChangedFile("new.py", "created", ("tool", "command")),
        ChangedFile("old.txt", "changed", ("command",)),
    )
    assert [event.type for event in events][-2:] == ["files_changed", "turn_finished"]


async def test_what_came_and_went_within_the_turn_is_not_in_the_list() -> None:
    runtime = make_runtime(
        [calls(command("echo y > made.txt")), calls(command("rm made.txt")), "done"], mode="auto"
    )
    assert listed(await run_turn(runtime, "go on", learn=False)) == ()


async def test_each_turn_lists_its_own_changes() -> None:
    runtime = make_runtime(
        [calls(command("echo y > one.txt")), "done", calls(command("echo y > two.txt")), "done"]
        + ["nothing"],
        mode="auto",
    )
    lists = [listed(await run_turn(runtime, "go on", learn=False)) for _ in range(3)]
    assert [[file.name for file in files] for files in lists] == [["one.txt"], ["two.txt"], []]


async def test_a_turn_after_an_undo_does_not_list_what_the_undone_one_changed() -> None:
    runtime = make_runtime(
        [calls(command("echo y > one.txt")), "done", calls(command("true")), "done"], mode="auto"
    )
    assert listed(await run_turn(runtime, "go on", learn=False))
    history = runtime.history
    assert history is not None
    history.undo(1, ("files", "conversation"), history.plan(1))
    runtime.resume(runtime.sessions.session.id)
    assert listed(await run_turn(runtime, "go on", learn=False)) == ()


async def test_what_a_background_command_wrote_after_the_last_call_is_in_the_list() -> None:
    job = "until test -e go; do sleep 0.05; done; echo y > late.txt; sleep 60"
    runtime = make_runtime([calls(command(job, background=True)), "done"], mode="auto")
    events: list[Event] = []
    async with aclosing(runtime.agent.run(runtime.agent.prepare("go on"))) as happening:
        async for event in happening:
            if event.type == "text_delta" and not Path("go").exists():
                Path("go").touch()
                while not Path("late.txt").exists():
                    await asyncio.sleep(0.02)
            events.append(event)
    await runtime.agent.ctx.commands.jobs.close()
    by_name = {file.name: file.changed_by for file in listed(events)}
    assert by_name["late.txt"] == ("background command",)


async def test_what_is_ignored_is_listed_as_such() -> None:
    Path(".gitignore").write_text("dist/\n")
    Path("dist").mkdir()
    Path("dist/x").write_text("x\n")
    runtime = make_runtime([calls(command("echo y > dist/x")), "done"], mode="auto")
    [file] = listed(await run_turn(runtime, "go on", learn=False))
    assert file == ChangedFile("dist", "changed", ("command",), is_ignored=True)


async def test_a_name_cannot_forge_the_line() -> None:
    line = r"touch $(printf 'a\033[2Jb\377')"
    runtime = make_runtime([calls(command(line)), "done"], mode="auto")
    [file] = listed(await run_turn(runtime, "go on", learn=False))
    assert file.name == r'"a\x1b[2Jb\xff"'


async def test_a_turn_that_fails_or_is_stopped_has_the_list_too() -> None:
    runtime = make_runtime(
        [calls(command("echo y > one.txt")), ValueError("broken")]
        + [calls(command("echo y > two.txt")), calls(command("sleep 60"))],
        mode="auto",
    )
    events = await run_turn(runtime, "go on", learn=False)
    assert [event.type for event in events][-2:] == ["files_changed", "turn_failed"]
    events = []

    async def run() -> None:
        async with aclosing(runtime.agent.run(runtime.agent.prepare("go on"))) as happening:
            async for event in happening:
                events.append(event)

    turn = asyncio.create_task(run())
    while not any("sleep" in event.summary for event in events if isinstance(event, ToolStarted)):
        await asyncio.sleep(0.02)
    turn.cancel()
    with pytest.raises(asyncio.CancelledError):
        await turn
    assert [file.name for file in listed(events)] == ["two.txt"]


async def test_the_list_is_not_sent_to_the_model() -> None:
    runtime = make_runtime(
        [calls(command("echo y > one.txt")), "done", "done"],
        mode="auto",
    )
    await run_turn(runtime, "go on", learn=False)
    texts = [str(message["content"]) for message in runtime.agent.prepare("and now").messages]
    assert not [text for text in texts if "by commands" in text]
