"""Test whole reviews against a strict service: twenty loops, a moving window, a kill in the middle, and no finding
lost."""

from __future__ import annotations

import json
import signal
import subprocess
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from tests.support.conversation import Conversation
from tests.support.project import make_project
from tests.support.reviews import findings_text
from tests.support.shell import COMMAND, ROOT, environment, start_process, swecli, wait_for_exit
from tests.support.strict_provider import Call, Received, Reply, StrictProvider
from tests.support.strict_provider.server import ANTHROPIC_MODEL, OPENAI_MODEL

pytestmark = pytest.mark.slow
LINES, FILES = 12, 20


def source(number: int) -> str:
    return (
        "\n".join(
            f"value_{number}_{line} = {number * 1000 + line}  # {'x' * 60}"
            for line in range(1, 400)
        )
        + "\n"
    )


@pytest.fixture(autouse=True)
def project(monkeypatch: pytest.MonkeyPatch) -> Path:
    root = make_project(Path("shop").resolve())
    for number in range(1, FILES + 1):
        (root / f"part_{number:02}.py").write_text(source(number))
    monkeypatch.chdir(root)
    return root


class ReviewScript:
    """A model whose n-th loop reads a file and reports three findings, one of them a duplicate; the 20th only
    answers."""

    def __init__(self, gate: int = 0) -> None:
        self.loop, self.gate, self.reached = 0, gate, threading.Event()

    def __call__(self, request: Received) -> Reply:
        self.loop += 1
        if self.loop == self.gate:
            self.reached.set()
            time.sleep(3)  # The client is killed meanwhile.
        return self.reply(self.loop)

    @staticmethod
    def reply(loop: int) -> Reply:
        if loop >= 20:
            return Reply("That is all.")
        rows = [(f"part_{loop:02}.py", line, "MAGIC_NUMBERS") for line in (1, 2)]
        rows.append((f"part_{max(1, loop - 1):02}.py", 1, "MAGIC_NUMBERS"))
        read = Call("read_file", {"path": f"part_{loop:02}.py"}, id=f"read_{loop}")
        if loop % 2:
            return Reply(findings_text(*rows), calls=(read,))
        found = [{"path": p, "line": n, "code_smell_type": t, "message": "m"} for p, n, t in rows]
        return Reply(
            calls=(Call("report_findings", {"findings": found}, id=f"report_{loop}"), read)
        )


def size(body: dict[str, Any]) -> int:
    return len(json.dumps(body))


def events(out: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in out.splitlines()]


@pytest.mark.parametrize("model", [f"openai/{OPENAI_MODEL}", f"anthropic/{ANTHROPIC_MODEL}"])
def test_twenty_loops_keep_every_finding(model: str) -> None:
    with StrictProvider(ReviewScript()) as server:
        done = swecli(
            "review",
            ".",
            "-m",
            model,
            "--no-verify",
            "--format",
            "stream-json",
            environ=server.environ(),
        )
        assert (done.code, server.refusals) == (3, []), "no part was reported as done"
        assert len(server.bodies) == 20
        happened = events(done.out)
        end = happened[-1]
        assert (end["type"], end["loops"]) == ("final_code_smells_summary", 20)
        assert (end["total"], end["unique"], end["by_type"]) == (57, 38, {"MAGIC_NUMBERS": 38})
        places = {(row["path"], row["line"]) for row in end["findings"]}
        assert places == {(f"part_{n:02}.py", line) for n in range(1, 20) for line in (1, 2)}
        assert all(row["verified"] for row in end["findings"])
        sums = [row for row in happened if row["type"] == "code_smells_accumulated"]
        assert [row["loop"] for row in sums] == list(range(1, 20))
        assert [row["total"] for row in sums] == [3 * n for n in range(1, 20)]
        windows = [row for row in happened if row["type"] == "sliding_window_applied"]
        assert all(row["loop"] >= 6 and row["kept"] <= 11 for row in windows)
        measured = [row for row in happened if row["type"] == "context_measured"]
        assert all(row["limit"] is None or row["tokens"] <= row["limit"] for row in measured)
        sizes = [size(body) for body in server.bodies]
        assert max(sizes[8:]) < 1.7 * max(sizes[5:8]), "requests stop growing"


def test_a_review_killed_at_loop_twelve_resumes_without_losing_findings() -> None:
    model = f"openai/{OPENAI_MODEL}"
    first = ReviewScript(gate=12)
    with StrictProvider(first) as server:
        process = subprocess.Popen(
            [*COMMAND, "review", ".", "-m", model, "--no-verify"],
            env=environment(server.environ()), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        assert first.reached.wait(60)
        process.send_signal(signal.SIGKILL)
        process.wait()
    second = ReviewScript()
    second.loop = 11
    with StrictProvider(second) as server:
        done = swecli(
            "review", "--continue", "-m", model, "--no-verify", "--json", environ=server.environ()
        )
        assert (done.code, server.refusals) == (3, [])
        assert len(server.bodies) == 9, "loops 12 to 20"
    end = done.json
    assert (end["loops"], end["total"], end["unique"]) == (20, 57, 38)
    assert sorted({row["loop"] for row in end["findings"]}) == list(range(1, 20))


def test_ctrl_c_ends_a_review_with_the_findings_so_far(monkeypatch: pytest.MonkeyPatch) -> None:
    script = ReviewScript(gate=4)
    with StrictProvider(script) as server:
        for name, value in server.environ().items():
            monkeypatch.setenv(name, value)
        process = start_process("review", ".", "-m", f"openai/{OPENAI_MODEL}", "--json")
        assert script.reached.wait(60)
        process.send_signal(signal.SIGINT)
        done = wait_for_exit(process)
    assert done.code == 130
    assert (done.json["end"], done.json["unique"]) == ("interrupted", 6)


class SlowVerifier:
    """A model that reports one finding and delays the verification request until the client is ended."""

    def __init__(self, *, wait: bool) -> None:
        self.wait, self.reached = wait, threading.Event()

    def __call__(self, request: Received) -> Reply:
        if "judge_findings" not in json.dumps(request.body):
            row = {
                "path": "shop/prices.py",
                "line": 3,
                "code_smell_type": "MAGIC_NUMBERS",
                "message": "m",
            }
            return Reply(
                calls=(Call("report_findings", {"done": True, "findings": [row]}, id="report"),)
            )
        if self.wait:
            self.reached.set()
            time.sleep(3)
        row = {
            "id": "F-1",
            "verdict": "confirmed",
            "path": "shop/prices.py",
            "line": 3,
            "quote": "TAX = 0.19",
            "why": "w",
        }
        return Reply(calls=(Call("judge_findings", {"judgements": [row]}, id="judge"),))


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_a_review_ended_during_verification_resumes_with_the_verification_only(
    number: signal.Signals,
) -> None:
    model, first = f"openai/{OPENAI_MODEL}", SlowVerifier(wait=True)
    with StrictProvider(first) as server:
        process = subprocess.Popen(
            [*COMMAND, "review", "shop/prices.py", "-m", model],
            env=environment(server.environ()), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        assert first.reached.wait(60)
        process.send_signal(number)
        process.wait()
    with StrictProvider(SlowVerifier(wait=False)) as server:
        done = swecli("review", "--continue", "-m", model, "--json", environ=server.environ())
        assert (done.code, server.refusals, len(server.bodies)) == (0, [], 1)
    assert [(row["id"], row["verdict"]) for row in done.json["findings"]] == [("F-1", "confirmed")]
    assert (done.json["total"], done.json["coverage"]["complete"]) == (1, True)


def make_tree(project: Path) -> None:
    for number in range(2_000):
        folder = project / f"package_{number // 100:02}"
        folder.mkdir(exist_ok=True)
        (folder / f"module_{number:04}.py").write_text(source(number)[:4_000])


def resident_memory(process: subprocess.Popen[str]) -> int:
    """Return the resident memory of the process in KiB, or 0 if it has ended or the system does not report it."""
    try:
        status = Path(f"/proc/{process.pid}/status").read_text(encoding="ascii")
    except OSError:
        return 0
    return next(
        (int(line.split()[1]) for line in status.splitlines() if line.startswith("VmRSS")), 0
    )


def test_a_review_of_two_thousand_files_keeps_memory_and_requests_flat_and_shows_progress(
    project: Path,
) -> None:
    make_tree(project)
    held, tokens, progress = list[int](), list[int](), list[dict[str, Any]]()
    loops = iter(range(2_000))

    def answer(request: Received) -> Reply:
        numbers = range(2 * (loop := next(loops)), 2 * loop + 2)
        paths = [f"package_{number // 100:02}/module_{number:04}.py" for number in numbers]
        reads = tuple(Call("read_file", {"path": path}, id=f"read_{path}") for path in paths)
        return Reply(findings_text(*((path, 1, "MAGIC_NUMBERS") for path in paths)), calls=reads)

    flags = ("--no-verify", "--loops", "60", "--format", "stream-json")
    command = [*COMMAND, "review", ".", "-m", f"openai/{OPENAI_MODEL}", *flags]
    with (
        StrictProvider(answer) as server,
        subprocess.Popen(
            command,
            env=environment(server.environ()),
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        ) as process,
    ):
        assert process.stdout is not None
        for line in process.stdout:
            event = json.loads(line)
            if event["type"] == "review_progressed":
                held.append(resident_memory(process))
                progress.append(event)
            elif event["type"] == "context_measured":
                tokens.append(event["tokens"])
    sizes = [size(body) for body in server.bodies]
    assert process.returncode == 3
    assert len(progress) == 60
    assert progress[-1]["files"] >= 2_000
    assert progress[-1]["findings"] > 110
    assert max(held[20:]) < 1.25 * max(held[:20]), (
        "145 MB at loop 10 and 161 MB at loop 500, when it was measured"
    )
    assert max(tokens[20:]) < 1.15 * max(tokens[:20])
    assert max(sizes) < 120_000
    assert max(sizes[30:]) <= max(sizes[:30]) * 1.05


def test_ctrl_c_at_the_prompt_keeps_the_findings_and_the_review_can_be_continued(
    project: Path,
) -> None:
    script = ReviewScript(gate=3)
    with StrictProvider(script) as server:
        env = {**server.environ(), "NO_COLOR": "1", "PYTHONPATH": str(ROOT)}
        command = (*COMMAND, "-m", f"openai/{OPENAI_MODEL}")
        with Conversation(command, env=env, cwd=project) as terminal:
            terminal.wait(r"^>")
            terminal.line("/review . --no-verify")
            terminal.wait("request 2 of at most 20")
            assert script.reached.wait(30)
            terminal.child.send("\x03")
            terminal.wait("interrupted: findings so far are kept")
            terminal.settle()
            terminal.line("/findings")
            terminal.wait(r"part_02\.py:2")
            terminal.settle()
            terminal.line("/review --continue --no-verify")
            terminal.wait("· continued")
            terminal.wait("reached the limit of requests")
            terminal.settle()
            terminal.line("/exit")
            assert terminal.wait_for_exit() == 0
    assert server.refusals == []
