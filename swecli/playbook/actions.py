"""Everything the user can do with the playbook, by name: the REPL and the shell offer exactly this."""

from __future__ import annotations

from swecli.playbook import desk_carrying, desk_changing, desk_looking, desk_why
from swecli.playbook.desk import Action

ACTIONS: dict[str, Action] = {
    action.name: action
    for action in (
        Action("list", "", "all strategies with counts, score and state", desk_looking.list_all),
        Action("show", "P-7", "one with its evidence, its changes and its prompts", desk_looking.show),
        Action("add", "TEXT", "teach one for this project", desk_changing.add),
        Action("edit", "P-7 TEXT", "put it differently", desk_changing.edit),
        Action("pin", "P-7", "have it in every prompt", desk_changing.pin),
        Action("disable", "P-7", "keep it, but out of prompts", desk_changing.disable),
        Action("restore", "P-7", "make it an active one again", desk_changing.restore),
        Action("promote", "P-7 project|user", "let it apply more widely", desk_changing.promote),
        Action("remove", "P-7", "forget it", desk_changing.remove),
        Action("undo", "[N]", "take the last N changes back", desk_changing.undo),
        Action("why", "[T7|WORDS]", "every candidate for a prompt, and what decided", desk_why.why),
        Action("log", "[N]", "the changes, newest first", desk_looking.log),
        Action("diff", "[N]", "what the last N changes came to", desk_looking.diff),
        Action("blame", "P-7", "which change made it what it is", desk_looking.trace),
        Action("review", "[P-7 accept|refuse]", "what waits for your word", desk_changing.review),
        Action("export", "[agents|skill] [FILE]", "as Markdown, a patch of AGENTS.md, a skill", desk_carrying.export),
        Action(
            "import",
            "FILE",
            "take in an export",
            desk_carrying.bring,
            (("--trust", "what comes from elsewhere need not wait for your word"),),
        ),
        Action("off", "", "keep it out of this project's prompts", desk_changing.switch_off),
        Action("on", "", "let it in again", desk_changing.switch_on),
        Action("stats", "", "how much there is and what it took", desk_looking.stats),
        Action("effect", "[P-7]", "use and outcomes, with intervals", desk_looking.effect),
    )
}
