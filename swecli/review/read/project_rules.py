"""The project's own checks: `.agents/checks/*.md`, each a rule in words, with a name and a severity in front."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from swecli.models.finding import SEVERITIES

FOLDER = Path(".agents") / "checks"
LONGEST = 8_000  # characters of one check
MOST = 50
_FRONT = re.compile(r"\A---[ \t]*\n(?P<front>.*?)\n---[ \t]*(?:\n|\Z)", re.DOTALL)
_FIELD = re.compile(r"^(?P<key>[\w-]+)[ \t]*:[ \t]*(?P<value>.*?)[ \t]*$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule of the project. `severity` is what its findings have where nothing else is said."""

    name: str
    text: str
    severity: str = "medium"


def load_rules(root: Path) -> tuple[list[Rule], list[str]]:
    """The checks below a project's folder, by file name, and a line for each file that cannot be used."""
    folder, notes = root / FOLDER, list[str]()
    found: list[Rule] = []
    for path in sorted(folder.glob("*.md"))[: MOST + 1]:
        where = f"{FOLDER.as_posix()}/{path.name}"
        if len(found) >= MOST:
            notes.append(f"{where} and those behind it are left out: {MOST} checks at most")
            break
        if path.is_symlink() or not path.is_file():
            notes.append(f"{where} is no regular file and is not used")
            continue
        try:
            text = path.read_text(encoding="utf-8-sig")
        except (OSError, UnicodeDecodeError):
            notes.append(f"{where} cannot be read as text and is not used")
            continue
        rule = parse_rule(path.stem, text)
        if not rule.text:
            notes.append(f"{where} says nothing")
            continue
        if len(rule.text) > LONGEST:
            notes.append(f"{where} is cut at {LONGEST:,} characters")
            rule = Rule(rule.name, rule.text[:LONGEST], rule.severity)
        found.append(rule)
    return found, notes


def parse_rule(stem: str, text: str) -> Rule:
    """A check out of its file: front matter with `name`, `description` and `severity-default`, then the rule."""
    match = _FRONT.match(text.replace("\r\n", "\n"))
    fields = dict(_FIELD.findall(match["front"])) if match else {}
    body = text.replace("\r\n", "\n")[match.end() :] if match else text
    severity = _field(fields, "severity-default", "severity").lower()
    words = [_field(fields, "description"), body.strip()]
    return Rule(
        _field(fields, "name") or stem,
        "\n".join(word for word in words if word),
        severity if severity in SEVERITIES else "medium",
    )


def _field(fields: Mapping[str, str], *names: str) -> str:
    return next((fields[name].strip("\"' ") for name in names if fields.get(name)), "")
