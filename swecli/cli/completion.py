"""`swecli completion`: shell scripts for completion, and the words they ask for."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from swecli.cli.flags import SUBCOMMANDS, Parser, subcommand
from swecli.config.settings import SETTINGS
from swecli.models.action import ActionResult
from swecli.models.errors import SwecliError
from swecli.models.message import MODES

_SESSIONS = 50  # the newest, as a list of completions
_SCRIPTS = {
    "bash": r"""_swecli() {
  local IFS=$'\n'
  COMPREPLY=($(compgen -W "$("$1" completion words -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null | cut -f1)" -- "$2"))
}
complete -o default -F _swecli swecli
""",
    "zsh": r"""#compdef swecli
_swecli() {
  local line
  local -a found
  for line in "${(@f)$(${words[1]} completion words -- "${(@)words[2,CURRENT]}" 2>/dev/null)}"; do
    [[ -n $line ]] && found+=("${${line%%$'\t'*}//:/\\:}:${line#*$'\t'}")
  done
  if (( $#found )); then _describe swecli found; else _files; fi
}
compdef _swecli swecli
""",
    "fish": r"""function __swecli_words
  set -l words (commandline -opc) (commandline -ct)
  set -l found ($words[1] completion words -- $words[2..-1] 2>/dev/null)
  if count $found >/dev/null
    printf '%s\n' $found
  else
    __fish_complete_path (commandline -ct)
  end
end
complete -c swecli -f -a '(__swecli_words)'
""",
}


@subcommand
def _completion(parser: Parser) -> None:
    """Completion of swecli's own words in a shell: `source <(swecli completion bash)` in ~/.bashrc, zsh alike; for
    fish, `swecli completion fish | source`."""
    for shell in _SCRIPTS:
        parser.action(shell, _script, f"print the completion script for {shell}")
    words = parser.action(
        "words", _words, "list the completions of the last word, for these scripts"
    )
    words.add_argument("words", nargs="*", metavar="WORD")


def _script(args: argparse.Namespace) -> ActionResult:
    text = _SCRIPTS[args.action]
    return ActionResult({"script": text}, tuple(text.splitlines()), exact=text)


def _words(args: argparse.Namespace) -> ActionResult:
    found = list(_candidates(args.words or [""]))
    text = "".join(f"{word}\t{what}\n" for word, what in found)
    return ActionResult(dict(found), tuple(f"{word}  {what}" for word, what in found), exact=text)


def _candidates(words: list[str]) -> Iterator[tuple[str, str]]:
    """Yield completions of the last word after `swecli`, with descriptions; none where a file or other value fits."""
    *before, typed = words
    parser: argparse.ArgumentParser = Parser.for_run()
    if before and before[0] in SUBCOMMANDS:
        parser = Parser.for_subcommand(before[0])
    elif not before:
        yield from ((name, "") for name in SUBCOMMANDS if name.startswith(typed))
    for word in before:
        parser = next((one[word] for one in _action_parsers(parser) if word in one), parser)
    last = parser._option_string_actions.get(before[-1]) if before else None
    if last is not None and last.nargs != 0:
        if last.dest in ("resume", "session"):
            yield from _sessions(typed)
        yield from ((value, "") for value in _values_of(last) if value.startswith(typed))
        return
    if before in (["config", "get"], ["config", "set"]):
        yield from ((name, one.doc) for name, one in SETTINGS.items() if name.startswith(typed))
    if before[:2] == ["config", "set"] and len(before) == 3 and before[2] in SETTINGS:
        values = SETTINGS[before[2]].choices
        yield from ((value, "") for value in values if value.startswith(typed))
    if not typed.startswith("-") and any(one.dest == "session" for one in _positionals(parser)):
        yield from _sessions(typed)
    for names in _action_parsers(parser):
        yield from (
            (name, one.description or "") for name, one in names.items() if name.startswith(typed)
        )
    for action in parser._actions if typed.startswith("-") else ():
        for name in action.option_strings:
            if name.startswith(typed) and name.startswith("--"):
                yield name, " ".join((action.help or "").replace("%%", "%").split())


def _values_of(flag: argparse.Action) -> list[str]:
    """Return the values of a flag, [] if they are not known here, as of one that takes a file or a session."""
    if flag.dest == "mode":
        return list(MODES)
    if flag.dest == "model":
        # late: the other flags need no services
        from swecli.cli.models import known_models

        return ["demo", *known_models()]
    if isinstance(flag.metavar, str) and flag.metavar.islower() and "|" in flag.metavar:
        return flag.metavar.split("|")
    return [str(choice) for choice in flag.choices or ()]


def _positionals(parser: argparse.ArgumentParser) -> list[argparse.Action]:
    return [one for one in parser._actions if not one.option_strings]


def _sessions(typed: str) -> Iterator[tuple[str, str]]:
    """Yield the ids of the newest sessions, with their titles; none if there is no database that can be read."""
    # late: only where a session fits
    from swecli.cli.subcommands import open_sessions

    try:
        with open_sessions(Parser.for_run().parse_known_args([])[0]) as sessions:
            newest = sessions.catalog.list_sessions(None, _SESSIONS)
    except SwecliError:
        return
    for one in newest:
        if one.id.startswith(typed):
            yield one.id, one.shown_title


def _action_parsers(parser: argparse.ArgumentParser) -> list[dict[str, argparse.ArgumentParser]]:
    """Return the parsers of a subcommand's actions by name."""
    return [one.choices for one in parser._actions if isinstance(one, argparse._SubParsersAction)]
