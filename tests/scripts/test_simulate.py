"""The simulation: the same worlds for everyone, swecli's own score and gate, and results in the right order."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from scripts.simulation.entry import active
from scripts.simulation.play import auc, play, spearman
from scripts.simulation.policies import NetCount, Nothing, Oracle, Ours
from scripts.simulation.report import simulated
from scripts.simulation.world import BULLETS, EFFECT, POISONED, SHOWN, TOPICS, make_world

ROOT = Path(__file__).parents[2]


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(ROOT / "scripts" / "simulate"), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_a_world_is_what_it_is_said_to_be() -> None:
    world = make_world(3, 600)
    honest = [truth for truth in world.truths.values() if not truth.poisoned]
    assert (len(honest), len(world.truths) - len(honest), len(world.base)) == (BULLETS, POISONED, TOPICS)
    helpful = [truth for truth in honest if truth.first > EFFECT / 2]
    assert 0.35 < len(helpful) / BULLETS < 0.55
    assert 3 <= sum(truth.later < 0 for truth in helpful) <= 9
    assert sum(turn.topic == 0 for turn in world.turns) > 5 * sum(turn.topic == TOPICS - 1 for turn in world.turns)
    missed = [sum(t.topic == turn.topic for t in honest) - len(turn.relevant) for turn in world.turns]
    assert max(missed) > 0
    assert make_world(3, 600) == world != make_world(4, 600)


def test_the_gate_lets_in_what_work_showed_and_not_what_a_command_said() -> None:
    world = make_world(1, 100)
    assert active(world) == {truth.id for truth in world.truths.values() if not truth.poisoned}


def test_ours_does_better_than_counting_and_the_poisoned_are_never_shown() -> None:
    tables = simulated(range(4), 400, [0.0, 0.25])
    ours, counted = tables[0.25]["ours"], tables[0.25]["net count"]
    assert ours["gain"].mean > counted["gain"].mean > 0
    assert ours["correlation"].mean > counted["correlation"].mean
    assert ours["auc"].mean > 0.8
    assert ours["poisoned"].mean == 0 < counted["poisoned"].mean
    assert tables[0.0]["ours"]["gain"].mean > 0
    assert tables[0.25]["oracle"]["gain"].mean == 1


def test_everybody_plays_the_same_turns() -> None:
    world = make_world(2, 200)
    floor, ceiling = play(world, Nothing(), 0.25), play(world, Oracle(world), 0.25)
    assert floor == play(world, Nothing(), 0.9)
    between = [play(world, policy, 0.25).success for policy in (NetCount(), Ours(active(world)))]
    assert all(floor.success < success < ceiling.success for success in between)
    assert SHOWN == 4


def test_figures_are_computed_as_in_the_textbook() -> None:
    assert spearman([1, 2, 3], [10, 20, 15]) == pytest.approx(0.5)
    assert spearman([1, 1, 1], [1, 2, 3]) == 0
    assert auc([0.1, 0.2, 0.9], [True, False, False]) == 1
    assert auc([0.5, 0.5], [True, False]) == 0.5


def test_the_script_says_that_it_is_a_simulation_and_writes_what_it_printed(tmp_path: Path) -> None:
    file = tmp_path / "figures.json"
    done = run("--seeds", "2", "--turns", "60", "--insight", "0.25", "--json", str(file))
    assert done.returncode == 0, done.stderr
    assert "A simulation, not a claim about real models" in done.stdout
    written = json.loads(file.read_text())
    assert written["simulation"] is True
    mean = written["insight"]["0.25"]["ours"]["gain"]["mean"]
    assert f"{mean:.3f}" in next(row for row in done.stdout.splitlines() if row.startswith("ours  "))


def test_a_missed_goal_is_an_exit_code_and_nonsense_one_line() -> None:
    missed = run("--seeds", "1", "--turns", "2", "--insight", "0.25", "--gate")
    assert missed.returncode == 1, missed.stderr
    assert "MISSED" in missed.stdout
    wrong = run("--insight", "7")
    assert (wrong.returncode, "invalid share value: '7'" in wrong.stderr) == (2, True)
