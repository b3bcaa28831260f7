"""The files that name servers."""

from __future__ import annotations

import os
from pathlib import Path

from swecli.config.paths import project_root
from swecli.config.plugin_places import may_have_plugins
from swecli.config.project_files import MCP_SERVERS
from swecli.config.settings import Start

_USER_FILE = "mcp.json"


def user_file(start: Start) -> Path:
    """Return the file with the user's own servers."""
    return start.paths.config / _USER_FILE


def project_file(start: Start) -> Path:
    """Return the file with the servers of the project."""
    return project_root(start.cwd) / MCP_SERVERS


def has_servers(start: Start) -> bool:
    """Return whether there is such a file, or a plug-in with servers, so that more has to be loaded."""
    files = (user_file(start), project_file(start))
    return any(os.access(file, os.F_OK) for file in files) or _has_plugin_with_servers(start)


def _has_plugin_with_servers(start: Start) -> bool:
    if not may_have_plugins(start.paths):
        return False
    # late: few have plug-ins
    from swecli.config.plugins import read_plugins

    files = (plugin.folder.servers for plugin in read_plugins(start.paths).plugins)
    return any(file.servers or file.problems for file in files)
