"""The words in which a question says why a command asks: one phrase each, about the command or a part of it. What is
known of single programs and options stands in programs.toml."""

from __future__ import annotations

from swecli.tools.limits import one_line

_MAX_PART = 40  # characters shown of a part of the command
_NOT_ANALYSED = "which swecli does not analyse"

# About the whole command.
EMPTY = "is empty"
UNPARSED = "cannot be parsed as a shell command"
SEVERAL_LINES = f"has more than one line, {_NOT_ANALYSED}"
INVISIBLE = "contains an invisible character"
UNCLEAR_QUOTING = "is quoted in a way that is not clear"
NO_PLAIN_PROGRAM = "does not name its program by a plain word"
EXPANDS_BRACES = "contains {…}, which the shell expands"
USES_VARIABLE = "uses a variable, whose value swecli does not know"
COMMENT = f"contains a comment, {_NOT_ANALYSED}"
HOME = "uses ~ for a home folder"
WILDCARD = f"contains a wildcard, {_NOT_ANALYSED}"
READS_FILE = "reads its input from a file"
WRITES_FILE = "writes its output to a file"
CD = "changes the folder, which swecli follows only at the start, as in `cd FOLDER && …`"
WHOLE_FOLDER = "changes the whole folder"
RELATIVE_PATH = "finds its programs by a PATH with a relative folder"
TOO_MANY_FILES = "reads too many files to look at each"
UNKNOWN_SEARCH = "searches files that are not known in advance"
UNKNOWN_SHOWN = "shows files that are not known in advance"
SIGNATURES = "starts gpg, to look at signatures"

# About a program, an option or another word, which comes before these.
DOES_MORE = "does more than read"
MAY_DO_MORE = "may do more than read"
RUNS_INPUT = "runs what is piped into it"
WRITES_SECOND = "may write if it has more than one argument"
MAY_BE_OPTION = "may be an option"
OPTION_OR_FILE = "may be an option or a file"
BECOMES_OPTION = "would be taken for an option"
EXPANDS_TO_OPTION = "could expand to an option"
TOO_MANY_MATCHES = "matches too many files"
OF_WORKSPACE = "is a program of the workspace"
NO_FILE = "is a pipe, socket or device"
NO_FOLDER = "is not a folder"
OVERWRITTEN = "is a file, which would be overwritten"
LINKED_FOLDER = "is a link to another folder"

# About syntax that is not analysed further, by the node types of the grammar.
_SYNTAX = {
    "runs something in the background": "&",
    COMMENT: "comment",
    "runs a command inside another one": "command_substitution process_substitution",
    USES_VARIABLE: "simple_expansion expansion",
    "sets a variable": "variable_assignment variable_assignments declaration_command unset_command",
    EXPANDS_BRACES: "brace_expression",
    f"contains a here-document, {_NOT_ANALYSED}": "heredoc_redirect herestring_redirect",
    f"contains a group of commands, {_NOT_ANALYSED}": "subshell compound_statement",
    f"contains a loop, {_NOT_ANALYSED}": "for_statement c_style_for_statement while_statement",
    f"contains a condition, {_NOT_ANALYSED}": "if_statement case_statement",
    f"contains a test in brackets, {_NOT_ANALYSED}": "test_command",
    f"contains a negation, {_NOT_ANALYSED}": "negated_command",
    f"contains arithmetic, {_NOT_ANALYSED}": "arithmetic_expansion",
    f"defines a function, {_NOT_ANALYSED}": "function_definition",
}
_BY_NODE_TYPE = {kind: why for why, kinds in _SYNTAX.items() for kind in kinds.split()}


def about(why: str, *words: str) -> str:
    """Return what is or happens with these words of the command: a program, an option, a path."""
    return f"{' '.join(one_line(word, _MAX_PART) for word in words)} {why}"


def syntax(node_type: str, text: str) -> str:
    """Return the reason for a node of the grammar, which is written as `text`."""
    unnamed = f"contains {one_line(text, _MAX_PART)}, {_NOT_ANALYSED}"
    return _BY_NODE_TYPE.get(node_type, unnamed)


def too_long(limit: int, what: str) -> str:
    """Return the reason for a command of more than `limit` characters or commands."""
    return f"has more than {limit:,} {what}"


def searched(place: str, why: str) -> str:
    """Return the reason for a search of a place in which one file asks, for the reason `why`."""
    return f"reads {one_line(place, _MAX_PART)}, where {why}"


def no_rule(program: str) -> str:
    """Return why a user's rule does not cover a program."""
    return about("runs without a question only by a rule for exactly this command", program)


def failed(error: OSError) -> str:
    """Return the reason for an error of the system while the command was looked at."""
    return f"cannot be analysed: {error.strerror or error}"
