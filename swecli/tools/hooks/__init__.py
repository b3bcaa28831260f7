"""Hooks: programs of the user and the project that are asked at fixed points of a session, in Claude Code's
protocol."""
