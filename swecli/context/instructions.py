"""What a model is told first: the product's own prompts, and the project's AGENTS.md from its root down."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from swecli.context.budget import is_lean

PromptName = Literal["system", "system_small", "reflect", "condense"]

_PROMPTS = Path(__file__).parent / "prompts"
NAMES = ("AGENTS.md", "CLAUDE.md")
MAX_CHARACTERS = 32_768
TRUST_HINT = "To use them, trust this folder."

_HEAD = (
    "## Project instructions\n"
    "Written by the people of this project. Later ones are nearer to the working directory and win where they "
    "disagree; the user's words win over all of them."
)
_TAG = re.compile(r"<(?=\s*/?\s*project_file)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Instructions:
    """What a prompt gets, "" for none; the files it was read from; lines the user should see."""

    text: str = ""
    files: list[Path] = field(default_factory=list)
    notices: list[str] = field(default_factory=list)


def load_instructions(
    cwd: Path, *, trusted: bool, trust_hint: str = TRUST_HINT, limit: int = MAX_CHARACTERS
) -> Instructions:
    """Read the chain of instruction files for a working directory. Never raises for a file it cannot use.

    From the nearest directory with a `.git` down to `cwd` (only `cwd` where there is none), in each directory
    AGENTS.md, or CLAUDE.md where there is no AGENTS.md.

    Args:
        trusted: whether the user has said yes to this folder; if not, nothing is read and a notice says so.
        trust_hint: ends that notice: what the user can do.
        limit: characters of all files together; the nearest files get their share first, and what is cut is
            marked in the text and told in a notice.
    """
    cwd = cwd.resolve()
    root = repository_root(cwd)
    found = _chain(root, cwd)
    if not trusted:
        listed = ", ".join(str(path.relative_to(root)) for path in found)
        notice = f"Project instructions ({listed}) are not read: this folder is not trusted. {trust_hint}"
        return Instructions(notices=[notice] if found else [])
    parts: list[str] = []
    notices: list[str] = []
    used: list[Path] = []
    for path in reversed(found):
        name = str(path.relative_to(root))
        text, notice = _read(path, root, limit)
        notices += [f"{name}: {notice}"] if notice else []
        if text:
            limit -= len(text)
            used.append(path)
            parts.append(f'<project_file path="{name}">\n{_TAG.sub("‹", text)}\n</project_file>')
    if not parts:
        return Instructions(notices=notices[::-1])
    return Instructions("\n".join([_HEAD, *parts[::-1]]), used[::-1], notices[::-1])


def repository_root(cwd: Path) -> Path:
    """The nearest directory from `cwd` upwards that holds a `.git`; `cwd` itself where none does."""
    return next((folder for folder in (cwd, *cwd.parents) if _is_there(folder / ".git")), cwd)


def _chain(root: Path, cwd: Path) -> list[Path]:
    """The instruction files from `root` down to `cwd`, one per directory."""
    folders = [folder for folder in (cwd, *cwd.parents) if folder.is_relative_to(root)]
    by_folder = ([folder / name for name in NAMES if _is_there(folder / name)] for folder in reversed(folders))
    return [paths[0] for paths in by_folder if paths]


def _is_there(path: Path) -> bool:
    try:
        return path.exists()
    except OSError:  # a directory above that may not be looked into
        return False


def _read(path: Path, root: Path, limit: int) -> tuple[str, str]:
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


def load_prompt(name: PromptName) -> str:
    """The text of a prompt, the same bytes every time.

    "system" opens every request of a turn, "system_small" those of a model with a small window; "reflect" is the
    system text of a reflector's request; "condense" is the user message that asks for a summary of the conversation
    before it.
    """
    return (_PROMPTS / f"{name}.md").read_text(encoding="utf-8").strip()


def system_prompt(window: int | None) -> str:
    """The system text for a model with a window of that many tokens, None where unknown."""
    return load_prompt("system_small" if is_lean(window) else "system")
