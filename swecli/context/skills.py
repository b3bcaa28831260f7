"""Skills: folders with a SKILL.md. The system message lists their names and descriptions; a tool reads their texts."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

from swecli.config.load import Start
from swecli.config.paths import project_root
from swecli.context.budget import is_lean
from swecli.context.system_message import load_instructions

_FOLDERS = (".agents/skills", ".claude/skills")
_MOST = 6_000  # bytes of the list: about 1,500 tokens
_LONGEST = 400  # characters of a description
_READ = 65_536  # characters in which front matter is looked for
_HEAD = (
    "## Skills\nInstructions for certain tasks. When the task at hand is one of them, read it first: skill(name). "
    "The user's words win over them."
)
_FRONT = re.compile(r"\ufeff?---[ \t]*\n(.*?)^---[ \t]*(?:\n|\Z)", re.DOTALL | re.MULTILINE)
_FIELD = re.compile(r"^([\w-]+):(.*(?:\n(?:[ \t].*)?$)*)", re.MULTILINE)  # indented and empty lines go on with it
_BLOCK = re.compile(r"[>|][+-]?(?=\s|\Z)")


@dataclass(frozen=True, slots=True)
class Skills:
    """The list as the prompt has it, "" for none; each one's SKILL.md by name; lines the user should see."""

    text: str = ""
    files: dict[str, Path] = field(default_factory=dict)
    notices: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Project:
    """What a project and the user's own skills bring along: prompt text, "" for none; skills by name; lines for the
    user."""

    text: str
    skills: dict[str, Path]
    notices: list[str]


def load_project(start: Start, *, trusted: bool, window: int | None) -> Project:
    """Read instruction files and skills; no skills for a model whose `window` has no room for their tool. Never raises
    for a file."""
    own = load_instructions(start.cwd, trusted=trusted, trust_hint="Run /trust to use it.")
    skills = Skills() if is_lean(window) else find_skills(start, trusted=trusted)
    text = "\n\n".join(part for part in (own.text, skills.text) if part)
    return Project(text, skills.files, own.notices + skills.notices)


def front_matter(text: str) -> tuple[dict[str, str], str]:
    """The fields between the `---` lines a text begins with, each on one line, and what comes after; none where it does
    not begin so."""
    front = _FRONT.match(text)
    if front is None:
        return {}, text
    fields = {name: _BLOCK.sub("", value.strip(), count=1) for name, value in _FIELD.findall(front[1])}
    return {name: " ".join(value.split()).strip("\"'") for name, value in fields.items()}, text[front.end() :]


def find_skills(start: Start, *, trusted: bool) -> Skills:
    """The user's own skills, and those of the project where it is `trusted`. The first of a name counts. Never raises
    for a file: what is not used is named in a notice."""
    root, home = project_root(start.cwd), Path(start.environ.get("HOME") or "/")
    own = [start.paths.config / "skills", *(home / name for name in _FOLDERS)]
    theirs = [file for name in _FOLDERS for file in sorted((root / name).glob("*/SKILL.md"))]
    found, lines = Skills(), list[str]()
    if theirs and not trusted:
        found.notices.append("Skills of this project are not used: this folder is not trusted. Run /trust to use them.")
        theirs = []
    for file in [*(file for folder in own for file in sorted(folder.glob("*/SKILL.md"))), *theirs]:
        shown = str(file.relative_to(root)) if file in theirs else f"{file}".replace(f"{home}/", "~/", 1)
        try:
            name, line = _described(file, root if file in theirs else None)
        except (OSError, RuntimeError, ValueError) as error:  # a circle of links is a RuntimeError
            found.notices.append(f"{shown} is not used: {getattr(error, 'strerror', None) or error}")
            continue
        if found.files.setdefault(name, file) == file:
            lines.append(line)
        elif not found.files[name].samefile(file):
            found.notices.append(f"{shown} is not used: {found.files[name].parent} has the same name {name}")
    kept = [line for at, line in enumerate(lines) if len("\n".join(lines[: at + 1]).encode()) <= _MOST]
    if len(kept) < len(lines):
        names = ", ".join(list(found.files)[len(kept) :])
        found.notices.append(f"the list of skills is full: the model does not see {names}. Shorten descriptions")
    return Skills("\n".join([_HEAD, *kept]) if kept else "", found.files, found.notices)


def _described(file: Path, top: Path | None) -> tuple[str, str]:
    """A skill's name and its line in the list; `top` is the folder that no link may lead out of. Raises OSError,
    RuntimeError, and ValueError with what is wrong."""
    if top is not None and not file.resolve().is_relative_to(top):
        raise ValueError("it is a link that leads out of the project")
    with file.open(encoding="utf-8-sig", errors="replace") as opened:
        fields, _ = front_matter(opened.read(_READ))
    name, description = fields.get("name", ""), fields.get("description", "")
    if not fields or not name or not description:
        raise ValueError("it does not begin with front matter (`---` lines around name: and description:)")
    if not re.fullmatch(r"[\w-]{1,64}", name):
        raise ValueError(f"its name {name[:80]!r} is more than letters, digits, - and _")
    cut = description if len(description) <= _LONGEST else f"{description[: _LONGEST - 1]}…"
    return name, f"- {name}: {cut}"
