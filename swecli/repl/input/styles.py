"""What the line and its surroundings look like, in prompt-toolkit's names."""

from __future__ import annotations

COLOURS = {
    "mark": "bold ansicyan",
    "title": "bold",
    "picked": "bold ansicyan",
    "quiet": "fg:ansibrightblack",
    "footer": "fg:ansibrightblack",
    "footer.plan": "fg:ansicyan",
    "footer.edits": "fg:ansigreen",
    "footer.auto": "fg:ansired",
    "footer.hint": "fg:ansiyellow",
    "footer.busy": "fg:ansibrightblack italic",
    "completion-menu": "bg:default fg:default",
    "completion-menu.completion": "bg:default fg:default",
    "completion-menu.completion.current": "bg:default fg:ansicyan bold noreverse",
    "completion-menu.meta.completion": "bg:default fg:ansibrightblack",
    "completion-menu.meta.completion.current": "bg:default fg:ansicyan noreverse",
    "scrollbar.background": "bg:default",
    "scrollbar.button": "bg:ansibrightblack",
}
PLAIN = {"completion-menu.completion.current": "reverse", "picked": "bold"}
