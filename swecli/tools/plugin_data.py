"""The folder that the programs of a plug-in may write to."""

from __future__ import annotations

import os

from swecli.config.plugins import Plugin


def make_data_folder(plugin: Plugin) -> str:
    """Return the folder, which exists then. Raises OSError."""
    os.makedirs(plugin.data, mode=0o700, exist_ok=True)  # noqa: PTH103  mode for all
    return str(plugin.data)
