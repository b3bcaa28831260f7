"""The table of the folders of projects. Rows are not used outside the store."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import UniqueConstraint
from sqlmodel import Field

from swecli.models.project import KeyBasis, ProjectFolder
from swecli.store.tables.columns import CleanText, Number, UtcTime, converted
from swecli.store.tables.sessions import Row


class ProjectFolderRow(Row, table=True):
    """That a folder is of a project: the git folder that worktrees share, or a folder without git. One that is gone, or
    is another project's now, keeps its row: it says where the project was."""

    __tablename__ = "project_folder"
    __table_args__ = (UniqueConstraint("project", "folder"),)
    stores = ProjectFolder
    other_columns = frozenset({"id"})

    id: int | None = Field(default=None, primary_key=True, sa_type=Number)
    project: str = Field(sa_type=CleanText)
    folder: str = Field(sa_type=CleanText, index=True)
    inode: int = Field(default=0, sa_type=Number, index=True)
    basis: str = Field(sa_type=CleanText, sa_column_kwargs=converted(KeyBasis))
    first_commit: str = Field(default="", sa_type=CleanText)
    seen_at: datetime = Field(default_factory=UtcTime.now, sa_type=UtcTime)
