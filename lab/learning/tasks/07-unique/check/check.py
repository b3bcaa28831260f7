from unique import unique

assert unique([3, 1, 3, 2]) == [3, 1, 2]
