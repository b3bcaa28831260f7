"""What a review's model is told: the task, the target, the changes, the leads and the project's own checks."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from swecli.models.finding import SMELLS
from swecli.review.read.linter_hints import Lead
from swecli.review.read.project_rules import Check
from swecli.review.target.targets import Target

MOST_NAMES = 300
MOST_LEADS = 80
NEXT_NAMES = 40
_FILE = Path(__file__).parent / "prompts" / "review.md"


def system_prompt(
    target: Target, leads: Sequence[Lead], checks: Sequence[Check], root: Path, room: int
) -> tuple[str, list[str]]:
    """The system message of a review, which no window moves; and the files whose whole change it shows.

    `room` is how many characters the changes may take. What does not fit is named, to be read by tools. Its length
    does not grow with the number of files.
    """
    smells = "\n".join(f"- {name}: {what}" for name, what in SMELLS.items())
    parts = [_FILE.read_text(encoding="utf-8").strip().replace("{smells}", smells)]
    parts.append(
        f"## This review\nThe target is {target.label}, in {root}. {len(target.files)} files:\n{_names(target)}"
    )
    if checks:
        parts.append('## The project\'s own checks (kind "check", code_smell_type its name)\n' + _checks(checks))
    if leads:
        parts.append(
            "## Leads from tools\nFrom deterministic tools, not from a reviewer. Look at each before you report it.\n"
            + "\n".join(lead.line() for lead in leads[:MOST_LEADS])
            + (f"\n… and {len(leads) - MOST_LEADS} more" if len(leads) > MOST_LEADS else "")
        )
    shown, changes = _changes(target, room)
    if changes:
        parts.append("## The changes\nReview these lines; read around them where needed.\n" + changes)
    return "\n\n".join(parts), shown


def _names(target: Target) -> str:
    names = list(target.files[:MOST_NAMES])
    more = [f"… and {len(target.files) - MOST_NAMES} more; they are named as you go on"]
    return "\n".join(names + (more if len(target.files) > MOST_NAMES else []))


def _checks(checks: Sequence[Check]) -> str:
    return "\n\n".join(f"### {check.name} (severity {check.severity})\n{check.text}" for check in checks)


def _changes(target: Target, room: int) -> tuple[list[str], str]:
    shown: list[str] = []
    out: list[str] = []
    for path, diff in target.diffs.items():
        if len(diff.text) > room:
            out.append(f"(the change of {path} has {len(diff.text):,} characters: read the file)")
            room -= 100
            continue
        room -= len(diff.text)
        shown.append(path)
        out.append(diff.text.rstrip("\n"))
    return shown, "\n".join(out[:MOST_NAMES])


def not_read(files: Sequence[str], seen: Sequence[str]) -> str:
    """A line that names the next files that were not read yet; "" when all were."""
    known = set(seen)
    rest = [name for name in files if name not in known]
    if not rest:
        return ""
    more = f" and {len(rest) - NEXT_NAMES} more" if len(rest) > NEXT_NAMES else ""
    return f"Not read yet ({len(rest)} of {len(files)}): {', '.join(rest[:NEXT_NAMES])}{more}."
