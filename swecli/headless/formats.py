"""The output formats of `-p`. Each is a module in `writers/` with the name of the format; --help imports none of
them."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:  # --help lists the formats
    from typing import TextIO

    from swecli.headless.writers.base import Writer


def format_names() -> tuple[str, ...]:
    """Return the values of --output-format, sorted."""
    files = os.listdir(os.path.join(os.path.dirname(__file__), "writers"))  # noqa: PTH118, PTH120, PTH208  pathlib takes 4 ms
    modules = (name.removesuffix(".py") for name in files if name.endswith(".py"))
    return tuple(sorted(name.replace("_", "-") for name in modules if name not in ("__init__", "base")))


def make_writer(name: str, out: TextIO, err: TextIO) -> Writer:
    """Return a writer of the format, one of `format_names()`."""
    # late: --help needs no writer
    import importlib  # noqa: PLC0415

    module = importlib.import_module(f"swecli.headless.writers.{name.replace('-', '_')}")
    return module.FORMAT(out, err)  # type: ignore[no-any-return]  # a Writer, by the rule of that folder
