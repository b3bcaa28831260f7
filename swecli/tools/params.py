"""The parameters of a tool, which pydantic reads: loaded with the tools themselves, not with what surrounds them."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class Params(BaseModel):
    """Base class of a tool's parameters. Instances are immutable; an unknown name is a fault."""

    model_config = ConfigDict(extra="forbid", frozen=True)
