"""Plain data that every floor knows: messages, notes, events, errors."""
