"""Solve real tasks with the whole program: fresh files for each task, one playbook per arm and seed."""

from __future__ import annotations

import asyncio
import json
import os
import random
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from swecli.app import Runtime, build_runtime
from swecli.config.paths import Paths
from swecli.config.settings import Settings, Start
from swecli.llm.base import ChatModel
from swecli.llm.registry import make_model
from swecli.models.approval import AskRequest, Decision
from swecli.models.errors import BadInput, SwecliError
from swecli.models.message import ModelRequest
from swecli.models.model_choice import ModelChoice
from swecli.models.playbook import Delta, Op
from tests.support.scripted import Reply, ScriptedCall, ScriptedModel

ARMS = ("off", "rules", "model", "whole")
SCRIPTED = "scripted"


@dataclass(frozen=True)
class Done:
    """One task under one arm and seed: its `place` in the order, tokens of all requests, US dollars (None: unknown),
    and the number of strategies afterwards."""

    arm: str
    seed: int
    task: str
    place: int
    solved: bool
    tokens: int
    cost: float | None
    strategies: int
    error: str = ""


def load(folder: Path) -> dict[str, dict[str, Any]]:
    """Load the tasks of a folder by name. Raises BadInput for a file that cannot be used."""
    found = {}
    for file in sorted(folder.glob("*/task.toml")):
        try:
            task = tomllib.loads(file.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise BadInput(f"{file} cannot be read: {error}") from error
        if missing := [name for name in ("prompt", "check", "timeout") if name not in task]:
            raise BadInput(f"{file} has no {missing[0]}.")
        found[file.parent.name] = task | {"folder": file.parent}
    if not found:
        raise BadInput(
            f"There is no task in {folder}.",
            "A task is a folder with task.toml, files/ and check/.",
        )
    return found


def solve(
    tasks: Mapping[str, Mapping[str, Any]],
    arm: str,
    seed: int,
    models: tuple[str, str],
    folder: Path,
    before: int,
) -> Iterator[Done]:
    """Solve the tasks from index `before` on, in the order of the seed, with the database and workspace in `folder`;
    strategies learned earlier are kept."""
    order = sorted(tasks)
    random.Random(seed).shuffle(order) if seed else None
    for place, name in enumerate(order):
        if place >= before:
            yield asyncio.run(_one(tasks[name], name, (arm, seed, place), models, folder))


async def _one(
    task: Mapping[str, Any],
    name: str,
    at: tuple[str, int, int],
    models: tuple[str, str],
    folder: Path,
) -> Done:
    work, error = folder / "work", ""
    _empty(work)
    shutil.copytree(task["folder"] / "files", work, dirs_exist_ok=True)
    if "setup" in task and not _ends_well(task["setup"], task, work):
        raise BadInput(f"The setup of {name} fails: {task['setup']}")
    runtime = _runtime(task, at[0], models, folder, work)
    try:
        async with asyncio.timeout(task["timeout"]):
            async with aclosing(
                runtime.agent.run(runtime.agent.prepare(task["prompt"]))
            ) as happening:
                async for _ in happening:
                    pass
            await runtime.learning.learn()
    except (SwecliError, TimeoutError) as failed:
        error = f"{type(failed).__name__}: {failed}"
    shutil.copytree(task["folder"] / "check", work, dirs_exist_ok=True)
    solved, totals, session = (
        _ends_well(task["check"], task, work),
        runtime.sessions.totals(),
        runtime.sessions.current_session,
    )
    bullets = session.playbook.bullets if session else {}
    if (
        at[0] == "whole"
        and session
        and (free := [b.id for b in bullets.values() if b.state == "active"])
    ):
        pins = tuple(Op("PIN", name) for name in free)  # every bullet, whatever its score
        runtime.sessions.playbook.apply(Delta(f"whole-{session.id}", pins, "user"), session)
    runtime.close()
    return Done(
        at[0], at[1], name, at[2], solved, totals.usage.total, totals.cost, len(bullets), error
    )


def _empty(folder: Path) -> None:
    """Remove what is in a folder, but not the folder itself: a new one of its name would be another project."""
    folder.mkdir(parents=True, exist_ok=True)
    for entry in folder.iterdir():
        if entry.is_dir() and not entry.is_symlink():
            shutil.rmtree(entry)
        else:
            entry.unlink()


def _ends_well(command: str, task: Mapping[str, Any], work: Path) -> bool:
    environ = os.environ | {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    try:
        ended = subprocess.run(
            command,
            shell=True,
            cwd=work,
            env=environ,
            check=False,
            capture_output=True,
            timeout=task["timeout"],
        )
    except subprocess.TimeoutExpired:
        return False
    return ended.returncode == 0


def _runtime(
    task: Mapping[str, Any], arm: str, models: tuple[str, str], folder: Path, work: Path
) -> Runtime:
    environ = {**os.environ, "SWECLI_HOME": str(folder / "home")}
    paths = Paths.find(environ)
    paths.ensure()
    settings = replace(
        Settings(), mode="auto", learn=arm != "off", reflect_with_model=arm in ("model", "whole")
    )
    settings = replace(settings, reflect_model=models[1], reflect="always")

    async def agree(request: AskRequest) -> Decision:
        return Decision(True)

    start = Start(settings, paths, work, environ, ModelChoice(models[0], "for the benchmark"))
    return build_runtime(start, agree, model=_model(task, models[0], settings, environ))


def _model(
    task: Mapping[str, Any], name: str, settings: Settings, environ: Mapping[str, str]
) -> ChatModel:
    """Return the model of that name, or for `scripted` one that plays the task's script if the strategies it needs
    are present."""
    if name != SCRIPTED:
        return make_model(name, settings, environ)
    script = task.get("scripted", {})

    def answer(request: ModelRequest) -> Reply:
        if request.purpose != "turn":
            return Reply('{"strategies": []}')
        # of this turn: each turn is a new session
        done = sum(message["role"] == "tool" for message in request.messages)
        if done == 2 or not script:
            return Reply("Done.")
        if not done:
            return Reply(calls=(ScriptedCall("read_file", {"path": script["file"]}),))
        knows = script.get("needs", "") in json.dumps(request.messages).replace(
            "you measure", "measure"
        )
        given = {"path": script["file"], "content": script["writes"].lstrip("\n")}
        return (
            Reply(calls=(ScriptedCall("write_file", given),))
            if knows
            else Reply("I do not know how.")
        )

    return ScriptedModel(answer)


def recorded(file: Path) -> list[Done]:
    """Load the complete lines of an earlier run."""
    lines = file.read_text(encoding="utf-8").splitlines(keepends=True) if file.exists() else ()
    return [Done(**json.loads(line)) for line in lines if line.endswith("\n")]


def record(file: Path, done: Done) -> None:
    """Append one task's result immediately, so that a stopped run can be resumed."""
    with file.open("a", encoding="utf-8") as out:
        out.write(json.dumps(asdict(done)) + "\n")


def scratch(file: Path, resume: bool) -> Path:
    """Return the folder in which the arms keep their databases between runs."""
    folder = file.with_suffix(".arms")
    if not resume:
        shutil.rmtree(folder, ignore_errors=True)
        file.unlink(missing_ok=True)
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def spent(done: Sequence[Done]) -> float:
    """Return the US dollars spent so far; unknown costs count as 0."""
    return sum(one.cost or 0.0 for one in done)
