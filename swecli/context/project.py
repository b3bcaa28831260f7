"""Loads a project's instruction files (AGENTS.md) and skills: the system message lists names and descriptions of
skills, a tool reads their texts."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from pathlib import Path

from swecli.config.paths import project_root
from swecli.config.project_files import (
    find_instructions,
    find_skill_files,
    is_inside,
    skill_files_in,
)
from swecli.config.settings import Start
from swecli.config.trust import FolderTrust, Skill
from swecli.context.budget import is_lean
from swecli.regular_files import decode_text, read_regular
from swecli.text import truncate

_MAX_LIST = 6_000  # bytes: about 1,500 tokens
_MAX_DESCRIPTION = 400  # characters
_HEAD = (
    "## Skills\nInstructions for certain tasks. When the task at hand is one of them, read it first: skill(name). "
    "The user's words win over them."
)
_FRONT = re.compile(r"\ufeff?---[ \t]*\n(.*?)^---[ \t]*(?:\n|\Z)", re.DOTALL | re.MULTILINE)
_FIELD = re.compile(
    r"^([\w-]+):(.*(?:\n(?:[ \t].*)?$)*)", re.MULTILINE
)  # continued by indented and empty lines
_BLOCK = re.compile(r"[>|][+-]?(?=\s|\Z)")
_MAX_INSTRUCTIONS = 32_768  # characters
_TAG = re.compile(r"<(?=\s*/?\s*project_file)", re.IGNORECASE)
_INSTRUCTIONS_HEAD = (
    "## Project instructions\n"
    "Written by the people of this project. Later ones are nearer to the working directory and win where they "
    "disagree; the user's words win over all of them."
)


@dataclass(frozen=True, slots=True)
class Project:
    """Prompt text ("" for none), notices for the user, the instruction files, and skills by name."""

    text: str = ""
    notices: list[str] = field(default_factory=list)
    files: list[Path] = field(default_factory=list)
    skills: dict[str, Skill] = field(default_factory=dict)


def load_instructions(cwd: Path, trust: FolderTrust, *, limit: int = _MAX_INSTRUCTIONS) -> Project:
    """Read the instruction files for a working directory: AGENTS.md, or else CLAUDE.md, in each folder from the nearest
    one with a `.git` down to `cwd`, or in `cwd` alone. Never raises for a file.

    If the folder is not trusted the files are only named in a notice, and so is each one that has changed since.
    `limit` is the total in characters: the nearest files are read first, truncation is marked in the text and in a
    notice."""
    cwd = cwd.resolve()
    root = project_root(cwd)
    found = find_instructions(cwd)
    if not trust.is_trusted:
        listed = ", ".join(str(path.relative_to(root)) for path in found)
        notice = f"Project instructions ({listed}) are not read: this folder is not trusted. Run /trust to use them."
        return Project(notices=[notice] if found else [])
    parts: list[str] = []
    notices: list[str] = []
    used: list[Path] = []
    for path in reversed(found):
        name = str(path.relative_to(root))
        text, notice = _read_within(path, root, trust, limit)
        notices += [f"{name}: {notice}"] if notice else []
        if text:
            limit -= len(text)
            used.append(path)
            parts.append(f'<project_file path="{name}">\n{_TAG.sub("‹", text)}\n</project_file>')
    if not parts:
        return Project(notices=notices[::-1])
    return Project("\n".join([_INSTRUCTIONS_HEAD, *parts[::-1]]), notices[::-1], used[::-1])


def _read_within(path: Path, root: Path, trust: FolderTrust, limit: int) -> tuple[str, str]:
    """Return a file's text within `limit` characters, and a notice or ""."""
    if not is_inside(path, root):
        return "", "not read: it is a link that leads out of the repository"
    try:
        data = read_regular(path)
    except OSError as failure:
        return "", f"not read: {failure.strerror or failure}"
    if problem := trust.objection(path, data):
        return "", f"not used: {problem}"
    text = decode_text(data)
    size = len(data)
    if len(text) <= limit:
        return text.strip(), ""
    if limit <= 0:
        return (
            "",
            f"left out ({size:,} bytes): instructions nearer to the working directory use up the limit",
        )
    kept = text[:limit].rstrip()
    return (
        f"{kept}\n[Cut here: the file is longer.]",
        f"only the first {limit:,} characters of {size:,} bytes are used",
    )


def load_project(start: Start, trust: FolderTrust, *, window: int | None) -> Project:
    """Read instruction files and skills; no skills if the model's `window` has no room for their tool. Never raises for
    a file."""
    own = load_instructions(start.cwd, trust)
    found = Project() if is_lean(window) else find_skills(start, trust)
    text = "\n\n".join(part for part in (own.text, found.text) if part)
    return Project(text, own.notices + found.notices, own.files, found.skills)


def front_matter(text: str) -> tuple[dict[str, str], str]:
    """Parse the fields between the `---` lines at the start of a text. Returns them with one-line values, and the rest
    of the text; no fields if there is no front matter."""
    front = _FRONT.match(text)
    if front is None:
        return {}, text
    fields = {
        name: _BLOCK.sub("", value.strip(), count=1) for name, value in _FIELD.findall(front[1])
    }
    return {name: " ".join(value.split()).strip("\"'") for name, value in fields.items()}, text[
        front.end() :
    ]


def find_skills(start: Start, trust: FolderTrust) -> Project:
    """Find the user's own skills, and the project's as far as they are trusted. The first of a name is used. Never
    raises for a file: those that are not used are named in a notice."""
    root, home = project_root(start.cwd), Path(start.environ.get("HOME") or "/")
    own = [*skill_files_in(start.paths.config / "skills"), *find_skill_files(home)]
    theirs = find_skill_files(root)
    found, lines = Project(), list[str]()
    if theirs and not trust.is_trusted:
        found.notices.append(
            "Skills of this project are not used: this folder is not trusted. Run /trust to use them."
        )
        theirs = []
    for file in [*own, *theirs]:
        shown = (
            str(file.relative_to(root))
            if file in theirs
            else f"{file}".replace(f"{home}/", "~/", 1)
        )
        try:
            skill, line = _parse_skill(file, trust if file in theirs else None)
        except (OSError, RuntimeError, ValueError) as error:  # circular links raise RuntimeError
            found.notices.append(
                f"{shown} is not used: {getattr(error, 'strerror', None) or error}"
            )
            continue
        first = found.skills.setdefault(skill.name, skill)
        if first is skill:
            lines.append(line)
        elif not first.file.samefile(file):
            found.notices.append(
                f"{shown} is not used: {first.file.parent} has the same name {skill.name}"
            )
    kept = [
        line
        for at, line in enumerate(lines)
        if len("\n".join(lines[: at + 1]).encode()) <= _MAX_LIST
    ]
    if len(kept) < len(lines):
        names = ", ".join(list(found.skills)[len(kept) :])
        found.notices.append(
            f"the list of skills is full: the model does not see {names}. Shorten descriptions"
        )
    return replace(found, text="\n".join([_HEAD, *kept]) if kept else "")


def _parse_skill(file: Path, trust: FolderTrust | None) -> tuple[Skill, str]:
    """Return a skill and its line in the list. The file of a project may not be a link that leads out, and must be
    trusted as it is. Raises OSError, RuntimeError, or ValueError with the problem."""
    if trust is not None and not is_inside(file, trust.root):
        raise ValueError("it is a link that leads out of the project")
    data = read_regular(file)
    problem = trust.objection(file, data) if trust is not None else ""
    if problem:
        raise ValueError(problem)
    fields, _ = front_matter(decode_text(data))
    name, description = fields.get("name", ""), fields.get("description", "")
    if not fields or not name or not description:
        raise ValueError("missing front matter (`---` lines around name: and description:)")
    if not re.fullmatch(r"[\w-]{1,64}", name):
        raise ValueError(f"its name {name[:80]!r} is invalid: use letters, digits, - and _")
    return Skill(name, file, trust), f"- {name}: {truncate(description, _MAX_DESCRIPTION)}"
