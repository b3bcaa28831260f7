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
from swecli.regular_files import read_regular
from swecli.text import count_hidden, decode_text, truncate

_MAX_SKILL_LIST = 6_000  # bytes: about 1,500 tokens
_MAX_DESCRIPTION = 400  # characters
_MAX_NAMED = 5  # of the skills that are not used: more than anybody breaks in one go, few enough for a start's lines
_SKILLS_TITLE = (
    "## Skills\nInstructions for certain tasks. When the task at hand is one of them, read it first: skill(name). "
    "The user's words win over them."
)
_FRONT_MATTER = re.compile(r"\ufeff?---[ \t]*\n(.*?)^---[ \t]*(?:\n|\Z)", re.DOTALL | re.MULTILINE)
# A field continues in indented and empty lines.
_FIELD = re.compile(r"^([\w-]+):(.*(?:\n(?:[ \t].*)?$)*)", re.MULTILINE)
_BLOCK_MARK = re.compile(r"[>|][+-]?(?=\s|\Z)")  # before a value of several lines
_MAX_INSTRUCTIONS = 32_768  # characters
_TAG = re.compile(r"<(?=\s*/?\s*project_file)", re.IGNORECASE)
_INSTRUCTIONS_TITLE = (
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
    paths = find_instructions(cwd)
    if not paths:
        return Project()
    if not trust.is_trusted:
        names = ", ".join(str(path.relative_to(root)) for path in paths)
        notice = f"Project instructions ({names}) are not read: this folder is not trusted. Run /trust to use them."
        return Project(notices=[notice])
    # the nearest first; all three lists are turned round at the end
    texts: list[str] = []
    notices: list[str] = []
    files: list[Path] = []
    for path in reversed(paths):
        name = str(path.relative_to(root))
        text, notice = _read_within(path, root, trust, limit)
        if notice:
            notices.append(f"{name}: {notice}")
        if text:
            limit -= len(text)
            files.append(path)
            texts.append(f'<project_file path="{name}">\n{_TAG.sub("‹", text)}\n</project_file>')
    title = [_INSTRUCTIONS_TITLE] if texts else []
    return Project("\n".join([*title, *texts[::-1]]), notices[::-1], files[::-1])


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
    hidden = count_hidden(data.decode("utf-8", "replace"))
    left_out = f"{hidden:,} invisible characters are left out" if hidden else ""
    if len(text) <= limit:
        return text.strip(), left_out
    if limit <= 0:
        notice = "instructions nearer to the working directory use up the limit"
        return "", f"left out ({size:,} bytes): {notice}"
    notice = f"only the first {limit:,} characters of {size:,} bytes are used"
    if left_out:
        notice += f", {left_out}"
    return f"{text[:limit].rstrip()}\n[Cut here: the file is longer.]", notice


def load_project(start: Start, trust: FolderTrust, *, window: int | None) -> Project:
    """Read instruction files and skills; no skills if the model's `window` has no room for their tool. Never raises for
    a file."""
    project = load_instructions(start.cwd, trust)
    if is_lean(window):
        return project
    skills = find_skills(start, trust)
    text = "\n\n".join(part for part in (project.text, skills.text) if part)
    return Project(text, project.notices + skills.notices, project.files, skills.skills)


def front_matter(text: str) -> tuple[dict[str, str], str]:
    """Parse the fields between the `---` lines at the start of a text. Returns them with one-line values, and the rest
    of the text; no fields if there is no front matter."""
    front_matter = _FRONT_MATTER.match(text)
    if front_matter is None:
        return {}, text
    fields: dict[str, str] = {}
    for name, value in _FIELD.findall(front_matter[1]):
        words = _BLOCK_MARK.sub("", value.strip(), count=1).split()
        fields[name] = " ".join(words).strip("\"'")
    return fields, text[front_matter.end() :]


def find_skills(start: Start, trust: FolderTrust) -> Project:
    """Find the user's own skills, and the project's as far as they are trusted. The first of a name is used. Never
    raises for a file: those that are not used are named in a notice."""
    root = project_root(start.cwd)
    home = Path(start.environ.get("HOME") or "/")
    user_files = [*skill_files_in(start.paths.config / "skills"), *find_skill_files(home)]
    project_files = find_skill_files(root)
    project = Project()
    if project_files and not trust.is_trusted:
        project.notices.append(
            "Skills of this project are not used: this folder is not trusted. Run /trust to use them."
        )
        project_files = []
    lines: list[str] = []
    unused: list[str] = []
    for file in [*user_files, *project_files]:
        is_of_project = file in project_files
        name = str(file).replace(f"{home}/", "~/", 1)
        if is_of_project:
            name = str(file.relative_to(root))
        try:
            skill, line = _parse_skill(file, trust if is_of_project else None)
        except (OSError, RuntimeError, ValueError) as error:  # circular links raise RuntimeError
            problem = getattr(error, "strerror", None) or error
            unused.append(f"{name} is not used: {problem}")
            continue
        first = project.skills.setdefault(skill.name, skill)
        if first is skill:
            lines.append(line)
        elif not first.file.samefile(file):
            problem = f"{first.file.parent} has the same name {skill.name}"
            unused.append(f"{name} is not used: {problem}")
    project.notices.extend(unused[:_MAX_NAMED])
    if len(unused) > _MAX_NAMED:
        count = len(unused) - _MAX_NAMED
        project.notices.append(f"{count:,} more skills are not used, for reasons like these")
    names = list(project.skills)
    unlisted: list[str] = []
    while len("\n".join(lines).encode()) > _MAX_SKILL_LIST:
        lines.pop()
        unlisted.insert(0, names.pop())
    if unlisted:
        more = f" and {len(unlisted) - _MAX_NAMED:,} more" if len(unlisted) > _MAX_NAMED else ""
        project.notices.append(
            f"the list of skills is full: the model does not see {', '.join(unlisted[:_MAX_NAMED])}{more}. "
            "Shorten descriptions"
        )
    return replace(project, text="\n".join([_SKILLS_TITLE, *lines]) if lines else "")


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
    name = fields.get("name", "")
    description = fields.get("description", "")
    if not name or not description:
        raise ValueError("missing front matter (`---` lines around name: and description:)")
    if not re.fullmatch(r"[\w-]{1,64}", name):
        raise ValueError(f"its name {name[:80]!r} is invalid: use letters, digits, - and _")
    return Skill(name, file, trust), f"- {name}: {truncate(description, _MAX_DESCRIPTION)}"
