"""Test pictures from the user's input to the model, the store and the export."""

from __future__ import annotations

import base64
import json
import os
import shlex
from dataclasses import replace
from pathlib import Path

import pytest

from swecli.models.api_message import images_of
from swecli.models.errors import BadInput
from swecli.pages.page import format_session
from swecli.redact import redact_value
from swecli.store.session_files.importing import import_session
from swecli.store.session_manager import SessionManager
from tests.context.test_pictures import picture
from tests.support.databases import open_database
from tests.support.runtime import make_runtime, run_turn
from tests.support.screenless import ENTER, play
from tests.support.scripted import ScriptedModel
from tests.support.shell import HELLO, swecli
from tests.support.strict_provider import Reply, StrictProvider
from tests.support.terminal import Terminal

DATA = picture()
CTRL_V = "\x16"


@pytest.fixture(autouse=True)
def screenshot(own_home: Path) -> Path:
    path = Path.cwd() / "shot.png"
    path.write_bytes(DATA)
    return path


def as_paste(text: str) -> str:
    return f"\x1b[200~{text}\x1b[201~"


def write_program(folder: Path, name: str, prints: Path) -> None:
    """Write an executable that prints the bytes of a file."""
    folder.mkdir()
    (folder / name).write_text(f"#!/bin/sh\ncat {shlex.quote(str(prints))}\n")
    (folder / name).chmod(0o755)


async def test_a_picture_is_sent_with_its_query_in_every_later_request() -> None:
    model = ScriptedModel(["a cat", "still a cat", "the same cat"])
    runtime = make_runtime(model)
    events = await run_turn(runtime, "what is on @shot.png?", learn=False)
    assert "[image 64x48] shot.png" in [getattr(event, "text", "") for event in events]
    await run_turn(runtime, "sure?", learn=False)
    session = runtime.sessions.current_session
    assert session is not None
    await run_turn(make_runtime(model, resume=session.id), "and now?", learn=False)
    for request in model.requests:
        assert [base64.b64decode(image["data"]) for image in images_of(request.messages[1])] == [
            DATA
        ]
        assert not any(message.get("images") for message in request.messages[2:])
    assert model.requests[2].messages[:3] == model.requests[1].messages[:3]


async def test_a_picture_is_exported_shown_on_the_page_and_imported() -> None:
    runtime = make_runtime(["a cat"])
    await run_turn(runtime, "what is on @shot.png?", learn=False)
    session = runtime.sessions.current_session
    assert session is not None
    whole = redact_value(runtime.sessions.archive.export(session.id))
    assert f"base64,{base64.b64encode(DATA).decode()}" in format_session("html", whole)
    assert "[image 64x48] shot.png" in format_session("md", whole)
    other = open_database(":memory:")
    import_session(other, json.loads(format_session("json", whole)))
    [query, _] = SessionManager(other).resume(session.id, "").messages
    assert [image["data"] for image in query.images or ()] == [base64.b64encode(DATA).decode()]
    whole["messages"][0]["images"][0]["data"] = "<script>"
    with pytest.raises(BadInput, match="Not an export of a session: messages.0.images.0.data"):
        import_session(open_database(":memory:"), whole)
    other.close()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["openai/gpt-4.1", "anthropic/claude-haiku-4-5"])
def test_a_picture_is_sent_to_each_provider_in_a_valid_request(name: str) -> None:
    with StrictProvider(lambda received: Reply("a cat")) as server:
        environ = server.environ()
        done = swecli("-p", "what is on @shot.png?", "-m", name, "--no-reflect", environ=environ)
        again = swecli("-p", "what is on @shot.png?", "-m", name, "--no-reflect", environ=environ)
    assert (done.code, done.out) == (0, "a cat\n"), done.err
    assert "[image 64x48] shot.png" in done.err
    assert again.code == 0, again.err
    for received in server.requests:
        assert base64.b64encode(DATA).decode() in json.dumps(received.body["messages"][-1])


@pytest.mark.slow
def test_a_picture_for_a_model_without_images_is_refused_and_nothing_is_stored(
    tmp_path: Path,
) -> None:
    config = tmp_path / "config.toml"
    config.write_text("[models.blind]\nmodel = 'openai/gpt-4.1'\nimages = false\n")
    with StrictProvider(lambda received: Reply("a cat")) as server:
        environ = server.environ()
        done = swecli(
            "-p", "what is on @shot.png?", "-m", "blind", "--config", str(config), environ=environ
        )
        listed = swecli("sessions", "list", "--json", environ=environ)
        config.write_text("[models.blind]\nmodel = 'openai/gpt-4.1'\nimages = true\n")
        sees = swecli(
            "-p", "what is on @shot.png?", "-m", "blind", "--config", str(config), environ=environ
        )
    assert (done.code, done.out) == (42, ""), done.err
    assert "blind does not accept pictures: nothing was sent." in done.complaint
    assert listed.json == []
    assert (sees.code, len(server.requests)) == (0, 1), sees.err


@pytest.mark.slow
def test_a_session_with_pictures_continues_without_them_on_a_model_without_images(
    tmp_path: Path,
) -> None:
    config = tmp_path / "config.toml"
    config.write_text("[models.blind]\nmodel = 'openai/gpt-4.1'\nimages = false\n")
    with StrictProvider(lambda received: Reply("a cat")) as server:
        environ = server.environ()
        assert (
            swecli("-p", "what is on @shot.png?", "-m", "openai/gpt-4.1", environ=environ).code == 0
        )
        done = swecli("-c", "-p", "sure?", "-m", "blind", "--config", str(config), environ=environ)
    assert done.code == 0, done.err
    assert "image_url" in json.dumps(server.requests[0].body)
    assert "image_url" not in json.dumps(server.requests[-1].body)


async def test_a_pasted_picture_path_is_shown_as_its_size_and_attached(screenshot: Path) -> None:
    played = await play(
        as_paste(f"'{screenshot}'") + " what is it?" + ENTER + "/exit" + ENTER, ["a cat"]
    )
    assert "> [image 64x48] what is it?" in played.text
    [request] = played.model.requests
    assert [image["name"] for image in images_of(request.messages[-1])] == [str(screenshot)]


async def test_ctrl_v_attaches_the_picture_in_the_clipboard(
    screenshot: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_program(tmp_path / "bin", "wl-paste", screenshot)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"), prepend=os.pathsep)
    played = await play(CTRL_V + "what is it?" + ENTER + "/exit" + ENTER, ["a cat"])
    [request] = played.model.requests
    assert [base64.b64decode(image["data"]) for image in images_of(request.messages[-1])] == [DATA]


@pytest.mark.slow
def test_a_refused_picture_restores_the_typed_line_and_starts_no_turn() -> None:
    Path("broken.png").write_text("no picture")
    with Terminal(
        "-m", HELLO, columns=100, environ={"SWECLI_REFLECT_WITH_MODEL": "false"}
    ) as terminal:
        terminal.wait("· ask")
        terminal.keys("what is on @broken.png?\r")
        terminal.wait(r"@broken.png is not a PNG, JPEG, GIF or WebP picture: nothing was sent\.")
        terminal.wait(
            r"^> what is on @broken.png\?\n\s*your last message(?![\s\S]*nothing was sent)"
        )
        terminal.keys("\x03hello\r")
        terminal.wait("Hello there")
        terminal.keys("/exit\r")
        assert terminal.wait_for_exit() == 0
    listed = swecli("sessions", "list", "--json").json
    assert [(one["first_query"], one["interactions"]) for one in listed] == [("hello", 1)]


async def test_a_picture_for_a_model_without_images_is_refused_before_any_request() -> None:
    model = ScriptedModel(["never"])
    model.profile = replace(model.profile, images=False)
    with pytest.raises(
        BadInput, match=r"scripted/test does not accept pictures: nothing was sent\."
    ):
        await run_turn(make_runtime(model), "what is on @shot.png?")
    assert model.requests == []
