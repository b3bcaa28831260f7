"""The system message of a review, with the project's own rules."""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path, PurePosixPath

from swecli.config.instruction_files import (
    MAX_DEPTH,
    MAX_IMPORTS,
    InstructionFiles,
    imported_paths,
)
from swecli.models.errors import BadInput
from swecli.models.finding import SMELLS
from swecli.regular_files import MAX_BYTES, open_regular
from swecli.text import decode_text, sanitize
from swecli.tools.git import run_git
from swecli.values import dataclass

_PROMPT = Path(__file__).parent / "prompts" / "review.md"
_FOLDER, _REVIEW = ".agents/checks", ".agents/REVIEW.md"
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
    tree = _Tree(root, base, environ)
    if base and tree.read("") is None:
        hint = f"git fetch --depth=1 origin {base}"
        return {}, [f"{base[:12]} is not in this clone: its rules are not used (fetch it: {hint})"]
    rules: dict[str, str] = {}
    notes: list[str] = []
    remaining = MAX_RULES  # characters
    for file, text in _find_texts(tree, paths, notes):
        if len(text) > remaining:
            notes.append(
                f"{file} is truncated to {remaining:,} characters: all rules have {MAX_RULES:,}"
            )
        if remaining > 0:
            name = PurePosixPath(file).stem if file.startswith(_FOLDER) else file
            rules[name] = text[:remaining]
        remaining = max(0, remaining - len(text))
    return rules, notes


def _find_texts(tree: _Tree, paths: Iterable[str], notes: list[str]) -> Iterator[tuple[str, str]]:
    """Yield the files with rules for these files and their texts: the review's, the instructions of the folders with
    what they import, the checks. Adds a line to `notes` for each one that cannot be used."""
    yield from _first_text(tree, [_REVIEW], notes)
    folders = {parent for path in paths for parent in PurePosixPath(path).parents}
    imported: set[str] = set()
    for folder in sorted(folders, key=lambda folder: (len(folder.parts), folder)):
        inner = [f".claude/{name}" for name in tree.names((folder / ".claude").as_posix())]
        names = [*tree.names(folder.as_posix()), *inner]
        choices = InstructionFiles.among(Path(folder), names).choices
        for file, text in _first_text(tree, [choice.as_posix() for choice in choices], notes):
            yield file, text
            yield from _find_imported(tree, file, text, imported, MAX_DEPTH)
    checks = [name for name in sorted(tree.names(_FOLDER)) if name.endswith(".md")]
    for name in checks[:_MAX_CHECKS]:
        yield from _first_text(tree, [f"{_FOLDER}/{name}"], notes)


def _first_text(tree: _Tree, files: Iterable[str], notes: list[str]) -> Iterator[tuple[str, str]]:
    """Yield the first of these files that has a text, if there is one."""
    for file in files:
        text = tree.read(file)
        if text is None:
            continue
        if not text.strip():
            notes.append(f"{file} is empty and is not used")
        elif "\0" in text or "\ufffd" in text:
            notes.append(f"{file} cannot be read as text and is not used")
        else:
            yield file, text.strip()
            return


def _find_imported(
    tree: _Tree, file: str, text: str, imported: set[str], depth: int
) -> Iterator[tuple[str, str]]:
    """Yield the files of the project that a text imports, and those that these import, each once."""
    for path in imported_paths(text) if depth else ():
        target = posixpath.normpath(posixpath.join(posixpath.dirname(file), path))
        leads_out = target.startswith(("/", "..", "~"))
        if leads_out or target in imported or len(imported) == MAX_IMPORTS:
            continue
        imported.add(target)
        for name, imported_text in _first_text(tree, [target], []):
            yield name, imported_text
            yield from _find_imported(tree, name, imported_text, imported, depth - 1)


@dataclass(frozen=True, slots=True)
class _Tree:
    """The files of a commit, or of the work tree if `base` is ""."""

    root: Path
    base: str
    environ: Mapping[str, str] | None

    def names(self, folder: str) -> list[str]:
        """Return the names in a folder, [] if there is none."""
        if not self.base:
            with suppress(OSError):
                return [path.name for path in (self.root / folder).iterdir()]
            return []
        # git prints a tree as a title, an empty line and the names
        listing = self.read("" if folder == "." else folder) or ""
        return [name for name in listing.partition("\n\n")[2].split("\n") if name]

    def read(self, file: str) -> str | None:
        """Return the text of a file (of a folder in a commit: its listing); None if it is missing or leads out."""
        with suppress(BadInput, OSError):
            if self.base:
                return sanitize(
                    run_git(self.root, "show", f"{self.base}:{file}", environ=self.environ)
                )
            path = self.root / file
            is_inside = path.resolve().is_relative_to(self.root.resolve())
            if is_inside and not path.is_symlink():
                with open_regular(path) as stream:
                    return decode_text(stream.read(MAX_BYTES))
        return None
