"""Read what another program remembers, as proposals: nothing of it is used without a yes."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

from swecli.config.front_matter import front_matter
from swecli.folders import walk
from swecli.models.doubts import Doubt
from swecli.models.ids import uuid7
from swecli.models.json_value import JsonObject
from swecli.models.playbook import Delta, Evidence, Op, length_problem
from swecli.playbook.ranking import clean
from swecli.playbook.workspace import find_anchors
from swecli.redact import has_secret
from swecli.regular_files import read_regular
from swecli.text import decode_text
from swecli.values import dataclass

if TYPE_CHECKING:  # files are found before the database is opened
    from markdown_it.token import Token

    from swecli.models.session import Session
    from swecli.store.session_manager import SessionManager

MAX_PROPOSALS = 40  # of one run: more than that nobody decides about one by one
_MAX_FILES = 200
_NOT_ENTERED = (".git", "node_modules")  # folders of thousands of files, none of them a memory
_MIN_WORDS = 3  # of an item; a word or two is a link or a title
# headings that a program writes itself above what it notes
_OWN_HEADINGS = frozenset({"Qwen Added Memories", "Gemini Added Memories"})
_NOT_ALPHANUMERIC = re.compile(r"[^A-Za-z0-9]")


class Program(StrEnum):
    """A program whose memory can be read."""

    CLAUDE = "claude"
    CODEX = "codex"
    QWEN = "qwen"
    COPILOT = "copilot"


# Where each keeps what it was told or noted, below the home folder and below the project. What swecli reads by itself
# as instructions, AGENTS.md and CLAUDE.md, is not listed. `{project}` is the project's path as these programs name a
# folder after it.
_IN_HOME: Mapping[Program, Sequence[str]] = {
    Program.CLAUDE: (".claude/projects/{project}/memory/*.md", ".claude/rules/**/*.md"),
    Program.CODEX: (".codex/AGENTS.md", ".codex/memories/*.md"),
    Program.QWEN: (".qwen/QWEN.md", ".qwen/projects/{project}/memory/*.md"),
    Program.COPILOT: (".copilot/copilot-instructions.md", ".copilot/instructions/**/*.md"),
}
_IN_PROJECT: Mapping[Program, Sequence[str]] = {
    Program.CLAUDE: (".claude/rules/**/*.md",),
    Program.CODEX: (),
    Program.QWEN: ("QWEN.md", ".qwen/QWEN.local.md"),
    Program.COPILOT: (".github/copilot-instructions.md", ".github/instructions/**/*.md"),
}


def find_memory_files(program: Program, home: Path, root: Path) -> list[Path]:
    """Return the memory files of a program for the project at `root`, the newest first."""
    name = _NOT_ALPHANUMERIC.sub("-", str(root))
    files: dict[Path, None] = {}
    for folder, patterns in ((home, _IN_HOME[program]), (root, _IN_PROJECT[program])):
        for pattern in patterns:
            files.update(dict.fromkeys(folder.glob(pattern.format(project=name))))
    return _newest_first(files)


def find_markdown(folder: Path) -> list[Path]:
    """Return the Markdown files in a folder and below it, the newest first; a file stands for itself."""
    if not folder.is_dir():
        return [folder]
    files: list[Path] = []
    for _, entries in walk(str(folder)):
        entries[:] = [entry for entry in entries if entry.name not in _NOT_ENTERED]
        files += [Path(entry.path) for entry in entries if entry.name.endswith(".md")]
    return _newest_first(files)


def _newest_first(files: Iterable[Path]) -> list[Path]:
    return sorted(files, key=lambda path: (-_modified_at(path), str(path)))


def _modified_at(path: Path) -> float:
    """Return when a file was changed, in seconds since 1970; 0 for a broken link."""
    try:
        return os.lstat(path).st_mtime
    except OSError:
        return 0.0


@dataclass(frozen=True, slots=True)
class Proposal:
    """A text that may become a strategy, with where it comes from and when that was written."""

    text: str
    sources: tuple[Evidence, ...]


@dataclass(slots=True)
class Reading:
    """The proposals that files hold, and lines on what is left out."""

    proposals: list[Proposal] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)


def read_memory_files(files: Sequence[Path], home: Path) -> Reading:
    """Read the items of lists and the paragraphs of files. Never raises for a file."""
    reading = Reading()
    for path in files[:_MAX_FILES]:
        name = str(path).replace(f"{home}/", "~/", 1)
        try:
            text = decode_text(read_regular(path))
        except OSError as error:
            reading.left_out.append(f"{name}: {(error.strerror or str(error)).lower()}")
            continue
        _read_file(reading, name, text, datetime.fromtimestamp(_modified_at(path), UTC))
    if len(files) > _MAX_FILES:
        reading.left_out.append(f"{len(files) - _MAX_FILES} older files")
    return reading


def _read_file(reading: Reading, name: str, text: str, written_at: datetime) -> None:
    """Add the proposals of one file."""
    source = f"{name} of {written_at.astimezone():%Y-%m-%d}"
    secrets = 0
    long = 0
    for item in _items(front_matter(text)[1]):
        content = clean(item)
        if len(content.split()) < _MIN_WORDS:
            continue
        if has_secret(content):
            secrets += 1
        elif length_problem(content):
            long += 1
        else:
            quote = Evidence(source, content, trust="tool", created_at=written_at)
            reading.proposals.append(Proposal(content, (quote,)))
    if secrets:
        reading.left_out.append(f"{name}: {secrets} with a secret")
    if long:
        reading.left_out.append(f"{name}: {long} that are too long for a strategy")


def _items(text: str) -> Iterator[str]:
    """Yield the items of lists and the paragraphs of a Markdown text, each behind its heading."""
    # late: few runs read Markdown
    from markdown_it import MarkdownIt

    heading = ""
    opened: Token | None = None  # what the next inline text belongs to
    for token in MarkdownIt("commonmark").parse(text):
        if token.type in ("heading_open", "paragraph_open"):
            opened = token
        elif token.type == "inline" and opened is not None:
            if opened.type == "heading_open":
                heading = token.content.strip(" :")
                # the title of a file says nothing about one of its items
                if opened.tag == "h1" or heading in _OWN_HEADINGS:
                    heading = ""
            else:
                yield f"{heading}: {token.content}" if heading else token.content
            opened = None


@dataclass(frozen=True, slots=True)
class Proposed:
    """What became of proposals: the ids of those that wait now, and how many are in the playbook already, or were
    once, or have no room in one run."""

    added: tuple[str, ...] = ()
    known_count: int = 0
    left_out_count: int = 0


def propose(
    sessions: SessionManager, session: Session, proposals: Iterable[Proposal], reason: str
) -> Proposed:
    """Add what the playbook never held as strategies that wait for the user's yes, in one delta. Raises StoreError."""
    bullets = [*session.playbook.bullets.values(), *sessions.playbook.deleted_bullets(session)]
    present = {bullet.content.casefold() for bullet in bullets}
    new: dict[str, Proposal] = {}
    known_count = 0
    for proposal in proposals:
        key = proposal.text.casefold()
        if key in present or key in new:
            known_count += 1
        else:
            new[key] = proposal
    chosen_proposals = list(new.values())[:MAX_PROPOSALS]
    if not chosen_proposals:
        return Proposed(known_count=known_count)
    ops = tuple(
        Op("ADD", "", _fields(proposal.text), proposal.sources) for proposal in chosen_proposals
    )
    delta = Delta(uuid7(), ops, "import", session.id, None, reason)
    added = sessions.playbook.apply(delta, session).added
    return Proposed(added, known_count, len(new) - len(chosen_proposals))


def _fields(text: str) -> JsonObject:
    return {
        "content": text,
        "scope": "project",
        "state": "quarantined",
        "trust": "tool",
        "doubt": Doubt.IMPORTED,
        "anchors": list(find_anchors(text)),
    }
