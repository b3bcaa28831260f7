"""The output formats of `-p`: a file each in `writers/`, named like the format; --help imports none of them."""

from __future__ import annotations

import importlib
import pkgutil
from pathlib import Path

TYPE_CHECKING = False
if TYPE_CHECKING:  # --help lists the formats
    from typing import TextIO

    from swecli.headless.writers.base import Writer


def format_names() -> tuple[str, ...]:
    """What --output-format accepts, in alphabetical order."""
    files = pkgutil.iter_modules([str(Path(__file__).with_name("writers"))])
    return tuple(sorted(file.name.replace("_", "-") for file in files if file.name != "base"))


def make_writer(name: str, out: TextIO, err: TextIO) -> Writer:
    """The writer of the format, one of `format_names()`."""
    module = importlib.import_module(f"swecli.headless.writers.{name.replace('-', '_')}")
    return module.FORMAT(out, err)  # type: ignore[no-any-return]  # a Writer, by the rule of that folder
