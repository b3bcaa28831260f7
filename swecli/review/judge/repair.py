"""Prepares the repair of a finding: the prompt that asks for it, or the edit that applies its suggestion."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from swecli.models.errors import BadInput
from swecli.models.finding import Finding
from swecli.models.message import ToolCall
from swecli.review.judge.grounding import move
from swecli.review.judge.ledger import recheck_finding
from swecli.review.judge.sources import Source, project_sources
from swecli.tools.builtin.edit_file import edit_file

_REVIEW_HINT = "Review the file again, or let the agent repair it: /review --fix"


def build_repair_prompt(finding: Finding, workspace: Path) -> str:
    """Return the prompt that asks the agent of this workspace to repair a finding. The finding's own text is quoted as
    material. Raises BadInput where its file is not in the workspace."""
    lines = f"line {finding.line}" + (f" to {finding.end_line}" if finding.end_line else "")
    place = f"{_workspace_path(workspace, finding)}, {lines}"
    paragraphs = [
        f"Repair the review finding {finding.id} in {place}: {finding.code_smell_type} ({finding.severity}).",
        "Read the place first, since it may have moved. Change only what this finding needs, keep the behaviour "
        "otherwise, and say so if the finding is wrong. What the reviewer said:",
        _quote(finding.message),
    ]
    for label, text in (
        ("Improvement", finding.improvement),
        ("Suggested replacement", finding.suggestion),
        ("The code was", finding.anchor),
    ):
        if text:
            paragraphs.append(f"{label}:\n{_quote(text)}")
    return "\n\n".join(paragraphs)


def build_suggestion_edit(finding: Finding, workspace: Path) -> tuple[ToolCall, Finding]:
    """Return the edit that replaces the finding's lines by its suggestion, with enough lines around them to be unique,
    and the finding as it is after that edit. Raises BadInput without a suggestion, if the lines have changed, or if a
    Python file could no longer be parsed."""
    sources = project_sources(workspace)
    present = recheck_finding(finding, sources)
    source = sources.get(finding.path)
    first = present.line
    last = present.end_line or present.line
    lines = source.lines
    if not finding.suggestion:
        hint = f"Let the agent repair it: /review --fix {finding.id}"
        raise BadInput(f"{finding.id} has no suggestion to apply.", hint)
    is_there = present.state in ("open", "regressed") and present.path == finding.path
    has_lines = 1 <= first <= last <= len(lines)
    has_length = last - first == (finding.end_line or finding.line) - finding.line
    if not (is_there and has_lines and has_length):
        problem = f"{finding.id} is {present.status}: its code has changed since the review."
        raise BadInput(problem, _REVIEW_HINT)
    path = _workspace_path(workspace, finding)
    new = finding.suggestion.split("\n")
    after = (*lines[: first - 1], *new, *lines[last:])
    if after == lines:
        hint = f"/findings check {finding.id}"
        raise BadInput(f"The suggestion of {finding.id} equals the present code.", hint)
    if source.tree is not None and Source(path, after).tree is None:
        problem = f"With that {path} would not be valid Python: nothing was changed."
        raise BadInput(problem, _REVIEW_HINT)
    whole = "\n".join([*lines, ""])
    above = first - 1
    below = last
    old = "\n".join(lines[above:below])
    while (above or below < len(lines)) and (not old or whole.find(old) != whole.rfind(old)):
        above = max(0, above - 1)
        below = min(len(lines), below + 1)
        old = "\n".join(lines[above:below])
    text = "\n".join([*lines[above : first - 1], *new, *lines[last:below]])
    edit = {"path": path, "edits": [{"old_text": old, "new_text": text}]}
    applied = move(present, "vanished", "its suggestion was applied")
    applied = replace(applied, end_line=first + len(new) - 1)
    return ToolCall(f"apply_{finding.id}", edit_file.name, edit), applied


def _workspace_path(workspace: Path, finding: Finding) -> str:
    """Return the finding's path relative to the workspace. Raises BadInput where it is outside."""
    root = project_sources(workspace).root
    workspace = workspace.resolve()
    try:
        return (root / finding.path).relative_to(workspace).as_posix()
    except ValueError as error:
        problem = f"{finding.id} is in {finding.path}, outside of this folder."
        raise BadInput(problem, f"Start there: -C {root}") from error


def _quote(text: str) -> str:
    # with a space behind it, an @ does not mention a file
    return "\n".join(f"> {line}" for line in text.replace("@", "@ ").split("\n"))
