"""What a turn tells about its success without asking a model: weighed signals from its calls and the user's words."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

from swecli.playbook import commands
from swecli.playbook.digest import CallDigest, PreviousTurn, TurnDigest
from swecli.playbook.phrases import Feedback, feedback
from swecli.playbook.words import shorten

Direction = Literal["good", "bad"]
About = Literal["turn", "previous"]

# How much a signal counts, by its name. Evidence rows carry the name, so the weight can be found again.
WEIGHTS: Mapping[str, float] = MappingProxyType(
    {
        "mark": 1.0,
        "correction": 1.0,
        "undo": 1.0,
        "denial": 1.0,
        "praise": 1.0,
        "teaching": 1.0,
        "transition": 1.0,
        "command": 0.5,
        "complaint": 0.5,
        "retry": 0.5,
        "loop": 0.5,
        "stumble": 0.2,
        "thanks": 0.2,
        "model": 0.2,
    }
)
ONLY_SEEN = 0.2  # tests that fail where nothing was edited did their work: no strategy is to blame
LOOP = 3  # equal calls with equal results and no edit between them
EDITS = frozenset({"edit_file", "write_file"})
_CLOCK = re.compile(r"\b\d+(?:\.\d+)?\s*(?:ms|s|sec|seconds)\b|\b\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?\b")


@dataclass(frozen=True, slots=True)
class Signal:
    """One sign of success or failure. `name` is a key of `WEIGHTS`; `why` is a short line for the user.

    `about` says which turn it judges; `quote` holds the user's words, where there are some.
    """

    name: str
    direction: Direction
    weight: float
    why: str
    about: About = "turn"
    quote: str = ""
    call_id: str = ""


def signals_of(digest: TurnDigest) -> list[Signal]:
    """All signals of a turn. A digest made for the user's mark holds that mark only: the rest was counted before."""
    if digest.mark is not None:
        said = f": {shorten(digest.why, 60)}" if digest.why else ""
        return [Signal("mark", digest.mark, WEIGHTS["mark"], f"you marked it {digest.mark}{said}", quote=digest.why)]
    earlier = digest.previous.calls if digest.previous else ()
    found = [*_words(digest), *_commands(digest.calls, earlier), *_repeats(digest.calls), *_denials(digest.calls)]
    found.extend(_stumbles(digest.calls))
    if digest.outcome == "loop" and not any(s.name == "loop" for s in found):
        found.append(Signal("loop", "bad", WEIGHTS["loop"], "the turn ended in a loop"))
    return found


def user_feedback(query: str, previous: PreviousTurn | None) -> Feedback | None:
    """The verdict on the turn before that a query opens with."""
    asked = previous is not None and previous.answer.rstrip().rstrip("*_`\"')").endswith("?")
    return feedback(query, asked)


def _words(digest: TurnDigest) -> Iterator[Signal]:
    said = user_feedback(digest.query, digest.previous)
    if said is None:
        return
    why = {
        "correction": "you said it was wrong",
        "undo": "you took it back",
        "complaint": "you said it did not work",
        "praise": "you said it worked",
        "thanks": "you said thanks",
    }[said.kind]
    yield Signal(said.kind, "good" if said.good else "bad", said.weight, why, "previous", said.quote)


@dataclass(slots=True)
class _Runs:
    """What is known of one command line, or one kind of tests: its first and its last result."""

    line: commands.Line
    text: str
    first: bool
    last: bool
    call: CallDigest
    here: bool = False


def _commands(calls: Sequence[CallDigest], earlier: Sequence[CallDigest]) -> list[Signal]:
    """Per command line: went from failing to passing or back, else how the last run ended."""
    known: dict[str, _Runs] = {}
    for call, here in [*((c, False) for c in earlier), *((c, True) for c in calls)]:
        result = commands.passed(call)
        if result is not None:
            _note(known, call, result, here)
    runs = [run for run in known.values() if run.here]
    worked = any(call.name in EDITS and call.ok for call in [*earlier, *calls])
    changed = [run for run in runs if run.first != run.last]
    if changed:
        return [_transition(run, worked) for run in changed]
    ended = [run for run in runs if run.line.runner] or runs[-1:]
    return [_ending(run, worked) for run in ended]


def _note(known: dict[str, _Runs], call: CallDigest, result: bool, here: bool) -> None:
    line = commands.parse(call.command)
    key = _key(known, line)
    if key not in known:
        known[key] = _Runs(line, call.command, result, result, call, here)
        return
    run = known.pop(key)  # put back at the end: the order is that of the last runs
    first = run.first if run.here or not here else run.last
    known[key] = _Runs(line, call.command, first, result, call, here)


def _key(known: Mapping[str, _Runs], line: commands.Line) -> str:
    """Where a line belongs: its own text, or the last run of tests that this one covers."""
    if line.key in known or not line.runner:
        return line.key
    same = (key for key, run in reversed(list(known.items())) if run.line.runner == line.runner)
    return next((key for key in same if commands.covers(line, known[key].line)), line.key)


def _transition(run: _Runs, worked: bool) -> Signal:
    name = shorten(run.text, 60)
    if run.last:
        why = f"{name} went from failing to passing"
        return Signal("transition", "good", WEIGHTS["transition"], why, call_id=run.call.id)
    weight = WEIGHTS["transition"] if worked else ONLY_SEEN
    return Signal("transition", "bad", weight, f"{name} went from passing to failing", call_id=run.call.id)


def _ending(run: _Runs, worked: bool) -> Signal:
    name, code = shorten(run.text, 60), run.call.exit_code
    if run.last:
        return Signal("command", "good", WEIGHTS["command"], f"{name} passed", call_id=run.call.id)
    found_a_fault = run.line.runner and not worked and not commands.misused(run.call)
    weight = ONLY_SEEN if found_a_fault else WEIGHTS["command"]
    how = f"failed with exit code {code}" if code else "failed"
    return Signal("command", "bad", weight, f"{name} {how}", call_id=run.call.id)


def failed_for_good(call: CallDigest) -> bool:
    """Whether a call ran to its end and failed; an exit code that is only an answer is no failure."""
    if call.command:
        return commands.passed(call) is False
    return call.finished and not call.ok and not call.denied


def fingerprint(call: CallDigest) -> str:
    """Equal for calls that ask for the same thing."""
    return call.name + json.dumps(call.parameters, sort_keys=True, ensure_ascii=False, default=str)


def _repeats(calls: Sequence[CallDigest]) -> list[Signal]:
    """Loops (the same call with the same result again and again) and retries (a failed call sent unchanged)."""
    counts: dict[str, int] = {}
    failed: set[str] = set()
    found: dict[str, Signal] = {}
    for call in calls:
        if call.name in EDITS and call.ok:
            counts.clear()
            failed.clear()
            continue
        asked = fingerprint(call)
        same = asked + _CLOCK.sub("#", call.output)
        counts[same] = counts.get(same, 0) + 1
        label = shorten(call.command or call.name, 60)
        if counts[same] == LOOP:
            found["loop"] = Signal(
                "loop", "bad", WEIGHTS["loop"], f"{label} was repeated {LOOP} times", call_id=call.id
            )
        elif asked in failed:
            found.setdefault("retry", Signal("retry", "bad", WEIGHTS["retry"], f"{label} was retried", call_id=call.id))
        if failed_for_good(call):
            failed.add(asked)
    return list(found.values())


def _denials(calls: Sequence[CallDigest]) -> Iterator[Signal]:
    """Calls the user refused. What a mode or a rule refused is no verdict on anything."""
    for call in calls:
        if call.denied and call.decision in ("user", ""):
            label = shorten(call.command or call.name, 60)
            yield Signal("denial", "bad", WEIGHTS["denial"], f"you refused {label}", quote=call.reason, call_id=call.id)


def _stumbles(calls: Sequence[CallDigest]) -> Iterator[Signal]:
    """Tools other than commands that failed: friction, but no verdict."""
    for call in calls:
        if not call.command and failed_for_good(call):
            yield Signal("stumble", "bad", WEIGHTS["stumble"], f"{call.name} failed", call_id=call.id)
