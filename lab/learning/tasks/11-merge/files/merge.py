def merge(a, b):
    a.update(b)
    return a
