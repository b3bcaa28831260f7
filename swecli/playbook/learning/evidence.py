"""The outcome of a turn (good, bad or unknown) from its check commands and the user's decisions."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from swecli.models.playbook import Bullet, shorten
from swecli.playbook.scoring.score import ShownBullet
from swecli.playbook.turn_digest import CallDigest, TurnDigest, check_key, failing_lines, has_passed
from swecli.store.records import CheckResult

_EDITS = frozenset({"edit_file", "write_file"})
_COMMON = "turn"  # the kind of all turns without a deciding check
_STILL_GREEN, _STILL_RED = 0.5, 0.3
_ONLY_SHOWN = {True: 0.3, False: 0.1}  # role of an unlinked bullet after a good and a bad outcome
_SPAN = re.compile(r"`([^`\n]{3,})`")
_SHORTEST = 3  # characters of an anchor that is searched for
_NO = re.compile(r"\s*no\s*,", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Observation:
    """The observed outcome of a turn: `weight` 0 to 1, `source` ("check", "mark", "refusal"), `why` as a line for
    people, the kind of turn whose base odds it changes, and the deciding `call`."""

    good: bool
    weight: float
    source: str
    why: str
    kind: str = _COMMON
    call: CallDigest | None = None


@dataclass(frozen=True, slots=True)
class TurnEvidence:
    """The outcome of a turn (None: unknown), the last result of each check command, whether anything failed on the way
    (`friction`), and whether a check passed for the first time."""

    observed: Observation | None = None
    checks: Mapping[str, CheckResult] = field(default_factory=dict)
    friction: bool = False
    first_success: bool = False


@dataclass(frozen=True, slots=True)
class _Run:
    call: CallDigest
    passed: bool
    edited: bool  # the turn edited a file before this run

    @property
    def check(self) -> CheckResult:
        return CheckResult(self.passed, () if self.passed else failing_lines(self.call.output))


def observe(digest: TurnDigest, last: Mapping[str, CheckResult]) -> TurnEvidence:
    """Observe a turn; `last` contains the previous results of its checks in this project."""
    runs = _check_runs(digest.calls)
    found = [one for name, own in runs.items() if (one := _state_change(name, own, last.get(name))) is not None]
    found += [_refusal(call) for call in digest.calls if call.denied and call.decision in ("user", "")]
    checks = {name: own[-1].check for name, own in runs.items()}
    observed = _select_strongest(found)
    return TurnEvidence(
        observed,
        checks,
        friction=_has_friction(digest) or (observed is not None and not observed.good),
        first_success=any(check.passed and name not in last for name, check in checks.items()),
    )


def check_keys(digest: TurnDigest) -> list[str]:
    return [*_check_runs(digest.calls)]


def is_correction(query: str) -> bool:
    """Return True for a message that begins with "no,"."""
    return _NO.match(query) is not None


def _check_runs(calls: Sequence[CallDigest]) -> dict[str, list[_Run]]:
    runs: dict[str, list[_Run]] = {}
    edited = False
    for call in calls:
        edited = edited or (call.name in _EDITS and call.ok)
        result, name = has_passed(call), check_key(call)
        if name and result is not None:
            runs.setdefault(name, []).append(_Run(call, result, edited))
    return runs


def _state_change(name: str, runs: Sequence[_Run], last: CheckResult | None) -> Observation | None:
    """Compare a check's last run with its state before the turn's edits."""
    end, start = runs[-1], runs[0]
    before = last if start.edited or len(runs) == 1 else start.check
    if before is None:
        return None
    label = shorten(end.call.command, 60)
    if before.passed != end.passed:
        how = "failing to passing" if end.passed else "passing to failing"
        return Observation(end.passed, 1.0, "check", f"{label} went from {how}", name, end.call)
    if end.passed:
        return Observation(True, _STILL_GREEN, "check", f"{label} still passes", name, end.call) if end.edited else None
    if not end.edited or end.check.failing == before.failing:
        return None  # the same tests failed before the turn
    return Observation(False, _STILL_RED, "check", f"{label} still fails, in another way", name, end.call)


def _refusal(call: CallDigest) -> Observation:
    label = shorten(call.command or str(call.parameters.get("path", call.name)), 60)
    why = f"you refused {label}" + (f": {shorten(call.reason, 60)}" if call.reason else "")
    return Observation(False, 1.0, "refusal", why, call=call)


def _select_strongest(found: Sequence[Observation]) -> Observation | None:
    """Return the observation with the largest weight; None if there is none, or if two of that weight disagree."""
    best = max(found, key=lambda one: one.weight, default=None)
    if best is None or any(one.weight == best.weight and one.good != best.good for one in found):
        return None
    return best


def _has_friction(digest: TurnDigest) -> bool:
    """Return True after a refused call, a repeated failing call, a failing command or a loop stop."""
    asked: set[str] = set()
    for call in digest.calls:
        same = call.name + json.dumps(call.parameters, sort_keys=True, default=str)
        if call.denied or (same in asked and not call.ok) or has_passed(call) is False:
            return True
        if not call.ok:
            asked.add(same)
    return digest.outcome == "loop"


def find_roles(digest: TurnDigest, observed: Observation, bullets: Mapping[str, Bullet]) -> list[ShownBullet]:
    """Return the bullets of a turn's prompt with their roles."""
    shown = (bullets[name] for name in digest.shown if name in bullets)
    return [ShownBullet(bullet, *_assign_role(bullet, observed, digest)) for bullet in shown]


def _assign_role(bullet: Bullet, observed: Observation, digest: TurnDigest) -> tuple[float, str]:
    """Return a bullet's share of the outcome's weight and the id of the call that links it: 1 if the deciding call
    contains one of its anchors, or if it was cited and a call or a mark followed; 0 if stale or quarantined."""
    call = observed.call
    if not bullet.is_live or bullet.stale:
        return 0.0, ""
    if call is not None:
        text = json.dumps(call.parameters, ensure_ascii=False, default=str)
        if _contains_anchor(bullet, text if observed.good else f"{text} {call.output}"):
            return 1.0, call.id
    if bullet.id in digest.cited and (observed.source == "mark" or digest.calls):
        return 1.0, call.id if call else ""
    return _ONLY_SHOWN[observed.good], ""


def _contains_anchor(bullet: Bullet, text: str) -> bool:
    named = (anchor.partition(":")[2] or anchor for anchor in bullet.anchors)  # `kind:value`
    names = {*named, *_SPAN.findall(bullet.content)}
    return any(re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", text) for name in names if len(name) >= _SHORTEST)
