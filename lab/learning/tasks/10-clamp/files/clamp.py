def clamp(value, low, high):
    return max(value, low)
