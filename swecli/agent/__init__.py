"""The loop of a turn and its parts."""
