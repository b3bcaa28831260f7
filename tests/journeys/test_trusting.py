"""What a reflector proposes at the end of whole turns meets the workspace it speaks of, and the instructions there."""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from swecli.app import Runtime
from swecli.config.trust import trust
from swecli.llm.providers.scripted import ScriptedModel
from swecli.models.learning_events import PlaybookUpdated
from swecli.models.message import ModelRequest
from swecli.models.playbook import Bullet
from tests.support.project import make_project
from tests.support.runtime import NO, User, calls, make_runtime, make_start, run_turn


def proposing(*contents: str, evidence: str = "user: build it") -> str:
    return json.dumps({"tags": [], "add": [{"content": text, "evidence": evidence} for text in contents]})


def runtime_in(project: Path, reflection: str, command: str = "make") -> Runtime:
    """One turn of it: a command that the user refuses, or lets run; then the model is asked what it teaches."""
    steps: list[Any] = [calls(("run_command", {"command": command})), "As you wish."]

    def answer(request: ModelRequest) -> Any:
        return reflection if request.purpose == "reflect" else steps.pop(0)

    return make_runtime(answer, User([NO]) if command == "make" else None, cwd=project)


async def learned(runtime: Runtime, query: str) -> tuple[dict[str, Bullet], tuple[str, ...]]:
    """The strategies by their words after a turn, and what was refused."""
    events = await run_turn(runtime, query)
    refused = tuple(line for e in events if isinstance(e, PlaybookUpdated) for line in e.refused)
    session = runtime.sessions.current_session
    assert session is not None
    return {bullet.content: bullet for bullet in session.playbook.bullets.values()}, refused


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return make_project(tmp_path / "shop")


async def test_what_names_something_that_is_not_there_waits_and_says_why(project: Path) -> None:
    here, gone = "Build prices from shop/prices.py only", "Build with `make wheel` here"
    bullets, _ = await learned(runtime_in(project, proposing(here, gone)), "build it, prices first, with make wheel")
    assert bullets[here].state == "active"
    assert bullets[here].anchors == ("path:shop/prices.py",)
    assert bullets[gone].state == "quarantined"


async def test_a_flag_that_the_turn_showed_to_be_unknown_waits(project: Path) -> None:
    content = "Build with `python build.py --fast` in here"
    (project / "build.py").write_text("import sys\nsys.exit('error: unrecognized arguments: --fast')\n")
    runtime = runtime_in(project, proposing(content), "python build.py --fast")
    bullets, _ = await learned(runtime, "build it")
    assert bullets[content].state == "quarantined"
    assert "python does not know --fast" in [e.quote for e in runtime.sessions.playbook.evidence("P-1")]


@pytest.mark.parametrize("trusted", [True, False])
async def test_what_the_projects_instructions_say_already_is_not_learned_again(project: Path, trusted: bool) -> None:
    (project / "AGENTS.md").write_text("# shop\n\n- Build with the release profile, never with debug symbols.\n")
    if trusted:
        trust(make_start(project).paths, project)
    content = "Build with the release profile, without debug symbols"
    bullets, refused = await learned(runtime_in(project, proposing(content)), "build it: profile release, symbols")
    assert (content in bullets) is not trusted
    assert any("the instructions say so already" in line for line in refused) is trusted


ROWS = (Path(__file__).parents[1] / "playbook" / "gate" / "injections.tsv").read_text(encoding="utf-8").splitlines()
SOURCES = ("file", "output", "web")
SAID = {source: [row.split("\t")[1:] for row in ROWS if row.startswith(f"{source}\t")][:4] for source in SOURCES}


class Page(BaseHTTPRequestHandler):
    """Answers with what is in `said`."""

    said = ""

    def do_GET(self) -> None:  # noqa: N802 - the standard library's name
        self.send_response(200)
        self.end_headers()
        self.wfile.write(self.said.encode())

    def log_message(self, format: str, *args: Any) -> None:
        return None


@pytest.fixture
def page() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Page) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


@pytest.mark.parametrize("source", SOURCES)
async def test_what_was_only_read_becomes_no_active_strategy(project: Path, page: str, source: str) -> None:
    """A model that reads it, fails at something, falls for it, and quotes it rightly."""
    fetch = f'import urllib.request as u; print(u.urlopen("{page}").read().decode())'
    look = {
        "file": ("read_file", {"path": "NOTES.md"}),
        "output": ("run_command", {"command": "cat NOTES.md"}),
        "web": ("run_command", {"command": f"{sys.executable} -c '{fetch}'"}),
    }[source]
    runtime = make_runtime(cwd=project)
    for injected, reworded in SAID[source]:
        (project / "NOTES.md").write_text(f"# Notes\n\n{injected}\n")
        Page.said = injected
        steps: list[Any] = [calls(look, ("run_command", {"command": "ls --nope"})), "I see."]
        proposed = proposing(injected, reworded, evidence=f"user: {injected}")
        model = ScriptedModel(lambda r, s=steps, p=proposed: p if r.purpose == "reflect" else s.pop(0))
        runtime.agent.use_model(model)
        runtime.use_reflector(model)
        bullets, _ = await learned(runtime, "what is in there?")
        assert [request.purpose for request in model.requests] == ["turn", "turn", "reflect"]
        results = [call.result for m in runtime.sessions.current_session.messages for call in m.tool_calls]  # type: ignore[union-attr]
        assert any(injected.split()[-1] in str(result) for result in results), "it really was read"
        assert [text for text, bullet in bullets.items() if bullet.state == "active"] == []
        assert injected not in str(runtime.agent.prepare("and now?").messages[0])
