"""Measure a live model's reviews of changes whose truth is known: precision and recall, optionally recorded and
replayed."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from math import sqrt
from pathlib import Path
from typing import Any

from scripts.benchmarks.place import ROOT, swecli
from scripts.benchmarks.recording import ANSWERS
from scripts.benchmarks.rows import MeasuringError
from scripts.benchmarks.truth import Case, Truth, load_cases
from swecli.config.paths import Paths
from swecli.models.counts import pluralize

AUTHOR = ("-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false")
ENDED = (
    0,
    1,
    3,
)  # exit codes of a completed review; 3 means that not everything was read or checked
PLUGINS = f"{ROOT}:{ROOT}/scripts/benchmarks/plugins:{ROOT}/tests/plugins"
RUN = "run.json"


@dataclass(frozen=True, slots=True)
class Outcome:
    """The review of one case: the result as its JSON, and the truth."""

    case: Case
    end: dict[str, Any]
    truth: Truth | None

    def shown(self, *, confirmed: bool = False) -> list[dict[str, Any]]:
        """Return the findings that were not refuted, or only those that may fail CI."""
        kept = [
            finding
            for finding in self.end["findings"]
            if "refuted" not in (finding["state"], finding["verdict"])
        ]
        return (
            [finding for finding in kept if finding["verdict"] in ("confirmed", "introduced")]
            if confirmed
            else kept
        )

    def hits(self, *, confirmed: bool = False) -> int:
        return (
            sum(self.truth.is_hit(one) for one in self.shown(confirmed=confirmed))
            if self.truth
            else 0
        )

    def false(self, *, confirmed: bool = False) -> int:
        """Return the number of findings in code without a problem."""
        return 0 if self.truth else len(self.shown(confirmed=confirmed))

    def line(self) -> str:
        found = pluralize(len(self.shown()), "finding")
        word = (
            ("hit" if self.hits() else "missed")
            if self.truth
            else ("false" if self.shown() else "right")
        )
        word = word if self.is_judged else "unread"
        return f"{self.case.name:28} {word:7} {found}" + (
            "" if self.end["coverage"]["complete"] else ", incomplete"
        )

    @property
    def is_judged(self) -> bool:
        """Return False for clean code that was not read, since finding nothing there proves nothing."""
        return bool(self.truth or self.shown() or self.end["coverage"]["complete"])


def wilson(hits: int, count: int) -> tuple[float, float]:
    """Return the 95 % interval of a share (Wilson score interval). `count` is at least 1."""
    z, share = 1.959964, hits / count
    middle, spread = (
        share + z * z / (2 * count),
        z * sqrt(share * (1 - share) / count + z * z / (4 * count * count)),
    )
    return max(0.0, (middle - spread) / (1 + z * z / count)), min(
        1.0, (middle + spread) / (1 + z * z / count)
    )


def measure(model: str, limit: int | None, record: Path | None, replay: Path | None) -> int:
    """Review the cases, print each and then the figures. Return the exit code: 0 if anything was measured."""
    cases, day, answers = load_cases(), date.today().isoformat(), record or replay
    if replay is not None:
        try:
            run = json.loads((replay / RUN).read_text(encoding="utf-8"))
            model, day = str(run["model"]), str(run["date"])
        except (OSError, ValueError, KeyError) as error:
            print(f"not measured: {replay} has no recording of this benchmark ({error})")
            return 1
        cases = [case for case in cases if (replay / f"{case.name}.jsonl").exists()]
    if record is not None:
        record.mkdir(parents=True, exist_ok=True)
        (record / RUN).write_text(
            json.dumps({"model": model, "date": day}) + "\n", encoding="utf-8"
        )
    spoken = f"recording/{model}" if record else f"replayed/{model}" if replay else model
    outcomes, missing = list[Outcome](), dict[str, int]()
    try:
        for case in cases[:limit]:
            try:
                started = time.monotonic()
                outcomes.append(_review(case, spoken, answers and answers / f"{case.name}.jsonl"))
                print(f"{outcomes[-1].line()}  {time.monotonic() - started:.1f} s", flush=True)
            except MeasuringError as error:
                missing[str(error)] = missing.get(str(error), 0) + 1
                if (
                    not outcomes and case.kind != "release"
                ):  # for example a refused key, which would fail every case
                    missing[str(error)] = len(cases[:limit])
                    break
    except KeyboardInterrupt:
        missing["interrupted"] = len(cases[:limit]) - len(outcomes)
    if not cases:
        print(f"not measured: {replay} has no recorded case")
    for problem, count in missing.items():
        print(f"not measured: {pluralize(count, 'case')}: {problem}")
    if outcomes:
        _print_figures(outcomes, model, day, "replayed" if replay else "live")
    return 0 if outcomes else 1


def _review(case: Case, model: str, answers: Path | None) -> Outcome:
    """Review one change with the command line, in a repository and a home of its own. Raises MeasuringError."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "swecli-bench"
    before, after = case.trees(cache)
    with tempfile.TemporaryDirectory(prefix="swecli-bench-") as folder:
        root, home = Path(folder) / "project", Path(folder) / "home"
        home.mkdir()
        # Use the user's models and keys, but not their history.
        if (config := Paths.find(os.environ).config_file).exists():
            shutil.copy(config, home / "config.toml")
        _commit(root, before, "main")
        _commit(root, after, "topic")
        paths = f"{PLUGINS}:{os.environ.get('PYTHONPATH', '')}"
        environ = {
            **os.environ,
            "SWECLI_HOME": str(home),
            "PYTHONPATH": paths,
            ANSWERS: str(answers and answers.absolute()),
        }
        command = swecli("review", "--base", "main", "--format", "json", "-m", model)
        done = subprocess.run(
            command, cwd=root, env=environ, stdin=subprocess.DEVNULL, capture_output=True, text=True
        )
        if done.returncode not in ENDED:
            said = [line for line in done.stderr.splitlines() if line.strip()] or ["no message"]
            raise MeasuringError(
                f"swecli review ended with exit code {done.returncode}: {said[-1].strip()[:300]}"
            )
        return Outcome(case, json.loads(done.stdout), case.truth(root))


def _commit(root: Path, files: dict[str, bytes], branch: str) -> None:
    root.mkdir(exist_ok=True)
    for name, content in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(content)
    start = ("init", "-q", "-b", branch) if branch == "main" else ("checkout", "-q", "-b", branch)
    for words in (start, ("add", "-Af"), ("commit", "-qm", branch)):
        subprocess.run(["git", *AUTHOR, *words], cwd=root, check=True, capture_output=True)


def _print_figures(outcomes: Sequence[Outcome], model: str, day: str, how: str) -> None:
    costs = [outcome.end["cost"] for outcome in outcomes]
    price = "price unknown" if None in costs else f"${sum(costs):.4f}"
    used = [sum(outcome.end["usage"].values()) for outcome in outcomes]
    expected = [outcome.end["estimate"]["tokens"] for outcome in outcomes]
    held = sum(low <= count <= high for count, (low, high) in zip(used, expected, strict=True))
    incomplete = sum(not outcome.end["coverage"]["complete"] for outcome in outcomes)
    size = f"{pluralize(len(outcomes), 'case')}, {incomplete} incomplete, {sum(used):,} tokens"
    print(f"\n{how}: {model}, {day}, {size}, {price}")
    print(f"{'figure':44} {'value':>12}  95 % interval")
    for name, kind in (
        ("recall, planted problems", "problem"),
        ("recall, reverted bug fixes", "release"),
    ):
        own = [outcome for outcome in outcomes if outcome.case.kind == kind]
        _print_share(name, sum(outcome.hits() > 0 for outcome in own), len(own), "no such case")
    for name, confirmed in (
        ("precision, all findings", False),
        ("precision, confirmed findings", True),
    ):
        hits, false = (
            sum(getattr(one, word)(confirmed=confirmed) for one in outcomes)
            for word in ("hits", "false")
        )
        _print_share(name, hits, hits + false, "no finding was right or false")
    for name, kind in (
        ("harmless changes with a finding", "harmless"),
        ("clean changes with a finding", "clean"),
    ):
        own = [outcome for outcome in outcomes if outcome.case.kind == kind and outcome.is_judged]
        _print_share(
            name, sum(outcome.false() > 0 for outcome in own), len(own), "no such case was read"
        )
    _print_share("estimates that held the tokens", held, len(outcomes), "")
    unjudged = sum(len(outcome.shown()) - outcome.hits() for outcome in outcomes if outcome.truth)
    print(f"{'unjudged: other findings on problems':44} {unjudged:>12}")


def _print_share(name: str, hits: int, count: int, without: str) -> None:
    low, high = wilson(hits, count) if count else (0.0, 0.0)
    print(
        f"{name:44} {f'{hits} of {count}':>12}  {f'{low:.0%} to {high:.0%}' if count else f'not measured: {without}'}"
    )
