"""The request that asks the agent to repair a finding: an ordinary turn, with the ordinary approvals."""

from __future__ import annotations

from pathlib import Path

from swecli.config.trust import project_root
from swecli.models.errors import BadInput
from swecli.models.finding import Finding


def repair_request(finding: Finding, here: Path) -> str:
    """What the agent, whose workspace is `here`, is asked. The finding's own words are quoted: material, not orders.

    Raises BadInput where the finding's file is no part of that workspace.
    """
    top, here = project_root(here), here.resolve()
    try:
        path = (top / finding.path).relative_to(here).as_posix()
    except ValueError as error:
        raise BadInput(
            f"{finding.id} is in {finding.path}, outside of this folder.", f"Start there: -C {top}"
        ) from error
    parts = [
        f"Repair the review finding {finding.id} in {path}, line {finding.line}"
        f"{f' to {finding.end_line}' if finding.end_line else ''}: {finding.code_smell_type} ({finding.severity}).",
        "Read the place first, since it may have moved. Change only what this finding needs, keep the behaviour "
        "otherwise, and say so if the finding is wrong. What the reviewer said:",
        _quoted(finding.message),
    ]
    parts += [f"Improvement:\n{_quoted(finding.improvement)}"] if finding.improvement else []
    parts += [f"Suggested replacement:\n{_quoted(finding.suggestion)}"] if finding.suggestion else []
    parts += [f"The code was:\n{_quoted(finding.anchor)}"] if finding.anchor else []
    return "\n\n".join(parts)


def _quoted(text: str) -> str:
    # an @ would be read as a file the user mentions
    return "\n".join(f"> {line}" for line in text.replace("@", "@ ").split("\n"))
