"""The names of the actions on the playbook with their arguments: all that completion and --help need."""

from __future__ import annotations

from swecli.playbook.action import Action

ACTIONS: dict[str, Action] = {
    action.name: action
    for action in (
        Action(
            "list",
            "[--log [N]] [--verbose] [--export FILE]",
            "all strategies; their changes; all figures; the whole as Markdown",
            flags=("--log", "--verbose", "--export=", "--force"),
        ),
        Action("show", "P-7", "one with its evidence, its changes and its prompts"),
        Action("why", "[T7|WORDS]", "what a prompt got, and what decided", 0),
        Action(
            "add", "TEXT | --from FILE", "teach one for this project, or take in an export", 0, ("--from=", "--trust")
        ),
        Action(
            "edit",
            "P-7|all [TEXT] [--pin] [--off] [--on] [--scope project|user] [--when WORDS]",
            "put it differently, pin it, switch it off or on",
            1,
            ("--pin", "--off", "--on", "--scope=", "--when="),
        ),
        Action("remove", "P-7", "forget it"),
        Action(
            "undo", "[N] [--redo]", "take the last N changes back, or bring back what an undo took", flags=("--redo",)
        ),
        Action("review", "[P-7 use|remove]", "what needs your approval"),
    )
}
