"""The prompts of a review, and the project's own rules in them. For a change that is compared with a commit the rules
are that commit's, so that no change can instruct its own reviewer."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path, PurePosixPath

from swecli.models.errors import BadInput
from swecli.models.finding import SMELLS, Finding
from swecli.review.target.plan import Part
from swecli.tools.git import run_git

_PROMPT = Path(__file__).parent / "prompts" / "review.md"
_MAX_KNOWN = 40  # findings listed in one message
_FOLDER, _REVIEW, _AGENTS = ".agents/checks", ".agents/REVIEW.md", "AGENTS.md"
MAX_RULES = 12_000  # characters of all rules together
_MAX_CHECKS = 50


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule of the project, named by its file; front matter is part of its text."""

    name: str
    text: str


def build_system_prompt(rules: Sequence[Rule]) -> str:
    """Return the system message, which is the same for every part and push."""
    smells = "\n".join(f"- {name}: {what}" for name, what in SMELLS.items())
    text = _PROMPT.read_text(encoding="utf-8").strip().replace("{smells}", smells)
    if not rules:
        return text
    own = "\n\n".join(f"### {rule.name}\n{rule.text}" for rule in rules)
    return f'{text}\n\n## The project\'s own checks (kind "check", code_smell_type its name)\n{own}'


def build_part_message(part: Part, of: int, label: str, leads: Sequence[str], known: Sequence[Finding]) -> str:
    """Return the message that asks to review a part: its lines, measures in its files, and their known findings."""
    text = [f"Part {part.number} of {of} of the review of {label}. Review these lines; read around them where needed."]
    for path, hunks in groupby(part.hunks, key=lambda hunk: hunk.path):
        listed = list(hunks)
        title = f"## {path}{f' (renamed from {listed[0].old_path})' if listed[0].old_path else ''}"
        text.append(title.replace("\n", " "))  # a file's name may contain line breaks
        text += [f"{hunk.id}, {hunk.text}" for hunk in listed]
    texts = ["\n".join(text)]
    if leads:
        head = "Leads from tools, not from a reviewer; look at each before you report it:"
        texts.append("\n".join([head, *(f"- measured: {lead}" for lead in leads)]))
    if known:
        head = "Known, not to be reported again; where a reason no longer holds, report it with same_as:"
        texts.append("\n".join([head, *map(_format_known, known[:_MAX_KNOWN])]))
    texts.append(f"End this part with report_findings(part={part.number}, done=true, findings=[...]).")
    return "\n\n".join(texts)


def _format_known(finding: Finding) -> str:
    reason = f" ({finding.reason[:160]})" if finding.reason else ""
    words = " ".join(finding.message.split())[:120]
    return f"- {finding.id} {finding.place} {finding.code_smell_type} {finding.state}{reason}: {words}"


def load_rules(
    root: Path, paths: Iterable[str], base: str = "", environ: Mapping[str, str] | None = None
) -> tuple[list[Rule], list[str]]:
    """Return the rules for these files as of the commit `base` ("": the work tree), and a line for each rule that is
    truncated or cannot be used."""
    if base and _read(root, "", base, environ) is None:
        hint = f"git fetch --depth=1 origin {base}"
        return [], [f"{base[:12]} is not in this clone: its rules are not used (fetch it: {hint})"]
    folders = {parent for path in paths for parent in PurePosixPath(path).parents}
    by_depth = sorted(folders, key=lambda folder: (len(folder.parts), folder))
    agents = [(folder / _AGENTS).as_posix() for folder in by_depth]
    found, notes, room = list[Rule](), list[str](), MAX_RULES
    for where in [_REVIEW, *agents, *_list_checks(root, base, environ)]:
        text = _read(root, where, base, environ)
        if text is None:
            continue
        text = text.strip()
        if "\0" in text or "\ufffd" in text or not text:
            notes.append(f"{where} {'cannot be read as text' if text else 'is empty'} and is not used")
            continue
        if len(text) > room:
            notes.append(f"{where} is truncated to {room:,} characters: all rules have {MAX_RULES:,}")
        if room > 0:
            found.append(Rule(PurePosixPath(where).stem if where.startswith(_FOLDER) else where, text[:room]))
        room = max(0, room - len(text))
    return found, notes


def _list_checks(root: Path, base: str, environ: Mapping[str, str] | None) -> list[str]:
    if base:  # git prints a tree as a title, an empty line and the names
        listed = (_read(root, _FOLDER, base, environ) or "").partition("\n\n")[2].split("\n")
    else:
        listed = [path.name for path in (root / _FOLDER).glob("*.md")]
    return [f"{_FOLDER}/{name}" for name in sorted(listed) if name.endswith(".md")][:_MAX_CHECKS]


def _read(root: Path, where: str, base: str, environ: Mapping[str, str] | None) -> str | None:
    """Return the text of a file (of a folder in a commit: its listing); None if it is missing or a link."""
    path = root / where
    with suppress(BadInput, OSError):
        if base:
            return run_git(root, "show", f"{base}:{where}", environ=environ)
        return None if path.is_symlink() or not path.is_file() else path.read_text("utf-8-sig", errors="replace")
    return None
