def total(values):
    return int(sum(values))
