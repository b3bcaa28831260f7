"""Run swecli as a shell does, in a process of its own. No output may contain a traceback."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.support import spare

ROOT = Path(__file__).parents[2]
COMMAND = (sys.executable, "-m", "swecli")
ON_PATH = os.pathsep.join(
    (str(ROOT), str(ROOT / "tests" / "plugins"))
)  # swecli itself, and the scripted model
SCRIPTS = ROOT / "tests" / "support" / "scripts"
HELLO = f"scripted/{SCRIPTS}/hello.json"  # a model that answers with a greeting, once per process


@dataclass(frozen=True)
class CompletedRun:
    """The exit code, stdout and stderr of a run."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """Parse stdout as one JSON value."""
        return json.loads(self.out)

    @property
    def lines(self) -> list[Any]:
        """Parse each line of stdout as a JSON value."""
        return [json.loads(line) for line in self.out.split("\n") if line]

    @property
    def complaint(self) -> str:
        """Return the one error line of stderr."""
        found = [line for line in self.err.splitlines() if line.startswith("swecli: ")]
        assert len(found) == 1, self.err
        return found[0]


def environment(environ: Mapping[str, str] | None = None) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": ON_PATH, **(environ or {})}


def swecli(
    *arguments: str | bytes,
    stdin: str | bytes = b"",
    environ: Mapping[str, str] | None = None,
    before: Sequence[str] = (),
) -> CompletedRun:
    """Run a process to its end. `before` is a command prefix, for example `setpriv`."""
    given = stdin.encode() if isinstance(stdin, str) else stdin
    if not before and spare.can_fork(environ or {}):
        code, out, err = spare.run(
            [os.fsencode(one) for one in arguments], given, environment(environ), 120
        )
        return check_output(CompletedRun(code, out.decode(), err.decode()))
    done = subprocess.run(
        [*before, *COMMAND, *arguments],
        input=given,
        capture_output=True,
        env=environment(environ),
        timeout=120,
        check=False,
    )
    return check_output(CompletedRun(done.returncode, done.stdout.decode(), done.stderr.decode()))


def start_process(*arguments: str, **options: Any) -> subprocess.Popen[str]:
    """Start a process and return it while it runs."""
    return subprocess.Popen(
        [*COMMAND, *arguments],
        stdin=options.pop("stdin", subprocess.DEVNULL),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(),
        text=True,
        **options,
    )


def wait_for_exit(process: subprocess.Popen[str]) -> CompletedRun:
    """Wait for the process to end."""
    out, err = process.communicate(timeout=120)
    return check_output(CompletedRun(process.returncode, out, err))


def check_output(done: CompletedRun) -> CompletedRun:
    assert "Traceback" not in done.err, done.err
    assert "This is a fault of swecli" not in done.err, done.err
    return done


Run = Callable[..., CompletedRun]


def script(path: str, *replies: Any) -> str:
    """Write replies to a file for the scripted model and return the model's name."""
    Path(path).write_text(json.dumps(replies), encoding="utf-8")
    return f"scripted/{path}"
