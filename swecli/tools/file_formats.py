"""How files of a workspace are written, by their settings and their neighbours: encoding, line ends, final newline."""

from __future__ import annotations

import codecs
import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from itertools import islice
from pathlib import Path

from swecli.models.errors import BadInput, ToolError
from swecli.regular_files import open_regular, read_regular
from swecli.text_files import TextFile, codec_name, decode
from swecli.tools.git import GitFailed, run_git
from swecli.tools.globs import Glob
from swecli.values import dataclass

_EDITORCONFIG = ".editorconfig"
_GITATTRIBUTES = ".gitattributes"
_ENCODING_ATTRIBUTE = "working-tree-encoding"
_NEIGHBOURS = 8  # files that are looked at
_MAX_ENTRIES = 2000  # of a folder
_START = 65536  # bytes of a neighbour
_GIT_SECONDS = 2.0
_UNKNOWN = ("unspecified", "unset", "set")  # what git says of an attribute without a value
_ENDS = {"lf": "\n", "crlf": "\r\n"}
_MARKS = {
    "utf-8-sig": ("utf-8", codecs.BOM_UTF8),
    "utf-16": ("utf-16-le", codecs.BOM_UTF16_LE),
    "utf-16-le": ("utf-16-le", codecs.BOM_UTF16_LE),
    "utf-16-be": ("utf-16-be", codecs.BOM_UTF16_BE),
    "utf-32": ("utf-32-le", codecs.BOM_UTF32_LE),
    "utf-32-le": ("utf-32-le", codecs.BOM_UTF32_LE),
    "utf-32-be": ("utf-32-be", codecs.BOM_UTF32_BE),
}
_CHARSETS = {"utf-8-bom": "utf-8-sig"}  # of editorconfig, by other names than Python's


@dataclass(frozen=True, slots=True)
class _Format:
    """What is wanted of a file; "" and False where nothing is said."""

    encoding: str = ""  # Python's name
    mark: bytes = b""  # at the start of a new file
    newline: str = ""
    has_final_newline: bool = False


def declared_encoding(root: Path, path: Path, environ: Mapping[str, str] | None) -> str:
    """Return the encoding that .gitattributes, else .editorconfig say a file has, "" if they say none."""
    by_git = _gitattributes(root, path, environ) if _names_encodings(path) else _Format()
    return by_git.encoding or _editorconfig(path).encoding


def new_file(
    root: Path, path: Path, content: str, environ: Mapping[str, str] | None
) -> tuple[TextFile, str]:
    """Return the form in which a new file is written, and its content with the line ends that are wanted there: what
    .gitattributes says, else .editorconfig, else what all its neighbours of the same kind have."""
    by_git = _gitattributes(root, path, environ)
    by_editor = _editorconfig(path)
    form = by_git if by_git.encoding else by_editor
    newline = by_git.newline or by_editor.newline
    text = content.replace("\r\n", "\n") if newline else content
    if by_editor.has_final_newline and text and not text.endswith("\n"):
        text += "\n"
    files = list(_neighbours(path)) if not (form.encoding and newline) else []
    if not newline and "\r\n" not in text and _all_have_pairs(files):
        newline = "\r\n"
    if newline:
        text = text.replace("\n", newline)
    if form.encoding:
        return TextFile("", form.encoding, form.mark), text
    return _like(files, text), text


def _all_have_pairs(files: list[TextFile]) -> bool:
    ends = {file.newline for file in files} - {""}
    return ends == {"\r\n"}


def _like(files: list[TextFile], text: str) -> TextFile:
    """Return the form that the neighbours share, UTF-8 if they share none or it cannot hold the text."""
    forms = {(file.encoding, file.mark) for file in files if file.mark or not file.text.isascii()}
    if len(forms) == 1:
        encoding, mark = forms.pop()
        if not mark or all(file.mark == mark for file in files):
            file = TextFile("", encoding, mark)
            with suppress(UnicodeEncodeError):
                file.encode(text)
                return file
    return TextFile("")


def _neighbours(path: Path) -> Iterator[TextFile]:
    """Yield text files of the same folder with the same ending."""
    try:
        with os.scandir(path.parent) as entries:
            names = sorted(
                entry.name
                for entry in islice(entries, _MAX_ENTRIES)
                if Path(entry.name).suffix == path.suffix and entry.is_file(follow_symlinks=False)
            )
    except OSError:
        return
    for name in names[:_NEIGHBOURS]:
        with suppress(OSError), open_regular(path.with_name(name)) as file:
            data = file.read(_START)
            text = decode(data[: data.rfind(b"\n") + 1] if len(data) == _START else data)
            if text is not None and text.text:
                yield text


def _gitattributes(root: Path, path: Path, environ: Mapping[str, str] | None) -> _Format:
    if not path.is_relative_to(root.resolve()):
        return _Format()
    name = str(path.relative_to(root.resolve()))
    try:
        output = run_git(
            root,
            *("check-attr", "-z", "eol", _ENCODING_ATTRIBUTE, "--", name),
            environ=environ,
            seconds=_GIT_SECONDS,
        )
    except (BadInput, GitFailed):  # no repository, or no git
        return _Format()
    fields = output.split("\0")
    values = dict(zip(fields[1::3], fields[2::3], strict=False))
    written = values.get(_ENCODING_ATTRIBUTE, "")
    name = "" if written in _UNKNOWN else codec_name(written.removesuffix("-BOM"))
    # git refuses a mark in a file that UTF-16LE is said of, and asks for one with UTF-16
    has_mark = written.endswith("-BOM") or name in ("utf-16", "utf-32")
    encoding, mark = _MARKS.get(name, (name, b"")) if has_mark else (name, b"")
    return _Format(
        encoding,
        mark,
        newline=_ENDS.get(values.get("eol", ""), ""),
    )


def _names_encodings(path: Path) -> bool:
    """Return whether a .gitattributes above a file gives any an encoding: else git need not be asked."""
    for folder in path.parents:
        with suppress(OSError):
            if _ENCODING_ATTRIBUTE.encode() in read_regular(folder / _GITATTRIBUTES):
                return True
    return False


def _editorconfig(path: Path) -> _Format:
    """Return what the .editorconfig files above a file say of it; the nearest has the last word."""
    properties: dict[str, str] = {}
    for folder in path.parents:
        sections, is_root = _read_editorconfig(folder / _EDITORCONFIG)
        name = path.relative_to(folder).as_posix()
        nearer_properties: dict[str, str] = {}
        for glob, values in sections:
            if glob.matches(name):
                nearer_properties |= values
        properties = nearer_properties | properties
        if is_root:
            break
    charset = properties.get("charset", "")
    name = codec_name(_CHARSETS.get(charset, charset))
    encoding, mark = _MARKS.get(name, (name, b""))
    return _Format(
        encoding,
        mark,
        newline=_ENDS.get(properties.get("end_of_line", ""), ""),
        has_final_newline=properties.get("insert_final_newline") == "true",
    )


def _read_editorconfig(file: Path) -> tuple[list[tuple[Glob, dict[str, str]]], bool]:
    """Return the sections of an .editorconfig, and whether it is the topmost one."""
    try:
        text = read_regular(file).decode("utf-8-sig", "replace")
    except OSError:
        return [], False
    sections: list[tuple[Glob, dict[str, str]]] = []
    values: dict[str, str] = {}
    preamble = values
    for raw in text.splitlines():
        line = raw.strip()
        if line.startswith("[") and line.endswith("]"):
            values = {}
            with suppress(ToolError):  # a section that matches nothing
                sections.append((Glob(line[1:-1]), values))
        elif line and line[0] not in "#;" and "=" in line:
            key, _, value = line.partition("=")
            values[key.strip().lower()] = value.strip().lower()
    return sections, preamble.get("root") == "true"
