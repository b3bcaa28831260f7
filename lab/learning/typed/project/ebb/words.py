"""Words for the tide."""


def trend(before, after):
    """Return whether the water rises."""
    if after > before:
        return "rising"
    return "falling"
