"""What a project brings along: its AGENTS.md from its root down; and skills, folders with a SKILL.md: the system
message lists their names and descriptions, a tool reads their texts."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

from swecli.config.paths import project_root
from swecli.config.settings import Start
from swecli.context.budget import is_lean

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
INSTRUCTION_FILES = ("AGENTS.md", "CLAUDE.md")
_MOST_INSTRUCTIONS = 32_768  # characters
_TAG = re.compile(r"<(?=\s*/?\s*project_file)", re.IGNORECASE)
_INSTRUCTIONS_HEAD = (
    "## Project instructions\n"
    "Written by the people of this project. Later ones are nearer to the working directory and win where they "
    "disagree; the user's words win over all of them."
)


@dataclass(frozen=True, slots=True)
class Instructions:
    """What a prompt gets, "" for none; the files it was read from; lines the user should see."""

    text: str = ""
    files: list[Path] = field(default_factory=list)
    notices: list[str] = field(default_factory=list)


def load_instructions(
    cwd: Path, *, trusted: bool, trust_hint: str = "To use them, trust this folder.", limit: int = _MOST_INSTRUCTIONS
) -> Instructions:
    """Read the chain of instruction files for a working directory: from the nearest one with a `.git` down to `cwd`
    (only `cwd` where there is none), in each AGENTS.md, or CLAUDE.md where there is none. Never raises for a file.
    Without `trusted` nothing is read but named in a notice, ending with `trust_hint`. Of `limit` characters in all the
    nearest files get their share first; what is cut is marked in the text and in a notice."""
    cwd = cwd.resolve()
    root = project_root(cwd)
    folders = [folder for folder in (cwd, *cwd.parents) if folder.is_relative_to(root)][::-1]
    chain = (next((f / name for name in INSTRUCTION_FILES if (f / name).exists()), None) for f in folders)
    found = [path for path in chain if path]  # one per directory
    if not trusted:
        listed = ", ".join(str(path.relative_to(root)) for path in found)
        notice = f"Project instructions ({listed}) are not read: this folder is not trusted. {trust_hint}"
        return Instructions(notices=[notice] if found else [])
    parts: list[str] = []
    notices: list[str] = []
    used: list[Path] = []
    for path in reversed(found):
        name = str(path.relative_to(root))
        text, notice = _read_within(path, root, limit)
        notices += [f"{name}: {notice}"] if notice else []
        if text:
            limit -= len(text)
            used.append(path)
            parts.append(f'<project_file path="{name}">\n{_TAG.sub("‹", text)}\n</project_file>')
    if not parts:
        return Instructions(notices=notices[::-1])
    return Instructions("\n".join([_INSTRUCTIONS_HEAD, *parts[::-1]]), used[::-1], notices[::-1])


def _read_within(path: Path, root: Path, limit: int) -> tuple[str, str]:
    """A file's text within `limit` characters, and what the user should know about it, or ""."""
    if not path.resolve().is_relative_to(root):
        return "", "not read: it is a link that leads out of the repository"
    try:
        with path.open(encoding="utf-8-sig", errors="replace") as file:
            text = file.read(limit + 1)
        size = path.stat().st_size
    except OSError as failure:
        return "", f"not read: {failure.strerror or failure}"
    if len(text) <= limit:
        return text.strip(), ""
    if limit <= 0:
        return "", f"left out ({size:,} bytes): the instructions nearer to the working directory fill the room"
    kept = text[:limit].rstrip()
    return f"{kept}\n[Cut here: the file is longer.]", f"only the first {limit:,} characters of {size:,} bytes are used"


@dataclass(frozen=True, slots=True)
class Project:
    """Prompt text, "" for none; each skill's SKILL.md by name; lines for the user."""

    text: str = ""
    skills: dict[str, Path] = field(default_factory=dict)
    notices: list[str] = field(default_factory=list)


def load_project(start: Start, *, trusted: bool, window: int | None) -> Project:
    """Read instruction files and skills; no skills for a model whose `window` has no room for their tool. Never raises
    for a file."""
    own = load_instructions(start.cwd, trusted=trusted, trust_hint="Run /trust to use it.")
    found = Project() if is_lean(window) else find_skills(start, trusted=trusted)
    text = "\n\n".join(part for part in (own.text, found.text) if part)
    return Project(text, found.skills, own.notices + found.notices)


def front_matter(text: str) -> tuple[dict[str, str], str]:
    """The fields between the `---` lines a text begins with, each on one line, and what comes after; none where it does
    not begin so."""
    front = _FRONT.match(text)
    if front is None:
        return {}, text
    fields = {name: _BLOCK.sub("", value.strip(), count=1) for name, value in _FIELD.findall(front[1])}
    return {name: " ".join(value.split()).strip("\"'") for name, value in fields.items()}, text[front.end() :]


def find_skills(start: Start, *, trusted: bool) -> Project:
    """The user's own skills, and those of the project where it is `trusted`. The first of a name counts. Never raises
    for a file: what is not used is named in a notice."""
    root, home = project_root(start.cwd), Path(start.environ.get("HOME") or "/")
    own = [start.paths.config / "skills", *(home / name for name in _FOLDERS)]
    theirs = [file for name in _FOLDERS for file in sorted((root / name).glob("*/SKILL.md"))]
    found, lines = Project(), list[str]()
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
        if found.skills.setdefault(name, file) == file:
            lines.append(line)
        elif not found.skills[name].samefile(file):
            found.notices.append(f"{shown} is not used: {found.skills[name].parent} has the same name {name}")
    kept = [line for at, line in enumerate(lines) if len("\n".join(lines[: at + 1]).encode()) <= _MOST]
    if len(kept) < len(lines):
        names = ", ".join(list(found.skills)[len(kept) :])
        found.notices.append(f"the list of skills is full: the model does not see {names}. Shorten descriptions")
    return Project("\n".join([_HEAD, *kept]) if kept else "", found.skills, found.notices)


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
