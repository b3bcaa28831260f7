"""A minimal program with a prompt like swecli's, with history, completions, keys and a footer: a lower bound for
start-up time."""

from __future__ import annotations

import sys
from pathlib import Path

from prompt_toolkit import PromptSession
from prompt_toolkit.completion import WordCompleter
from prompt_toolkit.history import FileHistory
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent

COMMANDS = [
    "/help",
    "/exit",
    "/new",
    "/sessions",
    "/resume",
    "/model",
    "/mode",
    "/window",
    "/prompt",
    "/playbook",
]
FILES = [f"package/module_{number}.py" for number in range(300)]


def main() -> None:
    """Read lines until Ctrl-D. The history goes into the folder given as argument."""
    keys = KeyBindings()

    @keys.add("escape", "enter")
    def new_line(event: KeyPressEvent) -> None:
        event.current_buffer.insert_text("\n")

    session: PromptSession[str] = PromptSession(
        "> ",
        history=FileHistory(Path(sys.argv[1]) / "history"),
        completer=WordCompleter(COMMANDS + FILES),
        complete_while_typing=True,
        key_bindings=keys,
        bottom_toolbar=lambda: "floor · ask · 0 turns sent · $0.00",
    )
    while True:
        try:
            session.prompt()
        except EOFError:
            return


if __name__ == "__main__":
    main()
