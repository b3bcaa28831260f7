"""Strategies that are for some files: the model is told of them when its turn touches such a file."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import field
from pathlib import Path

from swecli.models.message import ToolCall
from swecli.models.playbook import Bullet, quote_content
from swecli.store.session_manager import SessionManager
from swecli.tools.path_patterns import PathPatterns, PatternError
from swecli.values import dataclass


def find_rules(bullets: Iterable[Bullet], files: Iterable[str]) -> list[Bullet]:
    """Return the strategies in use that are for one of these files, which are relative to the workspace."""
    touched_files = [*files]
    return [
        bullet
        for bullet in bullets
        if bullet.paths and bullet.is_live and any(_is_for(bullet, file) for file in touched_files)
    ]


def _is_for(bullet: Bullet, file: str) -> bool:
    try:
        return PathPatterns(bullet.paths).match(Path(file).as_posix())
    except PatternError:
        return False


@dataclass(slots=True)
class PathRules:
    """Tells a turn's model of the strategies for the files that its calls touch, each once."""

    sessions: SessionManager
    _told_rules: set[str] = field(default_factory=set)

    def tell(self, call: ToolCall) -> list[str]:
        """Return a line for each strategy that the model must learn of with the result of a call. Records them as shown
        in this turn."""
        files = (*call.effects.read, *call.effects.changed)
        session = self.sessions.current_session
        if not files or session is None:
            return []
        rules = find_rules(session.playbook.bullets.values(), files)
        rules = [rule for rule in rules if rule.id not in self._told_rules]
        if not rules:
            return []
        self._told_rules.update(rule.id for rule in rules)
        self.sessions.add_shown([rule.id for rule in rules])
        return [
            f"Strategy [{rule.id}] for {', '.join(rule.paths)}: {quote_content(rule.prompt_text)}"
            for rule in rules
        ]
