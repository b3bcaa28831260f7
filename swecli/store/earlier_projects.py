"""Finds out in which folder of its project a session of an earlier version worked: it stored two absolute paths."""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # most databases are of the newest version
    from sqlalchemy import Connection


def find_subfolders(connection: Connection) -> None:
    """Store the subfolder of each session whose directory is in its project. One without a project has its directory's
    memory, which becomes its project."""
    connection.exec_driver_sql(
        "UPDATE session SET project = directory WHERE project = '' AND substr(directory, 1, 1) = '/'"
    )
    sessions = connection.exec_driver_sql("SELECT id, directory, project FROM session").fetchall()
    for session_id, directory, project in sessions:
        if not PurePosixPath(directory).is_relative_to(project or "/"):
            continue
        subfolder = PurePosixPath(directory).relative_to(project or "/")
        connection.exec_driver_sql(
            "UPDATE session SET subfolder = ? WHERE id = ?",
            ("" if str(subfolder) == "." else str(subfolder), session_id),
        )
