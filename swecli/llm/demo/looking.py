"""Plans that look: list, find, search, read."""

from __future__ import annotations

import difflib
import re
from collections.abc import Generator, Sequence
from dataclasses import dataclass

from swecli.llm.demo.intents import FileRange, FindFiles, ListFiles, Read, Search
from swecli.llm.demo.outcomes import Outcome
from swecli.llm.demo.outline import Lines, language_of
from swecli.llm.demo.steps import Plan, Step, ask, call, one
from swecli.llm.demo.texts import fenced, plural
from swecli.llm.demo.view import View

MOST_SHOWN = 60
MOST_PAGES = 3
END = 40


@dataclass(frozen=True, slots=True)
class Fetched:
    """A file as far as it could be read: `lines` are empty and `failure` says why when it could not.

    `remark` says what the reader should know of it; `whole` that none of its `total` lines is missing.
    """

    path: str
    lines: Lines = ()
    remark: str = ""
    failure: str = ""
    is_folder: bool = False
    whole: bool = False
    total: int = 0


Fetching = Generator[Step, list[Outcome], Fetched]
Naming = Generator[Step, list[Outcome], list[str]]


def list_files(intent: ListFiles, view: View) -> Plan:
    """List a folder and show what was found."""
    outcome = yield from one("", "list_files", path=intent.path, pattern=intent.pattern, depth=intent.depth)
    if not outcome.ok:
        return f"I could not list `{intent.path}`: {outcome.first_line()}"
    what = f" matching `{intent.pattern}`" if intent.pattern else ""
    entries = outcome.files() if intent.pattern else outcome.entries()
    place = "This folder" if intent.path == "." else f"`{intent.path}`"
    if not entries:
        return f"{place} holds nothing{what}."
    noun = "file" if intent.pattern else "entry"
    return f"{place} holds {plural(len(entries), noun)}{what}:\n{fenced(outcome.body(), MOST_SHOWN)}{outcome.remark()}"


def find_files(intent: FindFiles, view: View) -> Plan:
    """Find files by name: as given, then by the part before the suffix."""
    found = yield from named(intent.name if "." in intent.name else f"*{intent.name}*", intent.path)
    stem = intent.name.rsplit(".", 1)[0]
    if not found and stem not in ("", intent.name):
        found = yield from named(f"*{stem}*", intent.path)
    if not found:
        return f"No file here has `{intent.name}` in its name (ignored files are left out)."
    return f"{plural(len(found), 'file')} found:\n{fenced(chr(10).join(found), MOST_SHOWN)}"


def named(pattern: str, path: str = ".") -> Naming:
    """Paths of the files whose names match a glob."""
    outcome = yield from one("", "list_files", path=path, pattern=pattern)
    return outcome.files() if outcome.ok else []


def search(intent: Search, view: View) -> Plan:
    """Search; when nothing is found, once more without regard to case."""
    where = None if intent.path == "." else intent.path
    wish = call("search_files", pattern=intent.pattern, path=where, glob=intent.glob).parameters
    outcome = yield from one("", "search_files", **wish, ignore_case=intent.ignore_case or None)
    if outcome.ok and not outcome.matches() and not intent.ignore_case:
        outcome = yield from one("Nothing yet: once more, in any case.", "search_files", **wish, ignore_case=True)
    if not outcome.ok:
        return f"The search did not work: {outcome.first_line()}"
    return _matches(intent, outcome)


def _matches(intent: Search, outcome: Outcome) -> str:
    where = "" if intent.path == "." else f" in `{intent.path}`"
    found = outcome.matches()
    if not found:
        return f"{intent.label}{where}: nothing found, in upper or lower case."
    files = len({path for path, _ in found})
    head = f"{intent.label}{where}: {plural(len(found), 'line')} in {plural(files, 'file')}."
    return f"{head}\n{fenced(outcome.body(), MOST_SHOWN)}{outcome.remark()}"


def read(intent: Read, view: View) -> Plan:
    """Read files, all at once, and show them."""
    files = yield from fetch(intent.files)
    return "\n\n".join(_shown(file) for file in files)


def fetch(files: Sequence[FileRange]) -> Generator[Step, list[Outcome], list[Fetched]]:
    """Read files together; for each that is not there, look for the one that was probably meant."""
    calls = [call("read_file", path=f.path, start_line=f.start, end_line=f.end) for f in files]
    names = ", ".join(f"`{file.path}`" for file in files)
    outcomes = yield from ask(f"Reading {names}.", *calls)
    fetched = []
    for file, outcome in zip(files, outcomes, strict=True):
        fetched.append((yield from _settled(file, outcome)))
    return fetched


def fetch_whole(path: str) -> Fetching:
    """Read one file page by page, `MOST_PAGES` of them at most."""
    (file,) = yield from fetch([FileRange(path)])
    for _ in range(MOST_PAGES - 1):
        if file.failure or file.whole or not file.lines:
            return file
        start = file.lines[-1][0] + 1
        page = yield from one(f"Reading on in `{file.path}`.", "read_file", path=file.path, start_line=start)
        if not page.ok or not page.lines():
            return file
        lines = [*file.lines, *page.lines()]
        file = _fetched(file.path, lines, page)
    return file


def fetch_end(path: str) -> Fetching:
    """Read one file, or where it is too long the last `END` lines of it."""
    (file,) = yield from fetch([FileRange(path)])
    if file.failure or file.whole or file.total <= END:
        return file
    text = f"Looking at the end of `{file.path}`."
    page = yield from one(text, "read_file", path=file.path, start_line=file.total - END + 1)
    if not page.ok:
        return Fetched(file.path, failure=page.first_line())
    return _fetched(file.path, page.lines(), page)


def _fetched(path: str, lines: Lines, last: Outcome, remark: str = "") -> Fetched:
    return Fetched(path, lines, last.remark() + remark, whole=_is_whole(lines, last), total=last.total_lines)


def _is_whole(lines: Lines, last: Outcome) -> bool:
    return last.total_lines == len(lines) and last.next_line is None and not last.cleared


def _settled(file: FileRange, outcome: Outcome) -> Fetching:
    if outcome.ok:
        return _fetched(file.path, outcome.lines(), outcome)
    if not outcome.missing:
        return Fetched(file.path, failure=outcome.first_line(), is_folder=outcome.is_folder)
    found = yield from named(f"*{_stem(file.path)}*")
    same = [path for path in found if _stem(path).lower() == _stem(file.path).lower()]
    if len(same) == 1 and same[0] != file.path:
        return (yield from _instead(file, same[0]))
    near = difflib.get_close_matches(file.path, found, n=3, cutoff=0.3) or found[:3] or outcome.near_names()
    hint = " Did you mean " + " or ".join(f"`{path}`" for path in near) + "?" if near else ""
    only = "" if re.search(r"[./]", file.path) or hint else " Files and folders are all that I can look at."
    return Fetched(file.path, failure=f"there is no such file.{hint}{only}")


def _stem(path: str) -> str:
    name = path.rstrip("/").rsplit("/", 1)[-1]
    return name.rsplit(".", 1)[0] or name


def _instead(file: FileRange, path: str) -> Fetching:
    text = f"There is no `{file.path}`, but there is `{path}`: reading that."
    again = yield from one(text, "read_file", path=path, start_line=file.start, end_line=file.end)
    if not again.ok:
        return Fetched(file.path, failure=again.first_line())
    remark = f"\n(`{file.path}` does not exist: this is the file of that name that does.)"
    return _fetched(path, again.lines(), again, remark)


def _shown(file: Fetched) -> str:
    if file.failure:
        return f"I could not read `{file.path}`: {file.failure}"
    if not file.lines:
        return f"`{file.path}` is empty.{file.remark}"
    text = "\n".join(line for _, line in file.lines)
    span = f"lines {file.lines[0][0]}-{file.lines[-1][0]}"
    remark = "\n(Say “read on” for more.)" if len(file.lines) > MOST_SHOWN and not file.remark else file.remark
    return f"`{file.path}`, {span}:\n{fenced(text, MOST_SHOWN, language_of(file.path))}{remark}"
