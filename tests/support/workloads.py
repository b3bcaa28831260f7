"""Do the work of workloads.toml without a sandbox and in it, and compare the exit codes.

As a program it prints the outcomes as JSON: `python -m tests.support.workloads [USER]`.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

from swecli.tools.environment import child_environment
from swecli.tools.guard import Guard
from swecli.tools.processes import run_group
from swecli.tools.run_inside import run_inside
from swecli.tools.sandbox import Sandbox
from tests.support.as_user import print_as_user

_SECONDS = 240.0  # a compiler on a machine under load


async def work_twice(base: Path) -> list[dict[str, Any]]:
    """Do all the work in new folders. Returns name, exit codes, and the end of the output inside; of `missing` programs
    only the name."""
    home = base / "home"
    home.mkdir()
    env = child_environment(
        {
            "PATH": os.environ["PATH"], "HOME": str(home), "PY": _python(),
            "CARGO_HOME": os.environ.get("CARGO_HOME", os.path.expanduser("~/.cargo")),  # noqa: PTH111
            "RUSTUP_HOME": os.environ.get("RUSTUP_HOME", os.path.expanduser("~/.rustup")),  # noqa: PTH111
            "GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@b",
            "GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@b",
        }
    )  # fmt: skip
    rows: list[dict[str, Any]] = []
    text = Path(__file__).with_name("workloads.toml").read_text("utf-8")
    for number, load in enumerate(tomllib.loads(text)["workload"]):
        needed = subprocess.run(
            ["/bin/bash", "-c", load["needs"]], env=env, capture_output=True, check=False
        )
        row = {
            "name": load["name"],
            "known": load.get("known", ""),
            "missing": needed.returncode != 0,
        }
        for where in () if row["missing"] else ("outside", "inside"):
            root = base / f"{number}-{where}"
            root.mkdir()
            subprocess.run(["/bin/bash", "-ec", load["make"]], cwd=root, env=env, check=True)
            output = bytearray()
            argv = ["/bin/bash", "-c", load["run"]]
            if where == "outside":
                end = await run_group(
                    argv, cwd=root, env=env, timeout=_SECONDS, on_output=output.extend
                )
            else:
                sandbox = Sandbox("required", root, env)
                if sandbox.problem:
                    raise SystemExit(sandbox.problem)
                end = await run_inside(
                    sandbox,
                    Guard(sandbox.root),
                    "workspace",
                    argv,
                    env=env,
                    timeout=_SECONDS,
                    on_output=output.extend,
                )
            row |= {where: end.code, "output": output.decode("utf-8", "replace")[-1000:]}
        rows.append(row)
    return rows


def _python() -> str:
    """Return a Python that this user can start: that of the tests, else the system's."""
    return (
        sys.executable
        if os.access(os.path.realpath(sys.executable), os.X_OK)
        else "/usr/bin/python3"
    )


if __name__ == "__main__":
    print_as_user(sys.argv[1] if len(sys.argv) > 1 else "", work_twice)
