"""What became of a call, read from the text its tool answered with. All knowledge of the tools' wording is here."""

from __future__ import annotations

import re
from dataclasses import dataclass

from swecli.llm.demo.calls import Call

_NOTICE = re.compile(r"\A\[(?:Long result|Cut to save room): [^\n]*\]\n")
_GAP = re.compile(r"^(?:\[… [\d,]+ characters [^\n]*\]|…)$")
_CLEARED = "[Cleared to save room: "
_CALL_ID = re.compile(r'read_result\(?(?:call_id=)?\s*"?([\w.:-]+)')
_NUMBERED = re.compile(r"^ *(\d+)\t(.*)$")
_MATCH = re.compile(r"^(?P<path>[^\n:]+):(?P<line>\d+): ")
_EXIT = re.compile(r"\A(?:exit code (\d+)\b|stopped: .*\(exit code (\d+)\))")
_READ_ON = re.compile(
    r"^\[lines \d+-(?P<last>\d+) of (?P<total>\d+).*; read on with start_line=(?P<next>\d+)\]$", re.MULTILINE
)
_OF = re.compile(r"^\[lines \d+-\d+ of (?P<total>\d+)", re.MULTILINE)
_MORE = re.compile(r"^\[(?:… .*more not shown|there are more|stopped after).*\]$", re.MULTILINE)
_USER_SAYS = re.compile(r"\AThe user refused this call and nothing was done\. The user says: (.+)", re.DOTALL)
_REFUSED = re.compile(r"\A(?:The user refused this call|Not permitted: |It could not be asked for approval)")
_INTERRUPTED = re.compile(r"\A(?:Interrupted before a result|Cancelled by the user)")
# How the first line of each tool's success reads; everything else is a failure.
_SUCCESS = {
    "list_files": re.compile(r".*: (?:more than )?\d+ files?(?:, \d+ folders?)?$"),
    "read_file": re.compile(r" *\d+\t|.* is empty\.$|\[lines \d+"),
    "read_result": re.compile(r" *\d+\t|\[lines \d+"),
    "search_files": re.compile(r"(?:First )?\d+ match(?:es)? in \d+ files?|No matches for "),
    "write_file": re.compile(r"Wrote "),
    "edit_file": re.compile(r"(?:Edited|Made \d+ edits in) "),
    "run_command": re.compile(r"exit code 0\b"),
    "todo": re.compile(r"\[|The to-do list is empty"),
}


@dataclass(frozen=True, slots=True)
class Outcome:
    """A call with its whole result text."""

    call: Call
    text: str

    @property
    def plain(self) -> str:
        """The text without the notice that stands before a cut result."""
        return _NOTICE.sub("", self.text)

    @property
    def refused(self) -> bool:
        """The user, a rule or the mode did not let it run."""
        return bool(_REFUSED.match(self.text))

    @property
    def reason(self) -> str:
        """What the user said with a no, "" for nothing."""
        match = _USER_SAYS.match(self.text)
        return match[1].strip() if match else ""

    def why_not_permitted(self) -> str:
        """Which rule or mode forbade it, "" when it was the user who refused."""
        match = re.match(
            r"Not permitted: (.+?)(?: Do not try to reach the same.*| Nothing was done\..*)?$", self.first_line()
        )
        return match[1].rstrip(".") if match else ""

    @property
    def interrupted(self) -> bool:
        """It was cut off and has no result of its own."""
        return bool(_INTERRUPTED.match(self.text))

    @property
    def cleared(self) -> bool:
        """It was done, but its text was taken out of the request."""
        return self.text.startswith(_CLEARED)

    @property
    def ok(self) -> bool:
        """It did what it should; a command: it ended with exit code 0."""
        if self.cleared:
            return True
        success = _SUCCESS.get(self.call.name)
        if success is None:
            return not (self.refused or self.interrupted)
        return bool(success.match(self.plain.split("\n", 1)[0]))

    @property
    def missing(self) -> bool:
        """There is no such file."""
        return not self.ok and " does not exist." in self.first_line()

    @property
    def stale(self) -> bool:
        """The file changed after it was read."""
        return not self.ok and ("changed since it was read" in self.text or "in the meantime" in self.text)

    @property
    def unseen(self) -> bool:
        """The file exists and was not read before it was to be overwritten."""
        return not self.ok and "was not read yet" in self.text

    @property
    def exit_code(self) -> int | None:
        """A command's exit code, None where there is none."""
        match = _EXIT.match(self.plain) if self.call.name == "run_command" else None
        return int(match[1] or match[2]) if match else None

    @property
    def next_line(self) -> int | None:
        """Where to read on, None when all was shown."""
        match = _READ_ON.search(self.text)
        return int(match["next"]) if match else None

    @property
    def total_lines(self) -> int:
        """How many lines the file, or the stored result, has in all."""
        match = _OF.search(self.text)
        lines = self.lines()
        return int(match["total"]) if match else lines[-1][0] if lines else 0

    @property
    def counts(self) -> str:
        """How many lines a change added and took away, as its tool counts them: `(+2 −1)`; "" where it does not say."""
        match = re.search(r"\([+−][+−\d ]*\)", self.first_line())
        return match[0] if match else ""

    @property
    def is_folder(self) -> bool:
        """The path that was to be read is a folder."""
        return not self.ok and " is a directory." in self.first_line()

    def first_line(self) -> str:
        """The first line with something in it: of a failure, what went wrong."""
        return next((line.strip() for line in self.plain.split("\n") if line.strip()), "no text came back")

    def lines(self) -> list[tuple[int, str]]:
        """The numbered lines of a file, numbers from 1; what was left out is a gap in the numbers."""
        found = (_NUMBERED.match(line) for line in self.plain.split("\n"))
        return [(int(match[1]), match[2]) for match in found if match]

    def entries(self) -> list[str]:
        """What a listing holds; folders end with a slash, links are named without where they lead."""
        lines = self.plain.split("\n")[1:] if self.ok else []
        return [
            line.split(" -> ")[0]
            for line in lines
            if line.strip() and not line.startswith("[…") and not _GAP.match(line)
        ]

    def files(self) -> list[str]:
        """The entries of a listing that are no folders."""
        return [entry for entry in self.entries() if not entry.endswith("/")]

    def matches(self) -> list[tuple[str, int]]:
        """Path and line number of each match of a search."""
        found = (_MATCH.match(line) for line in self.plain.split("\n")) if self.ok else ()
        return [(match["path"], int(match["line"])) for match in found if match]

    def body(self) -> str:
        """The result without its first line (a count, an exit code) and without closing notes."""
        rest = self.plain.split("\n")[1:]
        return "\n".join(line for line in rest if not _MORE.match(line))

    def output(self) -> str:
        """What a command printed, "" for nothing."""
        text = self.body().strip("\n")
        return "" if text == "(no output)" else text

    def near_names(self) -> list[str]:
        """Names that the tool offered in place of one that does not exist."""
        match = re.search(r"Near names: (.+?)\.?$", self.first_line())
        return match[1].split(", ") if match else []

    def cut_call(self) -> str:
        """The id under which the whole of a cut result can be read, "" when it was not cut."""
        notice = _NOTICE.match(self.text)
        match = _CALL_ID.search(notice[0]) if notice else None
        return match[1] if match else ""

    def remark(self) -> str:
        """A line for the user when not all of the result was shown to the model, "" when all was."""
        if self.cleared:
            return "\n(The text of this result was taken out of my view to save room.)"
        read_on = _READ_ON.search(self.text)
        if read_on:
            return f"\n(This is a part: up to line {read_on['last']} of {read_on['total']}. Say “read on” for more.)"
        if _NOTICE.match(self.text):
            return "\n(The result was long: I was shown its head and its tail. Say “read on” for more.)"
        return "\n(There is more than is shown here.)" if _MORE.search(self.text) else ""
