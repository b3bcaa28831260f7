"""A finding repaired: by the agent in an ordinary turn, or by putting its suggestion in place, without a model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from swecli.config.trust import project_root
from swecli.models.errors import BadInput
from swecli.models.finding import Finding
from swecli.models.message import ToolCall
from swecli.review.judge.grounding import move, move_by_user
from swecli.review.judge.ledger import rechecked
from swecli.review.judge.sources import Sources, parse


def repair_request(finding: Finding, here: Path) -> str:
    """What the agent, whose workspace is `here`, is asked. The finding's own words are quoted: material, not orders.

    Raises BadInput where the finding's file is no part of that workspace.
    """
    parts = [
        f"Repair the review finding {finding.id} in {_from(here, finding)}, line {finding.line}"
        f"{f' to {finding.end_line}' if finding.end_line else ''}: {finding.code_smell_type} ({finding.severity}).",
        "Read the place first, since it may have moved. Change only what this finding needs, keep the behaviour "
        "otherwise, and say so if the finding is wrong. What the reviewer said:",
        _quoted(finding.message),
    ]
    parts += [f"Improvement:\n{_quoted(finding.improvement)}"] if finding.improvement else []
    parts += [f"Suggested replacement:\n{_quoted(finding.suggestion)}"] if finding.suggestion else []
    parts += [f"The code was:\n{_quoted(finding.anchor)}"] if finding.anchor else []
    return "\n\n".join(parts)


def apply_suggestion(finding: Finding, here: Path) -> tuple[ToolCall, Finding]:
    """The call that puts the suggestion in the place of the finding's lines, and the finding once that is done.

    The finding is then gone, which is not verified, and holds the lines that were there. `here` is the workspace.

    Raises BadInput where there is no suggestion, the lines are not there as they were reviewed, or a Python file could
    no longer be parsed.
    """
    sources = Sources(project_root(here))
    now, lines = rechecked(finding, sources), sources.get(finding.path).lines
    length = (finding.end_line or finding.line) - finding.line + 1
    if not finding.suggestion:
        raise BadInput(f"{finding.id} has no suggestion to apply.", f"Let the agent repair it: /review --fix {now.id}")
    if now.state not in ("open", "regressed") or now.path != finding.path or now.line < 1:
        raise BadInput(f"{now.id} is {now.standing}: its code is not there as it was reviewed.", _REVIEW)
    first, last = now.line, now.line + length - 1
    if last != (now.end_line or now.line) or last > len(lines):
        raise BadInput(f"The lines of {now.id} are not those that were reviewed.", _REVIEW)
    new = finding.suggestion.split("\n")
    call = _edit(now, here, lines, (first, last), new)
    after = move(now, "applied", "its suggestion was applied")
    return call, replace(after, end_line=first + len(new) - 1, replaced="\n".join(lines[first - 1 : last]))


def take_back(finding: Finding, here: Path) -> tuple[ToolCall, Finding]:
    """The call that puts the lines back that an applied suggestion replaced, and the finding, open, once that is done.

    Raises BadInput where nothing was applied, or the suggestion does not stand in its file any more.
    """
    if finding.replaced is None:
        raise BadInput(f"No suggestion of {finding.id} was applied.", "See: /findings show")
    lines, new = Sources(project_root(here)).get(finding.path).lines, finding.suggestion.split("\n")
    starts = [n for n in range(1, len(lines) - len(new) + 2) if list(lines[n - 1 : n - 1 + len(new)]) == new]
    if not starts:
        raise BadInput(f"The suggestion of {finding.id} stands in {finding.path} no more.", "Change the file by hand.")
    first, old = min(starts, key=lambda start: abs(start - finding.line)), finding.replaced.split("\n")
    call = _edit(finding, here, lines, (first, first + len(new) - 1), old)
    back = finding if finding.state == "open" else move_by_user(finding, "open", "its suggestion was taken back")
    return call, replace(back, line=first, end_line=first + len(old) - 1, replaced=None)


_REVIEW = "Review the file again, or let the agent repair it: /review --fix"


def _edit(finding: Finding, here: Path, lines: Sequence[str], place: tuple[int, int], new: Sequence[str]) -> ToolCall:
    """The call of the edit tool for whole lines; lines around them are added until the text stands there once."""
    path, (first, last) = _from(here, finding), place
    after = [*lines[: first - 1], *new, *lines[last:]]
    if parse(path, lines) is not None and parse(path, after) is None:
        raise BadInput(f"With that {path} is no Python any more: nothing was changed.", _REVIEW)
    whole, above, below = "\n".join([*lines, ""]), first - 1, last
    while above or below < len(lines):
        old = "\n".join(lines[above:below])
        if old and whole.find(old) == whole.rfind(old):
            break
        above, below = max(0, above - 1), min(len(lines), below + 1)
    old, text = "\n".join(lines[above:below]), "\n".join([*lines[above : first - 1], *new, *lines[last:below]])
    if old == text:
        raise BadInput(f"The suggestion of {finding.id} is the code as it is.", f"/findings check {finding.id}")
    return ToolCall(f"apply_{finding.id}", "edit_file", {"path": path, "edits": [{"old_text": old, "new_text": text}]})


def _from(here: Path, finding: Finding) -> str:
    """The finding's path as seen from the workspace. Raises BadInput where it is outside."""
    top, here = project_root(here), here.resolve()
    try:
        return (top / finding.path).relative_to(here).as_posix()
    except ValueError as error:
        raise BadInput(
            f"{finding.id} is in {finding.path}, outside of this folder.", f"Start there: -C {top}"
        ) from error


def _quoted(text: str) -> str:
    # an @ would be read as a file the user mentions
    return "\n".join(f"> {line}" for line in text.replace("@", "@ ").split("\n"))
