"""Parse a shell command into simple commands and their words, without running anything. The grammar is the part of the
shell in which each word is known in advance: bare and quoted words, wildcards, `|`, `&&`, `||`, `;`, and redirections
to /dev/null or between descriptors. Two parsers must agree on the words: tree-sitter's bash grammar, and shlex."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from swecli.text import escape_hidden
from swecli.tools.base import ToolError
from swecli.tools.commands import reasons

if TYPE_CHECKING:
    from tree_sitter import Node, Tree

MAX_LENGTH = 10_000  # characters
MAX_PARTS = 50  # simple commands that are checked
_STRUCTURE = frozenset({"program", "list", "pipeline", "redirected_statement"})
_OPERATORS = frozenset({"|", "&&", "||", ";"})
_REDIRECTS = frozenset({">", ">>", "<", ">&", "<&", "&>", "&>>"})
_WORDS = frozenset({"word", "number", "raw_string", "string", "concatenation"})
_LITERAL = re.compile(r"(?:[^\\$`'\"]|\\[^\w\s])*")
_ESCAPE = re.compile(r"\\(.)")
# within double quotes a $ is literal if no name can follow
_QUOTED = re.compile(r"(?:[^\\$`\"]|\\.|\$(?=$|[ |)/.,\\]))*")
_QUOTED_ESCAPE = re.compile(r"\\([$`\"\\])")
_WILDCARD = re.compile(r"(?<!\\)[*?\[]")
_HOME = re.compile(r"(?:^|[=:])~")
_EXPANDS = re.compile(r",|\.\.")
_STATEMENTS = frozenset({"command", "pipeline", "redirected_statement"})
_OUTPUTS = frozenset({">", ">>", ">|", ">&", "&>", "&>>"})
# what may be a word for a program, whole or in part
_TEXTS = _WORDS | {"string_content", "ansi_c_string", "heredoc_body"}
_SEPARATORS = re.compile(r"""[\s;&|(){}<>`'"=:,$]+""")  # between words in a text
_QUOTING = re.compile(r"""\\(.)|\$?["']""", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Word:
    """A word: `text` as the program gets it, `raw` as written; `has_wildcard` if the shell expands it."""

    text: str
    raw: str
    has_wildcard: bool = False


@dataclass(frozen=True, slots=True)
class SimpleCommand:
    """A simple command; the first word is its program. `operator` precedes it ("" for the first)."""

    words: tuple[Word, ...]
    operator: str = ""

    @property
    def raw(self) -> str:
        """The words as written, separated by spaces."""
        return " ".join(word.raw for word in self.words)


@dataclass(frozen=True, slots=True)
class Statement:
    """A part of a command line that is a simple command or a pipeline with its redirections: `text` as written, and
    `read_text` without the files that its output goes to."""

    text: str
    read_text: str


def parse_command(command: str) -> list[SimpleCommand]:
    """Return the simple commands in their order, at least one. Raises ToolError with the reason if it cannot."""
    if len(command) > MAX_LENGTH:
        raise ToolError(reasons.too_long(MAX_LENGTH, "characters"))
    if "\n" in command:
        raise ToolError(reasons.SEVERAL_LINES)
    if escape_hidden(command, keep="") != command:
        raise ToolError(reasons.INVISIBLE)
    tree = _parse(command)
    if tree.root_node.has_error:
        raise ToolError(reasons.UNPARSED)
    parts, tokens = _Reader().read(tree.root_node)
    if not _shlex_agrees(command, tokens):
        raise ToolError(reasons.UNCLEAR_QUOTING)
    return parts


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
    found = []
    pending = [root]
    while pending:
        node = pending.pop()
        if node.type in _STATEMENTS or not node.children:
            found.append(Statement(_text(node), _without_outputs(node)))
        else:
            pending += reversed(node.children)
    return found


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
        inside = [one for one in node.named_children if one.type != "file_redirect"]
        if not inside:
            return node
        node = inside[-1]
    return node


def _name_stage(stage: Node) -> str:
    name = stage.child_by_field_name("name") if stage.type == "command" else None
    return _text(name).strip("\"'").rpartition("/")[2] if name is not None else ""


def _parse(command: str) -> Tree:
    # late: not needed before the first command is checked
    import tree_sitter_bash
    from tree_sitter import Language, Parser

    # a parser of its own: one is not safe to share between threads, and costs microseconds
    return Parser(Language(tree_sitter_bash.language())).parse(command.encode())


class _Reader:
    """Reads a syntax tree in one pass. `tokens` are the words and operators in their order."""

    def __init__(self) -> None:
        self.parts: list[SimpleCommand] = []
        self.tokens: list[str] = []
        self.operator = ""

    def read(self, root: Node) -> tuple[list[SimpleCommand], list[str]]:
        pending = [root]
        while pending:
            node = pending.pop()
            if node.type in _STRUCTURE:
                pending += reversed(node.children)
            elif node.type == "command":
                self._add_command(node)
            elif node.type == "file_redirect":
                self._add_redirect(node)
            elif node.type in _OPERATORS:
                self.operator = node.type
                self.tokens.append(node.type)
            else:
                raise _unsupported(node)
        if not self.parts:
            raise ToolError(reasons.EMPTY)
        return self.parts, self.tokens

    def _add_command(self, node: Node) -> None:
        words = []
        for child in node.children:
            if child.type == "file_redirect":
                self._add_redirect(child)
                continue
            word = _parse_word(
                child.children[0] if child.type == "command_name" and child.children else child
            )
            words.append(word)
            self.tokens.append(word.text)
        if (
            not words
            or words[0].raw != words[0].text
            or words[0].has_wildcard
            or "=" in words[0].text
        ):
            raise ToolError(reasons.NO_PLAIN_PROGRAM)
        if len(self.parts) == MAX_PARTS:
            raise ToolError(reasons.too_long(MAX_PARTS, "commands"))
        self.parts.append(SimpleCommand(tuple(words), self.operator))

    def _add_redirect(self, node: Node) -> None:
        *head, target = node.children
        if not head or target.type not in _WORDS | {"-"} or head[-1].type not in _REDIRECTS:
            raise _redirection(head)
        text = _text(target)
        is_descriptor = head[-1].type in (">&", "<&") and re.fullmatch(r"\d", text)
        if not is_descriptor and text != "/dev/null":
            raise _redirection(head)
        self.tokens += [*map(_text, head), text]


def _parse_word(node: Node) -> Word:
    if node.type not in _WORDS:
        raise _unsupported(node)
    pieces = node.children if node.type == "concatenation" else [node]
    raw = _text(node)
    # quoted text counts as a comma, to be on the safe side
    bare = "".join(_text(piece) if piece.type in ("word", "number") else "," for piece in pieces)
    if _EXPANDS.search(bare.partition("{")[2]):
        raise ToolError(reasons.EXPANDS_BRACES)
    has_wildcard = any(p.type == "word" and _WILDCARD.search(_text(p)) for p in pieces)
    return Word(
        "".join(_unquote(p, first=p.start_byte == node.start_byte) for p in pieces),
        raw,
        has_wildcard,
    )


def _unquote(node: Node, *, first: bool) -> str:
    text = _text(node)
    if node.type == "raw_string":
        return text[1:-1]
    if node.type == "string":
        return _unquote_string(node)
    if node.type not in ("word", "number"):
        raise _unsupported(node)
    if not _LITERAL.fullmatch(text):
        raise ToolError(reasons.UNCLEAR_QUOTING)
    names_home = _HOME.search(text) and (first or not text.startswith("~"))
    is_comment = first and text.startswith("#")
    if names_home or is_comment:
        raise ToolError(reasons.HOME if "~" in text else reasons.COMMENT)
    return _ESCAPE.sub(r"\1", text)


def _unquote_string(node: Node) -> str:
    """Return the text in double quotes. Raises ToolError if the shell would put something else in its place."""
    for child in node.children:
        if child.type not in ('"', "string_content", "$"):
            raise _unsupported(child)
    inner = _text(node)[1:-1]
    if not _QUOTED.fullmatch(inner):
        raise ToolError(reasons.USES_VARIABLE)
    return _QUOTED_ESCAPE.sub(r"\1", inner)


def _shlex_agrees(command: str, tokens: list[str]) -> bool:
    reader = shlex.shlex(command, posix=True, punctuation_chars=";&|<>()")
    reader.whitespace_split = True
    reader.commenters = ""
    try:
        return list(reader) == tokens
    except ValueError:
        return False


def _text(node: Node) -> str:
    return (node.text or b"").decode()


def _unsupported(node: Node) -> ToolError:
    return ToolError(reasons.syntax(node.type, _text(node)))


def _redirection(operators: list[Node]) -> ToolError:
    reads = bool(operators) and operators[-1].type.startswith("<")
    return ToolError(reasons.READS_FILE if reads else reasons.WRITES_FILE)
