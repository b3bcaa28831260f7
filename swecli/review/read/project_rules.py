"""The project's own rules for its reviewer: `.agents/checks/*.md`, `.agents/REVIEW.md` and AGENTS.md. Of a change that
is compared with a commit they are that commit's, so that no change can instruct its own reviewer."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath

from swecli.models.errors import BadInput
from swecli.models.finding import SEVERITIES
from swecli.tools.git import run_git

FOLDER, REVIEW, AGENTS = ".agents/checks", ".agents/REVIEW.md", "AGENTS.md"
LONGEST = 12_000  # characters of all rules together
MOST = 50
_FRONT = re.compile(r"\A---[ \t]*\n(?P<front>.*?)\n---[ \t]*(?:\n|\Z)", re.DOTALL)
_FIELD = re.compile(r"^(?P<key>[\w-]+)[ \t]*:[ \t]*(?P<value>.*?)[ \t]*$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule of the project. `severity` is what its findings have where nothing else is said."""

    name: str
    text: str
    severity: str = "medium"


def load_rules(
    root: Path, paths: Iterable[str], base: str = "", environ: Mapping[str, str] | None = None
) -> tuple[list[Rule], list[str]]:
    """The rules for these files as of the commit `base` ("": as they are now), and a line for each that is cut or
    cannot be used."""
    if base and _run(root, environ, "rev-parse", "--verify", "--quiet", f"{base}^{{commit}}") is None:
        return [], [
            f"{base[:12]} is not in this clone: its rules are not used (fetch it: git fetch --depth=1 origin {base})"
        ]
    folders = {parent for path in paths for parent in PurePosixPath(path).parents}
    agents = [
        (folder / AGENTS).as_posix() for folder in sorted(folders, key=lambda folder: (len(folder.parts), folder))
    ]
    found, notes, room = list[Rule](), list[str](), LONGEST
    for where in [REVIEW, *agents, *_checks(root, base, environ)]:
        text = _text(root, where, base, environ)
        if text is None:
            continue
        rule = parse_rule(PurePosixPath(where).stem if where.startswith(FOLDER) else where, text)
        if "\0" in text or "\ufffd" in text or not rule.text:
            notes.append(f"{where} {'says nothing' if not rule.text else 'cannot be read as text'} and is not used")
            continue
        if len(rule.text) > room:
            notes.append(f"{where} is cut at {room:,} characters: all rules have {LONGEST:,}")
        if room > 0:
            found.append(replace(rule, text=rule.text[:room]))
        room = max(0, room - len(rule.text))
    return found, notes


def _checks(root: Path, base: str, environ: Mapping[str, str] | None) -> list[str]:
    if base:
        # git lists a tree as a head, an empty line and the names
        listed = (_text(root, FOLDER, base, environ) or "").partition("\n\n")[2].split("\n")
    else:
        listed = [path.name for path in (root / FOLDER).glob("*.md")]
    return [f"{FOLDER}/{name}" for name in sorted(listed) if name.endswith(".md")][:MOST]


def _text(root: Path, where: str, base: str, environ: Mapping[str, str] | None) -> str | None:
    """A rule's file; None where there is none, or only a link."""
    if base:
        return _run(root, environ, "show", f"{base}:{where}")
    path = root / where
    try:
        return None if path.is_symlink() or not path.is_file() else path.read_text("utf-8-sig", errors="replace")
    except OSError:
        return None


def _run(root: Path, environ: Mapping[str, str] | None, *words: str) -> str | None:
    try:
        return run_git(root, *words, environ=environ)
    except BadInput:
        return None


def parse_rule(stem: str, text: str) -> Rule:
    """A rule out of its file: front matter with `name`, `description` and `severity-default`, then the rule."""
    text = text.replace("\r\n", "\n")
    match = _FRONT.match(text)
    fields = dict(_FIELD.findall(match["front"])) if match else {}
    given = {name: value.strip("\"' ") for name, value in fields.items()}
    severity = (given.get("severity-default") or given.get("severity") or "").lower()
    words = [given.get("description", ""), text[match.end() if match else 0 :].strip()]
    kept = "\n".join(word for word in words if word)
    return Rule(given.get("name") or stem, kept, severity if severity in SEVERITIES else "medium")
