"""Texts with control sequences and invisible characters."""

from __future__ import annotations

HOSTILE = [
    "\x1b[31mred",
    "\x1b]0;title\x07x",
    "\x1b]8;;http://evil\x1b\\link",
    "\x9b31mred",
    "\x1bPq#0\x1b\\",
    "\x1b[2J\x1b[H",
    "bell\x07 back\x08space",
    "a\u202eb\u2066c\u200f",
    "zero\u200bwidth\u2060\ufeff",
    "tag\U000e0041\U000e0042letters",
    "var\ufe0f\U000e0101iation",
    "lone \ud800 surrogate",
    "del\x7f c1\x85\x90\x9f",
    "fill\u3164\u115f\xad",
]
