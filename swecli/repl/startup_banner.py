"""The banner at start-up, and the summary of a resumed session."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from swecli import __version__
from swecli.models.errors import SwecliError
from swecli.models.finding import pluralize
from swecli.repl.render.formatting import format_age, sanitize

if TYPE_CHECKING:
    from swecli.config.settings import Start
    from swecli.models.session import Session
    from swecli.repl.render.screen import Screen

_HELP = ("/help for commands", "Shift+Tab to switch mode")


def _dim(text: str, color: bool) -> str:
    return f"\x1b[2m{text}\x1b[0m" if color else text


def banner(start: Start, color: bool, width: int = 80) -> str:
    """Render version, model, folder, help and notices."""
    facts = [f"swecli {__version__}", _describe_model(start.choice.name, start.choice.why), short_path(start.cwd)]
    lines = _wrap_parts([_one(fact) for fact in facts], width)
    if color:
        lines[0] = lines[0].replace("swecli", "\x1b[1mswecli\x1b[0m", 1)
    lines += [_dim(line, color) for line in _wrap_parts(_HELP, width)]
    lines += [f"! {_one(notice)}" for notice in start.notices]
    return "\n".join(lines) + "\n\n"


def _wrap_parts(parts: Sequence[str], width: int) -> list[str]:
    """Join parts into lines of at most `width` columns, without breaking a part."""
    lines = [parts[0]]
    for part in parts[1:]:
        longer = f"{lines[-1]} · {part}"
        if len(longer) <= width:
            lines[-1] = longer
        else:
            lines.append(part)
    return lines


def format_error(error: SwecliError, color: bool) -> str:
    """Format an error with its hint as one line."""
    mark = "\x1b[31m✗\x1b[0m" if color else "✗"
    return f"{mark} {' · '.join(_one(part) for part in (error.message, error.hint) if part)}\n"


def _describe_model(name: str, why: str) -> str:
    """Return a model's name with the reason why it was chosen."""
    if name.partition("/")[0] == "demo":
        return f"demo model (offline tour{f'; {why}' if why else ''})"
    return f"{name} ({why})" if why else name


def short_path(path: Path) -> str:
    """Return the path with the home folder as `~`."""
    try:
        inside = path.relative_to(Path.home())
    except (ValueError, RuntimeError):  # elsewhere, or there is no home folder
        return str(path)
    return f"~/{inside}" if inside.parts else "~"


def _one(text: str) -> str:
    return " ".join(sanitize(text).split())


def session_name(session: Session) -> str:
    """Return the session's title, or the beginning of its id."""
    return session.title or session.id[:13]


def show_session(screen: Screen, session: Session) -> None:
    """Print the session's name, its last query and its last answer."""
    turns, last = pluralize(session.interactions, "turn"), format_age(session.updated_at)
    screen.note(f"session {session_name(session)} · {turns} · last used {last}")
    groups = session.group_by_interaction()
    if not groups:
        return
    question, *replies = groups[-1]
    labels = "".join(f" {image['label']}" for image in question.images or ())
    screen.line(f"> {question.content}{labels}", "head")
    answers = [message for message in replies if message.role == "assistant" and message.content]
    if answers:
        screen.markdown(answers[-1].content)
    if not answers or answers[-1].status == "partial":
        screen.note("this turn was not finished")
