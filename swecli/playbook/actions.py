"""Everything the user can do with the playbook, by name: the REPL and the shell offer exactly this."""

from __future__ import annotations

from swecli.playbook import (
    desk_carrying,
    desk_changing,
    desk_looking,
    desk_past,
    desk_reviewing,
    desk_undoing,
    desk_why,
)
from swecli.playbook.desk import Action

ACTIONS: dict[str, Action] = {
    action.name: action
    for action in (
        Action("list", "", "all strategies with counts, score and state", desk_looking.list_all),
        Action("show", "P-7", "one with its evidence, its changes and its prompts", desk_looking.show, 1, 1),
        Action("add", "TEXT", "teach one for this project", desk_changing.add, 1, None, 0),
        Action("edit", "P-7 TEXT", "put it differently", desk_changing.edit, 2, None, 1),
        Action("pin", "P-7", "have it in every prompt", desk_changing.pin, 1, 1),
        Action("disable", "P-7", "keep it, but out of prompts", desk_changing.disable, 1, 1),
        Action("restore", "P-7", "make it an active one again", desk_changing.restore, 1, 1),
        Action("promote", "P-7 project|user", "let it apply more widely", desk_changing.promote, 2, 2),
        Action("remove", "P-7", "forget it", desk_changing.remove, 1, 1),
        Action("undo", "[N]", "take the last N changes back", desk_undoing.undo, 0, 1),
        Action("redo", "[N]", "bring back what the last N undos took", desk_undoing.redo, 0, 1),
        Action("why", "[T7|WORDS]", "every candidate for a prompt, and what decided", desk_why.why, 0, None, 0),
        Action("log", "[N]", "the changes, newest first", desk_past.log, 0, 1, flags=(desk_past.EVERY,)),
        Action("diff", "[N]", "what the last N changes came to", desk_past.diff, 0, 1),
        Action("blame", "P-7", "which change made it what it is", desk_past.trace, 1, 1),
        Action("review", "[P-7 use|keep|remove]", "what waits for your word", desk_reviewing.review, 0, 2),
        Action(
            "export",
            "[agents|skill] [FILE]",
            "Markdown, a patch of AGENTS.md, a skill",
            desk_carrying.export,
            0,
            None,
            flags=(desk_carrying.FORCE,),
        ),
        Action("import", "FILE", "take in an export", desk_carrying.bring, 1, None, flags=(desk_carrying.VOUCH,)),
        Action("off", "", "keep it out of this project's prompts", desk_changing.switch_off),
        Action("on", "", "let it in again", desk_changing.switch_on),
        Action("stats", "", "how much there is and what it took", desk_looking.stats),
        Action("effect", "[P-7]", "use and outcomes, with intervals", desk_looking.effect, 0, 1),
    )
}
