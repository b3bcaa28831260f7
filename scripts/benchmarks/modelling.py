"""The gates of models (M1 to M7): the time to the first request, the cost of a stream, and the usable models of the
table. Servers run on the loopback; floors run in this Python at this process's priority, alternating with the
program that they are compared with."""

from __future__ import annotations

import http.server
import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from scripts.benchmarks.place import ROOT, Place, swecli
from scripts.benchmarks.rows import Effort, MeasuringError, Row, medians
from scripts.benchmarks.stored import long_session
from scripts.benchmarks.typist import Typist
from swecli.context.budget import _LEAN_WINDOW, is_lean, request_limit
from swecli.context.system_message import load_prompt
from swecli.llm.endpoints import Endpoint
from swecli.llm.price_table import model_table
from swecli.llm.profile import Profile
from swecli.models.message import ToolSpec
from swecli.tools.offers import bundled_specs, lean_specs

MODEL = ("-m", "openai/gpt-4.1")
ASK = ("-p", "hello", *MODEL, "--no-reflect")
ASK_RESPONSES = ("-p", "hello", "-m", "openai/gpt-6.1-sol", "--no-reflect")
WAITS = 5.0  # seconds at the prompt before the first turn
SMALL_WINDOW, BYTES_A_TOKEN = 4_096, 4
HTTPX = """
import json, os, sys
import httpx
body = {"model": "gpt-4.1", "stream": True, "messages": [{"role": "user", "content": "hello"}]}
with httpx.Client(timeout=60) as client:
    with client.stream("POST", os.environ["OPENAI_BASE_URL"] + "/chat/completions", json=body) as response:
        for line in response.iter_lines():
            if line.startswith("data: {"):
                for choice in json.loads(line[6:])["choices"]:
                    sys.stdout.write(choice["delta"].get("content") or "")
"""
HTTPX_RESPONSES = """
import json, os, sys
import httpx
body = {"model": "gpt-6.1-sol", "stream": True, "store": False, "input": "hello"}
with httpx.Client(timeout=60) as client:
    with client.stream("POST", os.environ["OPENAI_BASE_URL"] + "/responses", json=body) as response:
        for line in response.iter_lines():
            if line.startswith("data: {"):
                event = json.loads(line[6:])
                if event["type"] == "response.output_text.delta":
                    sys.stdout.write(event["delta"])
"""
WIRES = ("tests/llm/providers/test_quirks.py",)
LOOPS = ("tests/journeys/test_ten_steps.py", "tests/llm/providers/test_opaque_parts.py")


class Service:
    """An OpenAI-compatible service in a thread, over both of OpenAI's protocols, that records when the last request was
    complete."""

    def __init__(self) -> None:
        self.came = 0.0
        self.pieces: Sequence[str] = ("hi",)
        service = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                self.send_error(404)

            def do_POST(self) -> None:
                self.rfile.read(int(self.headers["content-length"]))
                service.came = time.monotonic()
                self.send_response(200)
                self.send_header("content-type", "text/event-stream")
                self.send_header("connection", "close")
                self.end_headers()
                is_responses = self.path.endswith("/responses")
                for event in (
                    _item_events(service.pieces) if is_responses else _chunks(service.pieces)
                ):
                    self.wfile.write(event)
                self.close_connection = True

            def log_message(self, *_: Any) -> None:
                pass

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        self.environ = {
            "OPENAI_API_KEY": "none",
            "OPENAI_BASE_URL": f"http://127.0.0.1:{self._server.server_address[1]}/v1",
        }

    def close(self) -> None:
        self._server.shutdown()


def _chunks(pieces: Sequence[str]) -> Iterator[bytes]:
    for piece in pieces:
        yield _event({"content": piece})
    yield _event({}, "stop") + b"data: [DONE]\n\n"


def _item_events(pieces: Sequence[str]) -> Iterator[bytes]:
    """Yield the events of an answer on the Responses protocol."""
    item = {"id": "msg_1", "type": "message", "role": "assistant", "status": "completed"}
    text = {"type": "output_text", "text": "".join(pieces), "annotations": []}
    done = item | {"content": [text]}
    deltas = [
        {"item_id": "msg_1", "output_index": 0, "content_index": 0, "delta": piece}
        for piece in pieces
    ]
    yield _item_event("response.output_item.added", output_index=0, item=item | {"content": []})
    for delta in deltas:
        yield _item_event("response.output_text.delta", **delta)
    yield _item_event("response.output_item.done", output_index=0, item=done)
    yield _item_event("response.completed", response={"status": "completed", "output": [done]})


def _item_event(kind: str, **fields: Any) -> bytes:
    return f"event: {kind}\ndata: {json.dumps({'type': kind, **fields})}\n\n".encode()


def _event(delta: dict[str, str], reason: str | None = None) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": reason}
    return (
        b"data: "
        + json.dumps({"object": "chat.completion.chunk", "choices": [choice]}).encode()
        + b"\n\n"
    )


def modelling(place: Place, effort: Effort) -> Iterator[Row]:
    """Yield the rows as they are measured."""
    service = Service()
    try:
        run = _Runs(place, service)
        run.once(swecli(*ASK))  # The very first run creates the database and takes the full path.
        yield from _requests(run, effort)
        yield from _streams(run, effort)
        yield from _turns(run, effort)
    finally:
        service.close()
    yield from _table()
    yield _tests("M6 quirks whose outcome is not the table's", WIRES)
    yield _tests("M7 loops of ten steps that are not as asked", LOOPS)


class _Runs:
    def __init__(self, place: Place, service: Service) -> None:
        self.place, self.service = place, service
        self.httpx = (sys.executable, "-c", HTTPX)
        self.httpx_responses = (sys.executable, "-c", HTTPX_RESPONSES)

    def once(self, command: Sequence[str], home: str = "home") -> tuple[float, float, float]:
        """Run to the end; return the milliseconds from exec to its request, the CPU milliseconds and the peak MiB."""
        self.service.came = 0.0
        environ = self.place.environ(home, self.service.environ)
        began = time.monotonic()
        process = subprocess.Popen(
            command,
            cwd=self.place.project,
            env=environ,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
        )
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode or not self.service.came:
            raise MeasuringError(
                f"{command[-1]!r} ended with {process.returncode} and sent no request"
            )
        return (self.service.came - began) * 1000, _cpu(used), used.ru_maxrss / 1024

    def to_text(self, *command: str) -> Callable[[], float]:
        """Measure the milliseconds from exec to the first byte on stdout."""

        def measured() -> float:
            environ = self.place.environ("home", self.service.environ)
            began = time.monotonic()
            with subprocess.Popen(
                command,
                cwd=self.place.project,
                env=environ,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
            ) as process:
                assert process.stdout is not None, "a pipe"
                first = process.stdout.read(1)
                taken = (time.monotonic() - began) * 1000
                process.stdout.read()
            if process.returncode or not first:
                raise MeasuringError(f"{command[-1]!r} ended with {process.returncode}")
            return taken

        return measured

    def to_request(self, *command: str, home: str = "home") -> Callable[[], float]:
        return lambda: self.once(command, home)[0]

    def cpu(self, *command: str) -> Callable[[], float]:
        return lambda: self.once(command)[1]


def _cpu(used: resource.struct_rusage) -> float:
    return (used.ru_utime + used.ru_stime) * 1000


def _requests(run: _Runs, effort: Effort) -> Iterator[Row]:
    ours, floor = medians(effort.starts, run.to_request(*swecli(*ASK)), run.to_request(*run.httpx))
    yield Row("M1 -p, exec to request", "ms", ours, floor, "a bare httpx script", 1.3)
    ours_there, floor_there = medians(
        effort.starts,
        run.to_request(*swecli(*ASK_RESPONSES)),
        run.to_request(*run.httpx_responses),
    )
    yield Row(
        "M1 the same over Responses", "ms", ours_there, floor_there, "a bare httpx script", 1.3
    )
    ours, floor = medians(effort.starts, run.to_text(*swecli(*ASK)), run.to_text(*run.httpx))
    yield Row("M1 -p, exec to first text", "ms", ours, floor, "a bare httpx script", 1.7)
    ours, floor = medians(effort.starts, run.cpu(*swecli(*ASK)), run.cpu(*run.httpx))
    yield Row("M1 -p, CPU of the run", "ms", ours, floor, "a bare httpx script", 1.7)
    if codex := shutil.which("codex"):
        (other,) = medians(effort.starts, run.to_request(codex, "exec", "hello"))
        yield Row("M1 -p, exec to request", "ms", ours, other, "codex", 1.5)
    long_session(run.place.database("many"), run.place.project, messages=10_000)
    again = run.to_request(*swecli(*ASK, "-c"), home="many")
    resumed, fresh = medians(effort.starts, again, run.to_request(*swecli(*ASK)))
    yield Row("M2 the same with -c, 10,000 messages", "ms", resumed, fresh, "without -c", 1.1)


def _streams(run: _Runs, effort: Effort) -> Iterator[Row]:
    times = max(1, effort.starts // 5)
    run.service.pieces = "x" * 20_000
    ours, floor = medians(times, run.cpu(*swecli(*ASK)), run.cpu(*run.httpx))
    yield Row("M3 20 KB in 1-character deltas, CPU of -p", "ms", ours, floor, "httpx + json", 3.0)
    ours, floor = medians(times, run.cpu(*swecli(*ASK_RESPONSES)), run.cpu(*run.httpx_responses))
    yield Row("M3 the same over Responses, CPU of -p", "ms", ours, floor, "httpx + json", 3.0)
    for asked, where in ((ASK, ""), (ASK_RESPONSES, " over Responses")):
        sizes = []
        for pieces in (("hi",), "x" * 100_000, ["x" * 50] * 20_000):
            run.service.pieces = pieces
            sizes.append(statistics.median(run.once(swecli(*asked))[2] for _ in range(times)))
        short, small, large = sizes
        figure = f"M3 memory, 100 KB in 1-character deltas{where}"
        yield Row(figure, "MiB", small, short, "a short answer", 1.2)
        figure = f"M3 memory, 1 MB in deltas of 50{where}"
        yield Row(figure, "MiB", large, short, "a short answer", 1.2)
    run.service.pieces = ("hi",)


def _turns(run: _Runs, effort: Effort) -> Iterator[Row]:
    first, second, memory = [], [], []
    run.service.pieces = ("pong",)
    environ = run.place.environ(more=run.service.environ)
    for _ in range(max(1, effort.typings)):
        with Typist(swecli(*MODEL), run.place.project, environ) as typist:
            typist.first_letter()
            typist.rest(WAITS)
            for taken, word in ((first, "ping"), (second, "again")):
                run.service.pieces = (f"answer to {word}",)
                began = time.perf_counter()
                typist.send(word, until=f"answer to {word}")
                taken.append((time.perf_counter() - began) * 1000)
                typist.rest(1.0)
            memory.append(typist.rest(0.1))
    ours, later = statistics.median(first), statistics.median(second)
    yield Row("M4 Enter to first words, turn 1", "ms", ours, later, "turn 2", 1.3)
    yield Row(
        "M4 memory in use on a native wire", "MiB", statistics.median(memory), 120.0, "MiB", 1.0
    )


def _table() -> Iterator[Row]:
    """Compute how much of each model's window the first request of a chat leaves, counting tools and system prompt
    by length."""
    chat = [
        (name, row)
        for name, row in model_table().items()
        if row.get("mode") in ("chat", "responses")
    ]
    specs = bundled_specs() or []
    fixed = {
        lean: _fixed(lean_specs(specs) if lean else specs, lean=lean) for lean in (False, True)
    }
    refused = halved = known = 0
    for name, row in chat:
        at = Endpoint(
            name, str(row.get("litellm_provider")), name, "openai", None, None, "", "", False
        )
        profile = Profile.build(at, row, {})
        if not profile.window or profile.window < SMALL_WINDOW:
            continue
        known += 1
        limit = request_limit(profile.window, profile.reserve()) or 0
        refused += limit <= fixed[is_lean(profile.window)]
        halved += limit < profile.window / 2
    yield Row(
        "M5 models refused at the first request",
        "",
        refused,
        known,
        f"windows of {SMALL_WINDOW:,} on",
        0.0,
    )
    yield Row(
        "M5 models that keep under half a window",
        "",
        halved,
        known,
        f"windows of {SMALL_WINDOW:,} on",
        0.0,
    )


def _fixed(specs: Sequence[ToolSpec], *, lean: bool) -> int:
    """Return the tokens, estimated by length, of tools and system prompt."""
    text = load_prompt("system", _LEAN_WINDOW if lean else None)
    return (len(text) + sum(len(json.dumps(spec.to_api())) for spec in specs)) // BYTES_A_TOKEN


def _tests(figure: str, files: Sequence[str]) -> Row:
    """Return the number of failures of the tests that check a gate, as a figure."""
    command = (sys.executable, "-m", "pytest", "--no-header", "-p", "no:cacheprovider", *files)
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    words = done.stdout.replace(",", " ").split()
    counts = {
        kind: int(words[words.index(kind) - 1]) if kind in words else 0
        for kind in ("passed", "failed")
    }
    if not sum(counts.values()):
        raise MeasuringError(f"{' '.join(files)}: {done.stdout[-200:]}")
    return Row(figure, "", counts["failed"], sum(counts.values()), "tests of it", 0.0)
