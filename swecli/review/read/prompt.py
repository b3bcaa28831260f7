"""What a review's model is sent: a system message that is the same for every part and push, and a message a part."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from swecli.models.finding import SMELLS, Finding
from swecli.review.read.linter_hints import Hint
from swecli.review.read.project_rules import Rule
from swecli.review.target.plan import Part, part_text

MOST_KNOWN = 40  # findings named in one message
_FILE = Path(__file__).parent / "prompts" / "review.md"


def system_prompt(rules: Sequence[Rule]) -> str:
    """The system message, which no window moves. Its length does not grow with the number of files."""
    smells = "\n".join(f"- {name}: {what}" for name, what in SMELLS.items())
    text = _FILE.read_text(encoding="utf-8").strip().replace("{smells}", smells)
    if not rules:
        return text
    own = "\n\n".join(f"### {rule.name} (severity {rule.severity})\n{rule.text}" for rule in rules)
    return f'{text}\n\n## The project\'s own checks (kind "check", code_smell_type its name)\n{own}'


def part_message(part: Part, of: int, label: str, hints: Sequence[Hint], known: Sequence[Finding]) -> str:
    """The message that asks for a part: its lines, what tools say of its files, and what is known of them."""
    texts = [part_text(part, of, label)]
    lines = [hint.line() for hint in hints if hint.path in part.paths]
    if lines:
        texts.append("\n".join(["Leads from tools, not from a reviewer; look at each before you report it:", *lines]))
    if known:
        head = "Known, not to be reported again; where a reason no longer holds, report it with same_as:"
        texts.append("\n".join([head, *map(_line, known[:MOST_KNOWN])]))
    texts.append(f"End this part with report_findings(part={part.number}, done=true, findings=[...]).")
    return "\n\n".join(texts)


def _line(finding: Finding) -> str:
    reason = f" ({finding.reason[:160]})" if finding.reason else ""
    words = " ".join(finding.message.split())[:120]
    return f"- {finding.id} {finding.place} {finding.code_smell_type} {finding.state}{reason}: {words}"
