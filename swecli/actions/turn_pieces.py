"""How a user names a piece of a turn: the turn, a file that it changed, a hunk of the file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from swecli.models.action import Values
from swecli.models.errors import BadInput
from swecli.models.ids import parse_short_id

if TYPE_CHECKING:  # the prompt completes names before these are loaded
    from swecli.app import Runtime
    from swecli.models.session import Session
    from swecli.undo.turn_files import FileDiff, TurnFile, TurnFiles

_MAX_TURNS = 12  # offered to complete a turn
_MAX_QUERY = 50  # characters of a turn's query beside its name


def complete_turns(runtime: Runtime) -> Values:
    """Return the names of the newest turns, each with the beginning of its query on one line."""
    newest = reversed(runtime.session.group_by_interaction(_MAX_TURNS))
    queries = [messages[0] for messages in newest]
    return [
        (f"T{query.interaction}", " ".join(query.content.split())[:_MAX_QUERY]) for query in queries
    ]


def split_turn(text: str) -> tuple[int, str] | None:
    """Return the number of the turn that a text begins with, such as `T7`, and the rest; None if it begins with
    none."""
    word, _, rest = text.partition(" ")
    turn = parse_short_id("T", word)
    if turn is None:
        return None
    return int(turn.removeprefix("T-")), rest.strip()


def complete_changes(runtime: Runtime, text: str) -> Values:
    """Return what may be written for the files that the turn at the beginning of a text has changed."""
    turn = text.split()[0]
    return [
        (f"{turn} {file.typed_name}", f"by {' and '.join(file.changers)}" if file.changers else "")
        for file in _changed_files(runtime, text)
    ]


def complete_pieces(runtime: Runtime, text: str) -> Values:
    """Return what may be written for the files that the turn at the beginning of a text has changed, and for the hunks
    of the one that is named in full."""
    turn = text.split()[0]
    values = [*complete_changes(runtime, text)]
    for file in _changed_files(runtime, text):
        written_file = f"{turn} {file.typed_name}"
        if text.startswith(f"{written_file} ") and runtime.history is not None:
            hunks = runtime.history.files.hunks(file)
            values += [(f"{written_file} {hunk.number}", hunk.description) for hunk in hunks]
    return values


def _changed_files(runtime: Runtime, text: str) -> list[TurnFile]:
    turn_and_piece = split_turn(text)
    if runtime.history is None or turn_and_piece is None:
        return []
    return runtime.history.files.of_turn(turn_and_piece[0])


def find_diffs(files: TurnFiles, session: Session, text: str) -> list[FileDiff]:
    """Return the changes that a text names: of the last turn, of a turn, of one of its files, or of the session. Raises
    BadInput."""
    if text == "session":
        session.resolve_turn("")
        return files.diffs_of_session()
    turn, _, name = text.partition(" ")
    number = session.resolve_turn(turn)
    diffs = files.diffs_of_turn(number)
    if not name:
        if not diffs:
            files.refuse_copied(number)
        return diffs
    file, hunk = files.find(number, name.strip())
    if hunk:
        raise BadInput("/diff shows a whole file.", f"Use /diff T{number} {file.name}")
    return [diff for diff in diffs if diff.name == file.name]
