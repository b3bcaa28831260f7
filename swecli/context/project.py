"""Loads what a project and the user tell the model: instruction files, and skills, of which the system message lists
names and descriptions, and a tool reads the texts."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from pathlib import Path

from swecli.config.front_matter import front_matter
from swecli.config.paths import project_root
from swecli.config.plugin_places import may_have_plugins
from swecli.config.project_files import (
    find_command_files,
    find_skill_files,
    is_inside,
    skill_files_in,
)
from swecli.config.settings import Start
from swecli.config.trust import FolderTrust, Skill
from swecli.context.budget import is_lean
from swecli.context.instructions import load_instructions
from swecli.regular_files import read_regular
from swecli.text import decode_text, truncate
from swecli.values import dataclass

_MAX_SKILL_LIST = 6_000  # bytes: about 1,500 tokens
_MAX_DESCRIPTION = 400  # characters
_NAME = re.compile(r"[\w-]{1,64}")
_MAX_NAMED = 5  # of the skills that are not used: more than anybody breaks in one go, few enough for a start's lines
_SKILLS_TITLE = (
    "## Skills\nInstructions for certain tasks. When the task at hand is one of them, read it first: skill(name). "
    "The user's words win over them."
)


@dataclass(frozen=True, slots=True)
class Project:
    """Prompt text ("" for none), notices for the user, the instruction files, and skills by name."""

    text: str = ""
    notices: list[str] = field(default_factory=list)
    files: list[Path] = field(default_factory=list)
    skills: dict[str, Skill] = field(default_factory=dict)


def load_project(start: Start, trust: FolderTrust, *, window: int | None) -> Project:
    """Read instruction files and skills; no skills if the model's `window` has no room for their tool. Never raises for
    a file."""
    home = Path(start.environ.get("HOME") or "/")
    loaded = load_instructions(start.cwd, trust, home=home)
    if is_lean(window):
        return Project(loaded.text, loaded.notices, loaded.files)
    skills = find_skills(start, trust)
    text = "\n\n".join(part for part in (loaded.text, skills.text) if part)
    return Project(text, loaded.notices + skills.notices, loaded.files, skills.skills)


def find_skills(start: Start, trust: FolderTrust) -> Project:
    """Find the user's own skills, those of his plug-ins, and the project's as far as they are trusted. The first of a
    name is used. Never raises for a file: those that are not used are named in a notice."""
    root = project_root(start.cwd)
    home = Path(start.environ.get("HOME") or "/")
    user_files = [*skill_files_in(start.paths.config / "skills"), *find_skill_files(home)]
    project_files = find_skill_files(root)
    project, variables = Project(), dict[Path, Mapping[str, str]]()
    if may_have_plugins(start.paths):
        # late: few have plug-ins
        from swecli.config.plugins import read_plugins

        plugins = read_plugins(start.paths)
        project.notices.extend(plugins.problems)
        variables = {
            file: plugin.variables for plugin in plugins.plugins for file in plugin.folder.skills
        }
    if not trust.is_trusted:
        project.notices.extend(
            _untrusted_notices(skills=project_files, commands=find_command_files(root))
        )
        project_files = []
    lines: list[str] = []
    unused: list[str] = []
    for file in [*user_files, *variables, *project_files]:
        is_of_project = file in project_files
        name = str(file).replace(f"{home}/", "~/", 1)
        if is_of_project:
            name = str(file.relative_to(root))
        try:
            by_folder = file.parent.name if file in variables else ""
            skill, line = _parse_skill(file, trust if is_of_project else None, by_folder)
            skill = replace(skill, variables=variables.get(file, {}))
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
        rest = len(unused) - _MAX_NAMED
        project.notices.append(f"{rest:,} more skills are not used, for reasons like these")
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


def _untrusted_notices(*, skills: Sequence[Path], commands: Sequence[Path]) -> list[str]:
    """Return the line on what a folder that is not trusted has, [] if it has neither."""
    unused = [word for word, files in (("skills", skills), ("commands", commands)) if files]
    if not unused:
        return []
    names = " and ".join(unused).capitalize()
    return [
        f"{names} of this project are not used: this folder is not trusted. Run /trust to use them."
    ]


def _parse_skill(file: Path, trust: FolderTrust | None, by_folder: str) -> tuple[Skill, str]:
    """Return a skill and its line in the list. The file of a project may not be a link that leads out, and must be
    trusted as it is. One whose name is invalid gets the name `by_folder`, unless that is "". Raises OSError,
    RuntimeError, or ValueError with the problem."""
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
    if by_folder and not _NAME.fullmatch(name):
        name = by_folder
    if not _NAME.fullmatch(name):
        raise ValueError(f"its name {name[:80]!r} is invalid: use letters, digits, - and _")
    return Skill(name, file, trust), f"- {name}: {truncate(description, _MAX_DESCRIPTION)}"
