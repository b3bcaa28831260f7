"""Test `/connect`, which sets up a model by questions."""

from __future__ import annotations

import os
import tomllib
from dataclasses import replace
from pathlib import Path

import pytest

from swecli.app import Runtime
from swecli.models.errors import BadInput, NoModel
from tests.support.command_context import ScriptedContext
from tests.support.local_servers import NO_LOCAL_SERVERS

KEY = "sk-1234"


def settings_of(runtime: Runtime) -> dict[str, object]:
    return tomllib.loads(runtime.start.paths.config_file.read_text())


def put_program(name: str, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = Path("bin").absolute()
    folder.mkdir()
    (folder / name).write_text(text)
    (folder / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")


async def test_a_key_is_kept_in_a_private_file_and_the_model_answers_from_now_on(
    runtime: Runtime,
) -> None:
    printed = await ScriptedContext(runtime, "openai", KEY).type("/connect")
    name = runtime.agent.model.name
    assert name.startswith("openai/")
    assert f"{name} answers from now on" in printed
    assert KEY not in printed
    settings = settings_of(runtime)
    assert settings["model"] == name
    [program, path] = settings["models"][name]["key_command"]  # type: ignore[index]
    assert program == "cat"
    assert Path(path).read_text().strip() == KEY
    assert Path(path).stat().st_mode & 0o777 == 0o600


async def test_a_keyring_keeps_the_key_if_it_gives_it_back(
    runtime: Runtime, monkeypatch: pytest.MonkeyPatch
) -> None:
    ring = Path("ring").absolute()
    script = f"#!/bin/sh\ncase $1 in store) cat > {ring};; lookup) cat {ring};; esac\n"
    put_program("secret-tool", script, monkeypatch)
    assert "The key is in the keyring." in await ScriptedContext(runtime, "openai", KEY).type(
        "/connect"
    )
    assert ring.read_text() == KEY
    assert not (runtime.start.paths.config / "keys").exists()


async def test_a_keyring_that_does_not_answer_is_not_used(
    runtime: Runtime, monkeypatch: pytest.MonkeyPatch
) -> None:
    put_program("secret-tool", "#!/bin/sh\nexit 1\n", monkeypatch)
    await ScriptedContext(runtime, "openai", KEY).type("/connect")
    assert (runtime.start.paths.config / "keys" / "openai").read_text().strip() == KEY


async def test_the_settings_of_the_user_stay(runtime: Runtime) -> None:
    file = runtime.start.paths.config_file
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text('# mine\nwindow = "3"\n')
    await ScriptedContext(runtime, "openai", KEY).type("/connect")
    assert file.read_text().startswith('# mine\nwindow = "3"\n')


async def test_no_key_changes_nothing(runtime: Runtime) -> None:
    before = runtime.agent.model.name
    assert "Nothing was changed" in await ScriptedContext(runtime, "openai", "").type("/connect")
    assert runtime.agent.model.name == before
    assert not runtime.start.paths.config_file.exists()


@pytest.mark.parametrize("picks", [(None,), ("other", None)])
async def test_no_answer_says_who_answers_as_before(
    runtime: Runtime, picks: tuple[str | None, ...]
) -> None:
    before = runtime.agent.model.name
    printed = await ScriptedContext(runtime, *picks).type("/connect")
    assert printed == f"Nothing was changed: {before} answers as before.\n"


async def test_the_tour_answers_at_once_and_is_not_kept_for_the_next_start(
    runtime: Runtime,
) -> None:
    assert "Type tour" in await ScriptedContext(runtime, "tour").type("/connect")
    assert runtime.agent.model.name == "demo"
    assert not runtime.start.paths.config_file.exists()
    assert "the offline tour answers" in await ScriptedContext(runtime, None).type("/connect")


async def test_what_is_no_key_is_refused(runtime: Runtime) -> None:
    with pytest.raises(BadInput, match="That is no key"):
        await ScriptedContext(runtime, "openai", "two words").type("/connect")


async def test_without_a_local_server_it_says_where_it_looked_and_how_to_use_another_port(
    runtime: Runtime,
) -> None:
    runtime.start = replace(runtime.start, environ={**runtime.start.environ, **NO_LOCAL_SERVERS})
    with pytest.raises(NoModel, match=r"looked at: ollama .* OPENAI_BASE_URL=http://127\.0\.0\.1:"):
        await ScriptedContext(runtime, "local").type("/connect")
