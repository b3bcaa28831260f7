"""Plans that look closer: explain files, the whole project, and review."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Generator, Sequence

from swecli.llm.demo.intents import Explain, FileRange, ListFiles, Overview, Review
from swecli.llm.demo.looking import Fetched, fetch, fetch_whole, list_files
from swecli.llm.demo.outcomes import Outcome
from swecli.llm.demo.outline import Outline, outline, render
from swecli.llm.demo.smells import LONGEST_FUNCTION, smells
from swecli.llm.demo.steps import Plan, Step, ask, call, one
from swecli.llm.demo.texts import listed, plural
from swecli.llm.demo.view import View
from swecli.models.finding import Finding

MOST_REVIEWED = 4
MOST_FINDINGS = 30
SOURCES = ("py", "js", "ts", "tsx", "jsx", "go", "rs", "java", "kt", "c", "h", "cpp", "rb", "sh", "cs")
_MANIFESTS = ("pyproject.toml", "package.json", "Cargo.toml", "go.mod", "setup.cfg")
_FACT = re.compile(r"^\s*\"?(?P<key>name|description|module)\"?\s*[=:]?\s*\"?(?P<value>[^\"]+?)\"?,?\s*$")


def explain(intent: Explain, view: View) -> Plan:
    """Read files and tell what they hold; a folder is listed instead."""
    files = yield from _fetched(intent.paths)
    answers = []
    for file in files:
        if file.is_folder:
            answers.append((yield from list_files(ListFiles(file.path), view)))
        else:
            answers.append(_explained(file))
    return "\n\n".join(answers)


def _fetched(paths: Sequence[str]) -> Generator[Step, list[Outcome], list[Fetched]]:
    """One file in all its length, or the first page of several."""
    if len(paths) == 1:
        return [(yield from fetch_whole(paths[0]))]
    return (yield from fetch([FileRange(path) for path in paths]))


def _explained(file: Fetched) -> str:
    if file.failure:
        return f"I could not read `{file.path}`: {file.failure}"
    return render(file.path, file.lines, outline(file.path, file.lines)) + file.remark


def overview(intent: Overview, view: View) -> Plan:
    """Look at the project's folder, its README and its manifest, and sum up."""
    listing = yield from one("Looking at what is here.", "list_files", path=".", depth=2)
    if not listing.ok:
        return f"I could not look at this folder: {listing.first_line()}"
    names = listing.entries()
    top = [name for name in names if "/" not in name.rstrip("/")]
    wanted = [name for name in top if name.lower().startswith("readme")][:1] + [
        name for name in top if name in _MANIFESTS
    ][:1]
    outcomes = (yield from ask("", *(call("read_file", path=name) for name in wanted))) if wanted else []
    facts = [_facts(name, outcome) for name, outcome in zip(wanted, outcomes, strict=True) if outcome.ok]
    return "\n".join(line for line in (*facts, _counted(names)) if line)


def _facts(name: str, outcome: Outcome) -> str:
    lines = outcome.lines()
    if name.lower().startswith("readme"):
        found = outline("readme.md", lines)
        title = found.entries[0].label if found.entries else ""
        return ": ".join(part for part in (f"**{title}**" if title else "", _about(found)) if part)
    matches = (_FACT.match(text) for _, text in lines)
    pairs = {match["key"]: match["value"] for match in reversed([m for m in matches if m])}
    told = "; ".join(f"{key} “{value}”" for key, value in sorted(pairs.items(), reverse=True))
    return f"`{name}` gives {told}." if told else ""


def _about(found: Outline) -> str:
    sections = [entry.label for entry in found.entries[1:9] if entry.depth == 1]
    return " ".join(part for part in (found.about, f"Sections: {', '.join(sections)}." if sections else "") if part)


def _counted(names: Sequence[str]) -> str:
    folders = [name for name in names if name.endswith("/") and "/" not in name[:-1]]
    suffixes = Counter(
        name.rsplit(".", 1)[-1] for name in names if "." in name.rsplit("/", 1)[-1] and not name.endswith("/")
    )
    kinds = ", ".join(f"{count} .{suffix}" for suffix, count in suffixes.most_common(5))
    parts = [
        f"Folders: {listed(folders, 12)}." if folders else "",
        f"Files in the first two levels: {kinds}." if kinds else "",
    ]
    return " ".join(part for part in parts if part)


def review(intent: Review, view: View) -> Plan:
    """Read the files in question and report what the rules find."""
    paths, skipped = list(intent.paths), 0
    files = (yield from _fetched(paths)) if paths else []
    if not files or files[0].is_folder:
        paths, skipped = yield from _sources(paths[0] if paths else ".")
        if not paths:
            return "I found no source files to review there."
        files = yield from _fetched(paths)
    found = [finding for file in files for finding in smells(file.path, file.lines)]
    return "\n".join(part for part in (_verdict(files, found, skipped), *_problems(files)) if part)


def _sources(folder: str) -> Generator[Step, list[Outcome], tuple[list[str], int]]:
    """The first source files of a folder, tests left out where there are others; and how many more there are."""
    pattern = ",".join(f"*.{suffix}" for suffix in SOURCES)
    outcome = yield from one("Looking for source files.", "list_files", path=folder, pattern=pattern)
    found = [path for path in outcome.files() if "test" not in path.lower()] or outcome.files()
    return found[:MOST_REVIEWED], max(0, len(found) - MOST_REVIEWED)


def _verdict(files: Sequence[Fetched], found: list[Finding], skipped: int) -> str:
    read = [file for file in files if not file.failure]
    if not read:
        return ""
    what = f"I read {listed([file.path for file in read])} with fixed rules"
    rest = f" ({plural(skipped, 'more source file')} not looked at)" if skipped else ""
    if not found:
        return (
            f"{what}{rest} and they found nothing: no function over {LONGEST_FUNCTION} lines, no bare except, "
            "no repeated "
            "unnamed number, no duplicate block, no open task. That is no proof that all is well."
        )
    lines = [_finding(finding) for finding in found[:MOST_FINDINGS]]
    more = [f"- … and {len(found) - MOST_FINDINGS} more"] if len(found) > MOST_FINDINGS else []
    return "\n".join([f"{what}{rest}: {plural(len(found), 'finding')}.", *lines, *more])


def _finding(finding: Finding) -> str:
    advice = f"; {finding.improvement}" if finding.improvement else ""
    return (
        f"- `{finding.path}:{finding.line}` **{finding.code_smell_type}** ({finding.severity}): "
        f"{finding.message}{advice}"
    )


def _problems(files: Sequence[Fetched]) -> list[str]:
    failed = [f"I could not read `{file.path}`: {file.failure}" for file in files if file.failure]
    return failed + [f"`{file.path}`: {file.remark.strip()}" for file in files if file.remark]
