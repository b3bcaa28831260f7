"""Play worlds under each arm, and compute the figures with their intervals."""

from __future__ import annotations

import asyncio
import importlib.util
import math
import statistics
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from lab.learning.simulation.api import World
from lab.learning.simulation.product import Arm, Product, WorldFailed, ask

ARMS: tuple[Arm, ...] = ("none", "all", "product", "ceiling", "oracle")
FIRST = 200  # turns whose gain is reported separately
_BELOW = 0.01  # success rate below that without a playbook from which a world counts as worse
_CORES = 2
_MEMORY = (
    "/dev/shm" if Path("/dev/shm").is_dir() else None
)  # Simulated databases need not survive a power failure.


@dataclass(frozen=True)
class Job:
    """A world to play: its file, seed, turns and options."""

    file: Path
    seed: int
    turns: int
    options: Mapping[str, str]
    arms: tuple[Arm, ...]


@dataclass(frozen=True)
class Played:
    """A world under one arm: the true chance of each turn, the number of poisoned strategies shown, and the figures
    of the product's own state at the end; `ms` per turn."""

    chances: tuple[float, ...]
    poisoned: int
    ended: Mapping[str, float]
    states: Mapping[str, int]
    ms: float


@dataclass(frozen=True)
class Figure:
    """A mean over worlds with half of its 95 % interval (normal; None for a single world)."""

    mean: float
    half: float | None

    def __str__(self) -> str:
        return f"{self.mean:.2f}" + ("" if self.half is None else f" ±{self.half:.2f}")


def load(job: Job) -> World:
    """Load the world of a file. Raises WorldFailed with a one-line message."""
    spec = importlib.util.spec_from_file_location(f"world_{job.file.stem}", job.file)
    if spec is None or spec.loader is None:
        raise WorldFailed(f"{job.file} is not a Python file")
    module = sys.modules[spec.name] = importlib.util.module_from_spec(
        spec
    )  # Dataclasses look up their module there.
    try:
        spec.loader.exec_module(module)
        if getattr(module, "API", None) != 1:
            raise WorldFailed(f"{job.file} does not say API = 1")
        return cast(World, module.make(job.seed, job.turns, job.options))
    except WorldFailed:
        raise
    except (Exception, SystemExit) as error:
        raise WorldFailed(f"{job.file} cannot be used: {type(error).__name__}: {error}") from error


def play(job: Job) -> dict[str, Played]:
    """Play a world under each arm; "none" and "oracle" always, since the gain is measured between them. Raises
    WorldFailed with a one-line message, also for input that the product rejects."""
    played = {}
    for arm in (arm for arm in ARMS if arm in {*job.arms, "none", "oracle"}):
        try:
            played[arm] = asyncio.run(_play(load(job), job, arm))
        except WorldFailed:
            raise
        except Exception as error:
            reason = " ".join(f"{type(error).__name__}: {error}".split())
            raise WorldFailed(
                f"the world cannot be played ({arm}, seed {job.seed}): {reason:.200}"
            ) from error
    return played


async def _play(world: World, job: Job, arm: Arm) -> Played:
    chances, poisoned = [], 0
    with tempfile.TemporaryDirectory(prefix="swecli-simulation-", dir=_MEMORY) as folder:
        product = Product(
            world, arm, Path(folder), every_turn=job.options.get("reflect", "every") == "every"
        )
        began = time.perf_counter()
        await product.begin(ask(world, "turn", 0).model, ask(world, "start"))
        for number in range(world.turns):
            shown = await product.turn(number, ask(world, "turn", number))
            chances.append(float(ask(world, "chance", number, shown)))
            poisoned += sum(ask(world, "truth", key) == "poisoned" for key in shown)
        ms = (time.perf_counter() - began) * 1000 / world.turns
        ended = _ended(world, product) if arm == "product" else {}
        states = dict(sorted(product.states().items()))
        product.sessions.database.close()
    return Played(tuple(chances), poisoned, ended, states, ms)


def _ended(world: World, product: Product) -> dict[str, float]:
    """Measure how well the product's counts match the truth at the end."""
    truths = {key: ask(world, "truth", key) for key in sorted(product.live)}
    ours = [key for key, truth in truths.items() if truth != "poisoned"]
    effects = [ask(world, "effect", key, world.turns - 1) for key in ours]
    found = {
        "correlation": spearman([product.net(key) for key in ours], effects),
    }
    for figure, truth in (("lost", "helpful"), ("caught", "harmful")):
        if some := [not product.kept(key) for key in ours if truths[key] == truth]:
            found[figure] = sum(some) / len(some)
    return found


def spearman(one: Sequence[float], other: Sequence[float]) -> float:
    """Return the rank correlation, -1 to 1, or 0 if one of them is constant."""
    first, second = _ranks(one), _ranks(other)
    return (
        statistics.correlation(first, second)
        if len(set(first)) > 1 and len(set(second)) > 1
        else 0.0
    )


def _ranks(values: Sequence[float]) -> list[float]:
    """Return the rank of each value; equal values share their mean rank."""
    ordered = sorted(values)
    places = {value: ordered.index(value) + (ordered.count(value) - 1) / 2 for value in set(values)}
    return [places[value] for value in values]


def figures(worlds: Sequence[Mapping[str, Played]]) -> dict[str, dict[str, Figure]]:
    """Return the figures of each arm, over worlds."""
    rows: dict[str, dict[str, list[float]]] = {}
    for world in worlds:
        for arm, played in world.items():
            for name, value in _row(world, played).items():
                rows.setdefault(arm, {}).setdefault(name, []).append(value)
    return {
        arm: {name: summary(values) for name, values in row.items()} for arm, row in rows.items()
    }


def _row(world: Mapping[str, Played], played: Played) -> dict[str, float]:
    count = len(played.chances)
    row = {"success": statistics.fmean(played.chances)}
    for name, part in (
        ("gain", slice(None)),
        ("first 200", slice(FIRST)),
        ("last quarter", slice(count - max(1, count // 4), None)),
    ):
        none, best, own = (
            statistics.fmean(one.chances[part]) for one in (world["none"], world["oracle"], played)
        )
        if best > none:
            row[name] = (own - none) / (best - none)
    none, ceiling = row["success"] - statistics.fmean(world["none"].chances), world.get("ceiling")
    if (
        ceiling
        and (most := statistics.fmean(ceiling.chances) - statistics.fmean(world["none"].chances))
        > 0
    ):
        row["of ceiling"] = none / most
    return (
        row
        | dict(played.ended)
        | {"poisoned shown": played.poisoned, "below none": float(none < -_BELOW)}
    )


def summary(values: Iterable[float]) -> Figure:
    """Return the mean and its interval; a single world has no interval."""
    found = tuple(values)
    half = 1.96 * statistics.stdev(found) / math.sqrt(len(found)) if len(found) > 1 else None
    return Figure(statistics.fmean(found), half)


def simulated(jobs: Sequence[Job]) -> list[dict[str, Played]]:
    """Play all worlds, in parallel if there are several, and return them in order. Raises WorldFailed."""
    if len(jobs) == 1:
        return [play(jobs[0])]
    with ProcessPoolExecutor(min(_CORES, len(jobs))) as pool:
        return list(pool.map(play, jobs))


def states_of(worlds: Sequence[Mapping[str, Played]]) -> dict[str, int]:
    """Count the states of the product arm's proposals, over worlds."""
    total: Counter[str] = Counter()
    for world in worlds:
        total.update(world["product"].states if "product" in world else {})
    return dict(sorted(total.items()))


def as_json(worlds: Sequence[Mapping[str, Played]], about: Mapping[str, Any]) -> dict[str, Any]:
    """Return the figures as plain JSON values without times, so that the same seeds give the same output."""
    table = {
        arm: {name: {"mean": f.mean, "half": f.half} for name, f in row.items()}
        for arm, row in figures(worlds).items()
    }
    return {"simulation": True, **about, "figures": table, "proposals": states_of(worlds)}
