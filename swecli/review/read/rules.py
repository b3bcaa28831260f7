"""The system message of a review, with the project's own rules."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path, PurePosixPath

from swecli.models.errors import BadInput
from swecli.models.finding import SMELLS
from swecli.regular_files import MAX_BYTES, open_regular
from swecli.text import decode_text, sanitize
from swecli.tools.git import run_git

_PROMPT = Path(__file__).parent / "prompts" / "review.md"
_FOLDER, _REVIEW, _AGENTS = ".agents/checks", ".agents/REVIEW.md", "AGENTS.md"
MAX_RULES = 12_000  # characters of all rules together
_MAX_CHECKS = 50


def build_system_prompt(rules: Mapping[str, str]) -> str:
    """Return the system message, which is the same for every part and push."""
    smells = "\n".join(f"- {name}: {description}" for name, description in SMELLS.items())
    text = _PROMPT.read_text(encoding="utf-8").strip().replace("{smells}", smells)
    if not rules:
        return text
    checks = "\n\n".join(f"### {name}\n{rule}" for name, rule in rules.items())
    title = '## The project\'s own checks (kind "check", code_smell_type its name)'
    return f"{text}\n\n{title}\n{checks}"


def load_rules(
    root: Path, paths: Iterable[str], base: str = "", environ: Mapping[str, str] | None = None
) -> tuple[dict[str, str], list[str]]:
    """Return the project's own rules for these files by name, and a line for each rule that is truncated or cannot be
    used. For a change that is compared with the commit `base` the rules are that commit's, so that no change can
    instruct its own reviewer; "" means the work tree."""
    if base and _read(root, "", base, environ) is None:
        hint = f"git fetch --depth=1 origin {base}"
        return {}, [f"{base[:12]} is not in this clone: its rules are not used (fetch it: {hint})"]
    rules: dict[str, str] = {}
    notes: list[str] = []
    remaining = MAX_RULES  # characters
    for file in _list_files(root, paths, base, environ):
        text = _read(root, file, base, environ)
        if text is None:
            continue
        text = text.strip()
        if not text:
            notes.append(f"{file} is empty and is not used")
            continue
        if "\0" in text or "\ufffd" in text:
            notes.append(f"{file} cannot be read as text and is not used")
            continue
        if len(text) > remaining:
            notes.append(
                f"{file} is truncated to {remaining:,} characters: all rules have {MAX_RULES:,}"
            )
        if remaining > 0:
            name = PurePosixPath(file).stem if file.startswith(_FOLDER) else file
            rules[name] = text[:remaining]
        remaining = max(0, remaining - len(text))
    return rules, notes


def _list_files(
    root: Path, paths: Iterable[str], base: str, environ: Mapping[str, str] | None
) -> list[str]:
    """Return the files that may hold rules for these files: the review's, those of the folders, the checks."""
    folders = {parent for path in paths for parent in PurePosixPath(path).parents}
    by_depth = sorted(folders, key=lambda folder: (len(folder.parts), folder))
    agents = [(folder / _AGENTS).as_posix() for folder in by_depth]
    if base:
        # git prints a tree as a title, an empty line and the names
        listing = _read(root, _FOLDER, base, environ) or ""
        names = listing.partition("\n\n")[2].split("\n")
    else:
        names = [path.name for path in (root / _FOLDER).glob("*.md")]
    checks = [f"{_FOLDER}/{name}" for name in sorted(names) if name.endswith(".md")]
    return [_REVIEW, *agents, *checks[:_MAX_CHECKS]]


def _read(root: Path, file: str, base: str, environ: Mapping[str, str] | None) -> str | None:
    """Return the text of a file (of a folder in a commit: its listing); None if it is missing or a link."""
    path = root / file
    with suppress(BadInput, OSError):
        if base:
            return sanitize(run_git(root, "show", f"{base}:{file}", environ=environ))
        if not path.is_symlink():
            with open_regular(path) as stream:
                return decode_text(stream.read(MAX_BYTES))
    return None
