"""Test that one file adds a provider: in a copy of the source tree, and as an installed package."""

from __future__ import annotations

import json
import re
import shutil
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from tests.support.shell import ROOT, CompletedRun, swecli

pytestmark = pytest.mark.slow

PAGE = ROOT / "docs" / "how-to" / "add-a-provider.md"
SOURCE = re.findall(
    r"^```python\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL
)[0]
KEY = {"ACME_API_KEY": "k-1"}


class Service:
    """A service that first asks for the list of files and then answers with the number of messages it received."""

    def __init__(self) -> None:
        self.bodies: list[dict[str, Any]] = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                assert self.headers["authorization"] == "Bearer k-1"
                outer.bodies.append(
                    json.loads(self.rfile.read(int(self.headers["content-length"])))
                )
                listing = {"call": "list_files", "id": "c1", "arguments": "{}"}
                rows = (
                    [listing, {"stop": "tool_calls"}]
                    if len(outer.bodies) % 2
                    else [{"text": "Aha."}, {"stop": "stop"}]
                )
                data = b"".join(json.dumps(row).encode() + b"\n" for row in rows)
                self.send_response(200)
                self.send_header("content-length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, format: str, *args: Any) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/chat"


@pytest.fixture
def service() -> Iterator[Service]:
    serving = Service()
    threading.Thread(target=serving.server.serve_forever, args=(0.02,), daemon=True).start()
    yield serving
    serving.server.shutdown()
    serving.server.server_close()


def run(tree: Path, service: Service | None, *arguments: str, **environ: str) -> CompletedRun:
    base = {"ACME_BASE_URL": service.url} if service else {}
    return swecli(*arguments, environ={"PYTHONPATH": str(tree), **base, **environ})


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """Return a copy of the source tree with the provider's file added."""
    copy = tmp_path / "tree"
    shutil.copytree(ROOT / "swecli", copy / "swecli", ignore=shutil.ignore_patterns("__pycache__"))
    (copy / "swecli" / "llm" / "providers" / "acme.py").write_text(SOURCE, encoding="utf-8")
    return copy


def test_a_turn_is_answered_by_a_provider_of_one_file(tree: Path, service: Service) -> None:
    Path("there.txt").write_text("x")
    done = run(tree, service, "-p", "look around", "-m", "acme/small", **KEY)
    assert (done.code, done.out) == (0, "Aha.\n")
    first, second = service.bodies
    assert first["model"] == "small"
    assert "read_file" in [tool["function"]["name"] for tool in first["tools"]]
    assert "there.txt" in second["messages"][-1]["content"]


def test_the_key_chooses_an_added_provider_and_a_missing_key_is_an_error_that_names_its_variable(
    tree: Path, service: Service
) -> None:
    listed = run(tree, None, "models", "--json", **KEY).json
    assert (listed["chosen"], listed["why"]) == ("acme/large", "ACME_API_KEY is set")
    assert {"model": "acme/…", "key": "ACME_API_KEY", "state": "ready", "address": ""} in listed[
        "models"
    ]
    assert run(tree, service, "-p", "hi", "-m", "acme", **KEY).out == "Aha.\n"
    assert service.bodies[0]["model"] == "large"
    done = run(tree, None, "-p", "hi", "-m", "acme/large")
    assert (done.code, "ACME_API_KEY is not set" in done.complaint) == (1, True)


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """Return a folder with the provider as an installed package, next to a broken one and an entry point that is no
    provider."""
    site = tmp_path / "site"
    info = site / "swecli_acme-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: swecli-acme\nVersion: 1.0\n")
    points = "[swecli.providers]\nacme = swecli_acme:acme\nbroken = swecli_acme:gone\nodd = swecli_acme:piece\n"
    (info / "entry_points.txt").write_text(points)
    (site / "swecli_acme.py").write_text(SOURCE, encoding="utf-8")
    return site


def test_a_package_adds_a_provider_through_its_entry_point(package: Path, service: Service) -> None:
    assert run(package, service, "-p", "hi", "-m", "acme/small", **KEY).out == "Aha.\n"
    states = {
        row["model"]: row["state"] for row in run(package, None, "models", "--json").json["models"]
    }
    assert states["acme/…"] == "key not set"
    assert "cannot be loaded: AttributeError" in states["broken"]


@pytest.mark.parametrize(
    ("name", "says"), [("broken/x", "cannot be loaded"), ("odd/x", "declares no provider")]
)
def test_a_broken_provider_package_is_an_error_with_exit_code_42(
    package: Path, name: str, says: str
) -> None:
    done = run(package, None, "-p", "hi", "-m", name)
    assert (done.code, says in done.complaint) == (42, True)
