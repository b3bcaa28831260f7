"""Pages as one file each: no script, no style or picture from elsewhere."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path
from typing import Any

import jinja2
from markdown_it import MarkdownIt

from swecli.models.errors import BadInput

# HTML of a model or of a repository is text; a picture would be fetched from wherever it says
_MARKDOWN = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"]).disable("image")


def markdown_to_html(text: str) -> str:
    """Markdown as HTML in which nothing is loaded or run: raw HTML is shown as text, pictures as links."""
    return str(_MARKDOWN.render(text))


def write_new(path: Path, text: str, hint: str) -> None:
    """Write a file that is not there yet. Raises BadInput with what else can be done."""
    try:
        with path.open("xb") as file:
            file.write(text.encode("utf-8", "replace"))
    except OSError as error:
        why = "exists already" if isinstance(error, FileExistsError) else f"cannot be written: {error.strerror}"
        raise BadInput(f"{path} {why}.", hint) from error


def render(template: str, **values: Any) -> str:
    """A page of a template of this folder; values are escaped, but for those that the template calls safe."""
    folder = files("swecli.pages")
    loader = jinja2.FunctionLoader(lambda name: (folder / name).read_text(encoding="utf-8"))
    return (
        jinja2.Environment(loader=loader, autoescape=True, trim_blocks=True, lstrip_blocks=True)
        .get_template(template)
        .render(**values)
    )
