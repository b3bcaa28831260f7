def chunks(items, size):
    return [items[:size]]
