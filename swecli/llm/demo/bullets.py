"""The playbook as the demo model reads it: which notes bear on a request, and which commands they tell."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

_BLOCK = re.compile(r"<playbook>\n?(.*?)</playbook>", re.DOTALL)
_LINE = re.compile(r"^- \[(P-\d+)\] (.+)$", re.MULTILINE)
_TURN_NOTES = re.compile(r"<turn_notes>\n(.*)\n</turn_notes>\Z", re.DOTALL)
_CHANGED = re.compile(r"^- Strategy \[(P-\d+)\] (?:is new|now reads): (.+)$", re.MULTILINE)
_GONE = re.compile(r"^- Strategy \[(P-\d+)\] no longer applies", re.MULTILINE)
_CITED = re.compile(r"\[(P-\d+)\]")
_CODE = re.compile(r"`([^`\n]+)`")
_PROGRAM = (
    r"(?:\./\S+|scripts?/\S+|[\w./~-]*\bbin/[\w.-]+|"
    r"pytest|python3?|uv|tox|nox|npm|npx|yarn|pnpm|cargo|go test|make|just|"
    r"ruff|mypy|bash|sh|git|docker)"
)
_SPELT = re.compile(
    rf"(?:\bwith|\busing|\buse|\brun|\brunning|\bby|\bis|\bare|:)\s+({_PROGRAM}(?:\s+[\w./=:-]+)*)", re.IGNORECASE
)
_AGAINST = re.compile(
    r"(?:instead of|rather than|\bthan|(?:\bnot|\bnever|\bavoid|n['’]t)(?: ever)?(?: (?:run|use|call|try)\w*)?)\s*$",
    re.IGNORECASE,
)
_FAILING = re.compile(
    r"^\W*(?:(?:fail|miss|break|hang|crash)\w*|(?:do|is|was|did|can)\w*(?: not|n't|n’t)|is wrong)", re.IGNORECASE
)
_TESTING = re.compile(r"\btests?\b|\btesting\b|pytest|unittest|\btox\b|\bnox\b", re.IGNORECASE)
_AFTER_EDIT = re.compile(
    r"\b(?:after|when|whenever|once|following)\b[^.;]*\b(?:edit|chang|writ|modif|creat)\w*|\bafter "
    r"(?:each|every|any|all) (?:edit|change)",
    re.IGNORECASE,
)
_STOP = frozenset({
    "a", "an", "and", "are", "as", "at", "be", "by", "can", "could", "did", "do", "does", "for", "from", "go", "has",
    "have", "how", "i", "if", "in", "into", "is", "it", "its", "me", "my", "no", "not", "of", "on", "or", "our",
    "please", "should", "so", "that", "the", "their", "them", "then", "there", "these", "they", "this", "to", "up",
    "us", "use", "was", "we", "were", "what", "when", "where", "which", "who", "why", "will", "with", "would", "you",
    "your", "always", "never", "remember", "whenever", "every", "each", "any", "all", "show", "tell", "give", "call",
    "called",
})  # fmt: skip


@dataclass(frozen=True, slots=True)
class Note:
    """One bullet of the playbook, as it stands in the prompt."""

    id: str
    text: str

    def commands(self) -> list[str]:
        """The commands it recommends, best first; those that it warns of are left out."""
        coded = [m[1].strip() for m in _CODE.finditer(self.text) if not _warned(self.text, m)]
        spelt = [m[1].strip(" .,;") for m in _SPELT.finditer(_CODE.sub(" ", self.text)) if not _warned(self.text, m)]
        return [command for command in (*coded, *spelt) if re.match(rf"{_PROGRAM}(?:\s|$)", command)]

    def about_tests(self) -> bool:
        """Whether it speaks of running tests."""
        return bool(_TESTING.search(self.text))

    def about_after_edits(self) -> bool:
        """Whether it says what to do once a file was changed."""
        return bool(_AFTER_EDIT.search(self.text))


def _warned(text: str, match: re.Match[str]) -> bool:
    return bool(_AGAINST.search(text[: match.start()].rstrip("`")) or _FAILING.match(text[match.end() :]))


def notes_in(system: str) -> tuple[Note, ...]:
    """The bullets between the playbook's marks in a system message, in their order."""
    return tuple(Note(m[1], m[2].strip()) for block in _BLOCK.findall(system) for m in _LINE.finditer(block))


def told_in(notes: Iterable[Note], texts: Iterable[str]) -> tuple[Note, ...]:
    """The bullets after what the notes behind the user's messages say: new ones, reworded ones, ones that are gone."""
    known = {note.id: note for note in notes}
    for text in texts:
        for block in _TURN_NOTES.findall(text):
            known |= {m[1]: Note(m[1], m[2].strip()) for m in _CHANGED.finditer(block)}
            for gone in _GONE.findall(block):
                known.pop(gone, None)
    return tuple(known.values())


def cited_in(text: str) -> list[str]:
    """Ids named in square brackets, each once, in order."""
    return list(dict.fromkeys(_CITED.findall(text)))


def words(text: str) -> frozenset[str]:
    """The content words of a text, in lower case and without their commonest endings."""
    return frozenset(_stem(word) for word in re.findall(r"[a-z0-9_]{2,}", text.lower()) if word not in _STOP)


def _stem(word: str) -> str:
    for ending in ("ing", "ed", "es", "s"):
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return word.removesuffix(ending)
    return word


def bears_on(note: Note, query: str) -> bool:
    """Whether a note shares at least two content words with a query, and they are half of the query's or the note's."""
    asked, said = words(query), words(note.text)
    shared = len(asked & said)
    return shared >= 2 and 2 * shared >= min(len(asked), len(said))


def names(note: Note, things: Iterable[str]) -> bool:
    """Whether a note names one of these commands or paths, whole."""
    return any(re.search(rf"(?<![\w/.-]){re.escape(thing)}(?![\w/-])", note.text) for thing in things if len(thing) > 2)


def best_command(notes: Sequence[Note], query: str) -> tuple[str, Note] | None:
    """The command that a note strongly bearing on the query tells, with that note; the newest note wins."""
    fitting = [note for note in notes if bears_on(note, query) and note.commands()]
    return (fitting[-1].commands()[0], fitting[-1]) if fitting else None


def test_command(notes: Sequence[Note]) -> tuple[str, Note] | None:
    """The command that a note tells for running the tests, with that note; the newest note wins."""
    for note in reversed(notes):
        for command in note.commands():
            if note.about_tests() or _TESTING.search(command):
                return command, note
    return None
