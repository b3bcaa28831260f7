"""Heights of the tide between low and high water."""

TWELFTHS = (0, 1, 3, 6, 9, 11, 12)  # of the range, after each of six hours


def height(low, high, hours):
    """Return the height so many hours after low water, from 0 to 6."""
    if hours < 0 or hours > 6:
        raise ValueError(f"no such hour: {hours}")
    whole = int(hours)
    done = TWELFTHS[whole]
    following = TWELFTHS[min(whole + 1, 6)]
    share = done + (following - done) * (hours - whole)
    return round(low + (high - low) * share / 12, 2)
