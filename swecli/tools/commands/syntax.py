"""Read a command line without running anything: its simple commands with their words, what they are given as input, and
the files that it redirects to. Two parsers must agree on the words: tree-sitter's bash grammar, and shlex."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING

from swecli.text import escape_hidden
from swecli.tools.limits import one_line
from swecli.values import dataclass

if TYPE_CHECKING:
    from tree_sitter import Node, Tree

MAX_LENGTH = 10_000  # characters
MAX_COMMANDS = 50  # simple commands of one line that are looked at
_MAX_SHOWN = 40  # characters shown of a part of the command
_OPERATORS = frozenset({"|", "&&", "||", ";"})
# What holds simple commands without deciding whether or how often they run, and what is no part of one.
_STRUCTURE = frozenset({"program", "list", "pipeline", "redirected_statement", "heredoc_redirect"})
_NO_COMMAND = frozenset({"comment", "<<", "<<-", "heredoc_start", "heredoc_body", "heredoc_end"})
_REDIRECTIONS = frozenset({"file_redirect", "herestring_redirect"})
_WORDS = frozenset(
    {
        "word",
        "number",
        "raw_string",
        "string",
        "concatenation",
        "ansi_c_string",
        "translated_string",
    }
    | {"simple_expansion", "expansion", "command_substitution", "process_substitution"}
    | {"arithmetic_expansion", "brace_expression"}
)
_WILDCARD = re.compile(r"(?<!\\)[*?\[]")
_HOME = re.compile(r"^~|[=:]~")
_BRACES = re.compile(r"\{[^}]*(?:,|\.\.)")
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_QUOTED_ESCAPE = re.compile(r"\\([$`\"\\\n])")
_SHLEX_ESCAPE = re.compile(r"\\([\"\\])")  # within double quotes
_SUBSTITUTED = b"X"  # takes the place of a substitution, whose own commands are read apart
_DESCRIPTOR = re.compile(r"\d|-")
_OUTPUTS = frozenset({">", ">>", ">|", ">&", "&>", "&>>"})
_NO_ARGUMENTS = frozenset({"command_name", "file_redirect"})
_SUBSTITUTED_BY_SHELL = frozenset(
    {"simple_expansion", "expansion", "command_substitution", "process_substitution"}
)
_STATEMENTS = frozenset({"command", "pipeline", "redirected_statement"})
# what may be a word for a program, whole or in part
_TEXTS = frozenset(
    {"word", "number", "raw_string", "string", "concatenation", "string_content", "ansi_c_string"}
    | {"heredoc_body"}
)
_SEPARATORS = re.compile(r"""[\s;&|(){}<>`'"=:,$]+""")  # between words in a text
# What the grammar's scanner looks up in a table of 256 characters: `isdigit` in brace_start of its scanner.c.
_AFTER_BRACE = re.compile(r"(?<=\{)(\d*(?:\.\.\d*)?)[^\x00-\xff]")
_QUOTING = re.compile(r"""\\(.)|\$?["']""", re.DOTALL)
_MAX_NESTING = 8  # command lines in each other


@dataclass(frozen=True, slots=True)
class Word:
    """A word: `text` as the program gets it, or what is known of it, and `raw` as written. Unless it `is_known`, the
    shell puts something else in its place, perhaps several words or none."""

    text: str
    raw: str
    is_known: bool = True
    has_wildcard: bool = False


@dataclass(frozen=True, slots=True)
class SimpleCommand:
    """A program and its words. `operator` precedes it on its line, "" for the first; `input` is the text of a
    here-document or here-string."""

    words: tuple[Word, ...]
    operator: str = ""
    input: str = ""

    @property
    def raw(self) -> str:
        """The words as written, separated by spaces."""
        return " ".join(word.raw for word in self.words)

    @property
    def program(self) -> str:
        """The name of the program without its folder, "" if only the shell knows it."""
        return self.words[0].text.rsplit("/", 1)[-1] if self.words[0].is_known else ""


@dataclass(frozen=True, slots=True)
class CommandLine:
    """A line as it was read. `commands` are all simple commands in it, those in substitutions, loops and functions
    too; `outputs` and `inputs` are the files that it redirects to and from. `problem` says why something that it does
    may be missing here, "" if nothing is; much may be if it is not `is_parsed`."""

    commands: tuple[SimpleCommand, ...] = ()
    outputs: tuple[str, ...] = ()
    inputs: tuple[str, ...] = ()
    problem: str = ""
    is_parsed: bool = True


@dataclass(frozen=True, slots=True)
class Statement:
    """A part of a command line that is a simple command or a pipeline with its redirections: `text` as written, and
    `read_text` without the files that its output goes to."""

    text: str
    read_text: str


@lru_cache(maxsize=64)
def read_command(command: str) -> CommandLine:
    """Read a command line."""
    return _read(command, nesting=0)


def _read(command: str, nesting: int) -> CommandLine:
    if len(command) > MAX_LENGTH:
        return CommandLine(problem=f"has more than {MAX_LENGTH:,} characters", is_parsed=False)
    if nesting > _MAX_NESTING:
        return CommandLine(problem="has too many command lines in each other", is_parsed=False)
    root = _parse(command).root_node
    reader = _Reader(nesting)
    reader.read(root)
    problem = reader.problem
    if root.has_error:
        problem = "cannot be parsed as a shell command"
    elif escape_hidden(command, keep="\n") != command:
        problem = "contains an invisible character"
    elif len(reader.commands) > MAX_COMMANDS:
        problem = f"has more than {MAX_COMMANDS} commands"
    elif not problem and not reader.commands:
        problem = "is empty"
    elif not problem and not _shlex_agrees(command, reader):
        problem = "is quoted in a way that is not clear"
    commands = tuple(reader.commands[:MAX_COMMANDS])
    return CommandLine(
        commands,
        outputs=tuple(reader.outputs),
        inputs=tuple(reader.inputs),
        problem=problem,
        is_parsed=not root.has_error,
    )


class _Reader:
    """Reads a syntax tree in one pass. `tokens` are the words and operators in their order as shlex should find them,
    and `cuts` the spans of bytes in place of which it gets others."""

    def __init__(self, nesting: int) -> None:
        self.commands: list[SimpleCommand] = []
        self.outputs: list[str] = []
        self.inputs: list[str] = []
        self.problem = ""
        self.tokens: list[str] = []
        self.cuts: dict[tuple[int, int], bytes] = {}
        self._nesting = nesting
        self._operator = ""
        self._given = 0  # the index of the command that gets the next here-document

    def read(self, root: Node) -> None:
        pending = [root]
        while pending:
            node = pending.pop()
            if node.type in _STRUCTURE:
                pending += reversed(node.children)
            elif node.type == "command":
                self._add_command(node)
                self._add_lone_dash(node)
            elif node.type in _REDIRECTIONS:
                self._give(self._add_redirection(node))
            elif node.type in _OPERATORS:
                self._operator = node.type
                self.tokens.append(node.type)
            elif node.type in _NO_COMMAND:
                self._pass_over(node)
            elif node.type not in ("\n", "file_descriptor"):
                self._add_unsupported(node)
                pending += reversed(node.children)

    def _add_unsupported(self, node: Node) -> None:
        """Note what is not understood; the commands in it are read all the same."""
        if not self.problem:
            self.problem = (
                f"contains {one_line(_text(node), _MAX_SHOWN)}, which only a shell understands"
            )

    def _pass_over(self, node: Node) -> None:
        self.cuts[node.start_byte, node.end_byte] = b""
        if node.type.startswith("<<"):
            self._given = len(self.commands) - 1
        if node.type == "heredoc_body":
            self._read_substitutions(node)
            self._give(_text(node), self._given)

    def _give(self, text: str, index: int = -1) -> None:
        """Note what a command gets as its input: the last one, or that at an index."""
        if text and self.commands and index < len(self.commands):
            self.commands[index] = replace(self.commands[index], input=text)

    def _add_command(self, node: Node) -> None:
        words = []
        given = ""
        for child in node.children:
            if child.type in _REDIRECTIONS:
                given = self._add_redirection(child) or given
            elif child.type == "variable_assignment":
                self._add_unsupported(child)
                self._read_substitutions(child)
            else:
                is_name = child.type == "command_name" and child.children
                words.append(self._read_word(child.children[0] if is_name else child))
        if not words:
            return
        program = words[0]
        if not program.is_known or program.has_wildcard or "=" in program.text:
            self.problem = self.problem or "does not name its program by a plain word"
        self.commands.append(SimpleCommand(tuple(words), self._operator, given))
        self._operator = ";"

    def _add_lone_dash(self, node: Node) -> None:
        """Add the word `-` behind a command and before a here-document, which the grammar leaves out of its tree."""
        following = node.next_sibling
        whole = node.parent
        if following is None or whole is None or whole.text is None:
            return
        start = node.end_byte - whole.start_byte
        if whole.text[start : following.start_byte - whole.start_byte].strip() != b"-":
            return
        command = self.commands[-1]
        self.commands[-1] = replace(command, words=(*command.words, Word("-", "-")))
        self.tokens.append("-")

    def _add_redirection(self, node: Node) -> str:
        """Note a file. Returns the text of a here-string, "" of another redirection."""
        target = node.children[-1]
        operators = [child for child in node.children[:-1] if child.is_named or child.type.strip()]
        operator = operators[-1].type if operators else ""
        self.tokens += map(_text, operators)
        word = self._read_word(target)
        if operator == "<<<":
            return word.text
        if operator in (">&", "<&") and _DESCRIPTOR.fullmatch(word.text):
            return ""
        if not word.is_known:
            self._add_unsupported(node)
        if word.text != "/dev/null":
            (self.inputs if operator.startswith("<") else self.outputs).append(word.text)
        return ""

    def _read_word(self, node: Node) -> Word:
        """Return a word; the commands that its substitutions run are read as well."""
        pieces = node.children if node.type == "concatenation" else [node]
        raw = _text(node)
        bare = "".join(
            _text(piece) if piece.type in ("word", "number") else "," for piece in pieces
        )
        is_known = not _BRACES.search(bare)
        text = ""
        token = ""
        for piece in pieces:
            value = _unquote(piece)
            self._read_substitutions(piece)
            is_known = is_known and value is not None
            text += _text(piece) if value is None else value
            token += self._token_of(piece)
        if _HOME.search(bare):
            is_known = False
        self.tokens.append(token)
        is_glob = any(p.type == "word" and _WILDCARD.search(_text(p)) for p in pieces)
        return Word(text, raw, is_known, is_glob)

    def _token_of(self, piece: Node) -> str:
        """Return the piece of a word as shlex reads it, without the substitutions in it."""
        text = bytearray(piece.text or b"")
        for inner in reversed([n for n in _nodes(piece) if n.type.endswith("_substitution")]):
            start = inner.start_byte - piece.start_byte
            text[start : inner.end_byte - piece.start_byte] = _SUBSTITUTED
            self.cuts[inner.start_byte, inner.end_byte] = _SUBSTITUTED
        plain = text.decode()
        if piece.type == "raw_string":
            return plain[1:-1]
        if piece.type == "ansi_c_string":
            return f"${plain[2:-1]}"
        if piece.type == "string":
            return _SHLEX_ESCAPE.sub(r"\1", plain[1:-1])
        return _ESCAPE.sub(r"\1", plain)

    def _read_substitutions(self, top: Node) -> None:
        """Read the commands in the substitutions of a word or text."""
        substitutions = [node for node in _nodes(top) if node.type.endswith("_substitution")]
        for node in substitutions:
            inner = _text(node).lstrip("$<>").strip("`")
            line = _read(inner.removeprefix("(").removesuffix(")"), self._nesting + 1)
            self.commands += line.commands
            self.outputs += line.outputs
            self.inputs += line.inputs
            self.problem = self.problem or line.problem
        for node in _nodes(top):
            is_plain = node.type == "expansion" and node.named_child_count == 1
            if node.type == "expansion" and not (is_plain and len(node.children) == 3):
                self._add_unsupported(node)  # ${name@P} runs what its value names


def _unquote(node: Node) -> str | None:
    """Return the text of a piece of a word, None if the shell puts something else in its place."""
    text = _text(node)
    if node.type == "raw_string":
        return text[1:-1]
    if node.type == "ansi_c_string":
        return None if "\\" in text else text[2:-1]
    if node.type == "string":
        is_plain = all(child.type in ('"', "string_content", "$") for child in node.children)
        return _QUOTED_ESCAPE.sub(r"\1", text[1:-1]) if is_plain else None
    if node.type in ("word", "number", "{", "}"):
        return _ESCAPE.sub(r"\1", text)
    return None


def _shlex_agrees(command: str, reader: _Reader) -> bool:
    """Return whether shlex finds the same words and operators."""
    data = bytearray(command.encode())
    for start, end in sorted(reader.cuts, reverse=True):
        data[start:end] = reader.cuts[start, end]
    joined = data.decode().replace("\\\n", "")
    lexer = shlex.shlex(joined, posix=True, punctuation_chars=";&|<>()")
    lexer.whitespace_split = True
    lexer.commenters = ""
    try:
        return list(lexer) == reader.tokens
    except ValueError:
        return False


def name_pipeline(command: str) -> list[str]:
    """Return the names of the programs of the command line's last pipeline, without folders and the variables set for
    them; "" for a program that only the shell knows. It is for display, so nothing is refused."""
    node = _last_part(_parse(command).root_node)
    stages = node.named_children if node.type == "pipeline" else [node]
    return [_name_stage(_last_part(stage)) for stage in stages]


def loose_words(command: str) -> Iterator[str]:
    """Yield whatever may be a word of a command, at any nesting: each word without its quotes, the pieces of it that no
    variable stands for, and those of a text that another program may take for a command. Nothing is refused; of a
    command that is too long to be parsed only the pieces between blanks and signs are there."""
    yield from _SEPARATORS.split(command)
    if len(command) > MAX_LENGTH:
        return
    for node in _nodes(_parse(command).root_node):
        if node.type in _TEXTS:
            yield from _loose_pieces(_text(node))


def split_statements(command: str) -> list[Statement]:
    """Return the statements of a command, at any nesting, in their order, and what else is in it, such as the values of
    a loop. Nothing is refused; a command that is too long or cannot be parsed is one statement."""
    if len(command) > MAX_LENGTH:
        return [Statement(command, command)]
    root = _parse(command).root_node
    if root.has_error:
        return [Statement(command, command)]
    statements = []
    pending = [root]
    while pending:
        node = pending.pop()
        if node.type in _STATEMENTS or not node.children:
            statements.append(Statement(_text(node), _without_outputs(node)))
        else:
            pending += reversed(node.children)
    return statements


def argument_words(command: str) -> Iterator[str]:
    """Yield what may be a word of a command, at any nesting, but for the names of programs, and the files that input
    comes from or output goes to."""
    for node in _nodes(_parse(command).root_node):
        has_other_use = node.parent is not None and node.parent.type in _NO_ARGUMENTS
        if node.type in _TEXTS and not has_other_use:
            yield from _loose_pieces(_text(node))


def has_unknown_words(command: str) -> bool:
    """Return whether the shell puts something into the command that only it knows: a variable, the output of another
    command."""
    return any(node.type in _SUBSTITUTED_BY_SHELL for node in _nodes(_parse(command).root_node))


def _without_outputs(statement: Node) -> str:
    """Return the text of a statement with blanks in place of the files that its output goes to."""
    text = bytearray(statement.text or b"")
    for node in _nodes(statement):
        target = node.child_by_field_name("destination")
        if target is None or not _OUTPUTS.intersection(child.type for child in node.children):
            continue
        start = target.start_byte - statement.start_byte
        end = target.end_byte - statement.start_byte
        text[start:end] = b" " * (end - start)
    return text.decode()


def _nodes(top: Node) -> Iterator[Node]:
    """Yield a node and all below it, in the order of the text."""
    pending = [top]
    while pending:
        node = pending.pop()
        yield node
        pending += reversed(node.children)


def _loose_pieces(text: str) -> Iterator[str]:
    """Yield a text as one word, and the words that may be in it."""
    word = _QUOTING.sub(r"\1", text)
    yield word
    yield word.lstrip("/")  # behind a variable: $PWD/name
    if word.startswith("-"):
        yield word[2:]  # an option with its value: -Cname
    yield from _SEPARATORS.split(text)


def _last_part(node: Node) -> Node:
    """Return what a list of commands ends with, without its redirections. The grammar puts a list also into the first
    stage of a pipeline: `cd a && b 2>&1 | c`."""
    while node.type in ("program", "list", "redirected_statement"):
        inside = [child for child in node.named_children if child.type != "file_redirect"]
        if not inside:
            return node
        node = inside[-1]
    return node


def _name_stage(stage: Node) -> str:
    name = stage.child_by_field_name("name") if stage.type == "command" else None
    return _text(name).strip("\"'").rpartition("/")[2] if name is not None else ""


def _parse(command: str) -> Tree:
    """Parse a command line. Of a character that would end the process in the parser an X is read: then the two parsers
    do not agree."""
    # late: not needed before the first command is checked
    import tree_sitter_bash
    from tree_sitter import Language, Parser

    # a parser of its own: one is not safe to share between threads, and costs microseconds
    source = _AFTER_BRACE.sub(r"\1X", command).encode("utf-8", "replace")
    return Parser(Language(tree_sitter_bash.language())).parse(source)


def _text(node: Node) -> str:
    return (node.text or b"").decode()
