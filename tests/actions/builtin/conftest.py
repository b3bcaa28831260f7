"""The same actions in a session, whose context notes what is printed and asked."""

from __future__ import annotations

from tests.repl.commands.conftest import ctx, runtime

__all__ = ["ctx", "runtime"]
