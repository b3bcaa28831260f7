"""swecli as a shell starts it: a real process, or the same door in this one. No outcome may hold a traceback."""

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
ON_PATH = os.pathsep.join((str(ROOT), str(ROOT / "tests" / "plugins")))  # the program, and the scripted model
SCRIPTS = ROOT / "tests" / "support" / "scripts"
HELLO = f"scripted/{SCRIPTS}/hello.json"  # a model that greets, once a process


@dataclass(frozen=True)
class Done:
    """What a run left behind."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """stdout as one JSON value."""
        return json.loads(self.out)

    @property
    def lines(self) -> list[Any]:
        """stdout as one JSON value a line."""
        return [json.loads(line) for line in self.out.split("\n") if line]

    @property
    def complaint(self) -> str:
        """The one line that says what is wrong."""
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
) -> Done:
    """Run a process to its end. `before` are the words of a command that starts it."""
    given = stdin.encode() if isinstance(stdin, str) else stdin
    if not before and spare.suits(environ or {}):
        code, out, err = spare.run([os.fsencode(one) for one in arguments], given, environment(environ), 120)
        return checked(Done(code, out.decode(), err.decode()))
    done = subprocess.run(
        [*before, *COMMAND, *arguments],
        input=given,
        capture_output=True,
        env=environment(environ),
        timeout=120,
        check=False,
    )
    return checked(Done(done.returncode, done.stdout.decode(), done.stderr.decode()))


def begin(*arguments: str, **options: Any) -> subprocess.Popen[str]:
    """Start a process and leave it running."""
    return subprocess.Popen(
        [*COMMAND, *arguments],
        stdin=options.pop("stdin", subprocess.DEVNULL),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(),
        text=True,
        **options,
    )


def ended(process: subprocess.Popen[str]) -> Done:
    """Wait for its end."""
    out, err = process.communicate(timeout=120)
    return checked(Done(process.returncode, out, err))


def checked(done: Done) -> Done:
    assert "Traceback" not in done.err, done.err
    assert "This is a fault of swecli" not in done.err, done.err
    return done


Run = Callable[..., Done]


def script(path: str, *replies: Any) -> str:
    """Write replies for the scripted model; the model's name."""
    Path(path).write_text(json.dumps(replies), encoding="utf-8")
    return f"scripted/{path}"
